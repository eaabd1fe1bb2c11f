/* Notes that outlive runs, found by PostgreSQL's search for words.
 *
 * What the words are is decided here, as everywhere (store_impl.h), and not by the parser of a language that the text
 * may not be in: those of a note and of a query go over one by one, and no character of them is an operator. */
#include "store/postgres/postgres_impl.h"

#include "base/utf8.h"

#define MAX_WORD  2000         /* bytes; a longer one is found by its text alone */
#define MAX_WORDS (256 * 1024) /* bytes of a note in which words are looked for */
/* ---- Writing ------------------------------------------------------------------------------- */

static void add_words(struct hocket__buf *out, struct hocket__str text)
{
    if (text.n > MAX_WORDS)
        text.n = hocket__utf8_cut(text.p, MAX_WORDS);
    for (struct hocket__str word; (word = hocket__store_note_word(&text)).n > 0;)
        if (word.n <= MAX_WORD && hocket__utf8_valid(word.p, word.n) == word.n) {
            hocket__buf_addstr(out, word);
            hocket__buf_addc(out, ' ');
        }
}

/* Only one session at a time writes to a memory, since its bounds are checked before. */
static int lock(struct hocket__writer *w, struct hocket__str memory)
{
    hocket__sql_new(w, PG_NOTE_LOCK);
    hocket__sql_text(w, memory);
    return hocket__sql_run(w);
}

static int put_row(
    struct hocket__writer *w, const struct hocket__store_note *n, struct hocket__str words)
{
    hocket__sql_new(w, PG_NOTE_PUT);
    hocket__sql_note(w, n);
    hocket__sql_text(w, words);
    hocket__sql_bytes(w, n->vector);
    return hocket__sql_run(w);
}

static int put(struct hocket__writer *w, struct hocket__store_call *c)
{
    const struct hocket__store_note *n = &c->q.note_put.note;
    struct hocket__buf words;
    int rc = lock(w, n->memory);
    if (rc == 0)
        rc = hocket__sql_note_room(w, c);
    if (rc < 0 || c->status < 0)
        return rc;
    hocket__buf_init(&words, &hocket__malloc, 0);
    add_words(&words, n->text);
    rc = words.status < 0 ? hocket__error_nomem(w->error) : put_row(w, n, hocket__buf_str(&words));
    hocket__buf_deinit(&words);
    return rc;
}

int hocket__pg_note_put(struct hocket__writer *w, struct hocket__store_call *c)
{
    return w->sql->change(w, c, put);
}

/* Whether it was there is what the first attempt has found: given again it may be gone by that. */
int hocket__pg_note_del(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, PG_NOTE_DEL);
    hocket__sql_text(w, c->q.notes.memory);
    hocket__sql_text(w, c->q.notes.id);
    int rc = hocket__sql_run(w);
    if (rc == 0 && w->sql->changed(w) == 0 && !w->again)
        c->status = hocket__store_note_missing(c);
    return rc;
}

/* 'one':* | 'two': short words are meant whole. There is no quote in a word. */
void hocket__pg_add_query(struct hocket__buf *out, struct hocket__str query)
{
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        struct hocket__str word = hocket__store_note_word(&query);
        if (word.n == 0)
            return;
        if (word.n > MAX_WORD || hocket__utf8_valid(word.p, word.n) != word.n)
            continue;
        hocket__buf_addstr(out, out->len > 0 ? HOCKET__STR(" | '") : HOCKET__STR("'"));
        hocket__buf_addstr(out, word);
        hocket__buf_addstr(out, word.n > 2 ? HOCKET__STR("':*") : HOCKET__STR("'"));
    }
}
