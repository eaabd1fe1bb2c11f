/* The chance of a run that is kept, of which the words of fences are made. Who knows the place of the next word, what it is for and
 * all words before it, but not the run's key of 128 bits, does not know the word. */
#include "host/kept/lives.h"

enum { KEY_BITS = 128, WORDS = 64, WORD = 12 };

struct words {
    unsigned char of[WORDS][WORD];
};

static const char about[] = "1 lead the same text";

/* All words of a run with this key: always at the same places, and for the same texts. */
static void draw(hocket_host *h, const unsigned char key[HOCKET__SEED], struct words *w)
{
    struct hocket__kept *k = hocket__kept_new(h->rt, NULL, key);
    assert_non_null(k);
    for (int i = 0; i < WORDS; i++)
        hocket__kept_random(k, HOCKET__STR(about), w->of[i], WORD);
    hocket__kept_unref(k);
}

/* Pairs of a word of the one and a word of the other that are equal. */
static int count_same(const struct words *a, const struct words *b)
{
    int n = 0;
    for (int i = 0; i < WORDS; i++)
        for (int j = 0; j < WORDS; j++)
            n += memcmp(a->of[i], b->of[j], WORD) == 0;
    return n;
}

/* Each bit of the key decides each word: none is left to guess the word from. Nothing else of the run is in it: two runs with the same
 * key have the same words, so a fork that inherits the key has its parent's. */
static void each_bit_of_the_key_decides(void **state)
{
    static struct words first, again, other;
    unsigned char key[HOCKET__SEED];
    (void) state;
    assert_int_equal(HOCKET__SEED * 8, KEY_BITS);
    memcpy(key, seed, sizeof(key));
    hocket_host *h = open_host();
    draw(h, key, &first);
    draw(h, key, &again);
    assert_memory_equal(&first, &again, sizeof(first));
    for (int bit = 0; bit < KEY_BITS; bit++) {
        key[bit / 8] ^= (unsigned char) (1 << bit % 8);
        draw(h, key, &other);
        key[bit / 8] ^= (unsigned char) (1 << bit % 8);
        if (count_same(&first, &other) > 0)
            fail_msg("bit %d of the key does not decide a word", bit);
    }
    hocket_close(h, NULL, NULL);
}

/* The words before the next one are no part of it: none comes again, and what differs between one and the next is not always the same,
 * so that it could be added to the last. */
static void no_word_follows_from_the_last(void **state)
{
    static struct words w;
    (void) state;
    hocket_host *h = open_host();
    draw(h, seed, &w);
    hocket_close(h, NULL, NULL);
    assert_int_equal(count_same(&w, &w), WORDS); /* each is itself, and no other one */
    for (int byte = 0; byte < WORD; byte++) {
        int sums = 0, moved = 0;
        for (int i = 2; i < WORDS; i++) {
            sums += (unsigned char) (w.of[i][byte] - w.of[i - 1][byte])
                    == (unsigned char) (w.of[1][byte] - w.of[0][byte]);
            moved += (w.of[i][byte] ^ w.of[i - 1][byte]) == (w.of[1][byte] ^ w.of[0][byte]);
        }
        assert_true(sums < 8 && moved < 8);
    }
}

/* A word that occurs in the text is not taken: the next try has another one, as any other place and any other text has. */
static void the_place_and_the_text_decide(void **state)
{
    unsigned char one[WORD], other[WORD];
    (void) state;
    hocket_host *h = open_host();
    struct hocket__kept *k = hocket__kept_new(h->rt, NULL, seed),
                        *same = hocket__kept_new(h->rt, NULL, seed);
    hocket__kept_random(k, HOCKET__STR("1 lead text"), one, WORD);
    hocket__kept_random(same, HOCKET__STR("2 lead text"), other, WORD);
    assert_memory_not_equal(one, other, WORD);
    hocket__kept_random(k, HOCKET__STR("1 lead text"), other, WORD);
    assert_memory_not_equal(one, other, WORD);
    hocket__kept_unref(k);
    hocket__kept_unref(same);
    hocket_close(h, NULL, NULL);
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_bit_of_the_key_decides),
        cmocka_unit_test(no_word_follows_from_the_last),
        cmocka_unit_test(the_place_and_the_text_decide) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
