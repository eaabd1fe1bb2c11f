/* Saves: what goes on here goes on there, in another host with a store of its own, and remembers; what does not fit is
 * refused whole. */

#include <hocket/hocket.h>

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/hash/hash.h"
#include "host/stored/host.h"

/* ---- A life --------------------------------------------------------------------------------- */

struct life {
    struct hocket__buf text, saved;
    char error[512], question[16], refused[512];
    const char *answer; /* to its questions; NULL: they stay open */
    int done, status, asked, again, saves, save_status, asleep, answers;
    uint64_t run;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    struct hocket_error err;
    l->again += e->again;
    l->answers += strcmp(e->type, "turn_finished") == 0 && !e->again;
    if (strcmp(e->type, "run_asleep") == 0) {
        l->asleep++;
        assert_non_null(memmem(e->json, e->json_len, "\"kind\":\"input\",\"id\":\"i1\"", 24));
        return;
    }
    if (strcmp(e->type, "question_asked") != 0 && strcmp(e->type, "input_requested") != 0)
        return;
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    snprintf(l->question, sizeof(l->question), "%s",
        hocket_json_text(hocket_json_get(json, "id"), "", NULL));
    hocket_json_free(json);
    l->asked++;
    l->run = run;
    if (l->answer)
        hocket_run_answer(h, run, l->question, l->answer, 0, &err);
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h;
    (void) run;
    l->done++;
    l->status = r->status;
    hocket__buf_add(&l->text, r->text, r->text_len);
    hocket__buf_addc(&l->text, '|');
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static void on_saved(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    struct life *l = ud;
    (void) h;
    l->saves++;
    l->save_status = error ? error->status : 0;
    snprintf(l->refused, sizeof(l->refused), "%s", error ? error->message : "");
    hocket__buf_reset(&l->saved);
    if (!error)
        hocket__buf_add(&l->saved, bytes, n);
}

static void life_init(struct life *l)
{
    *l = (struct life){ 0 };
    hocket__buf_init(&l->text, &hocket__malloc, 0);
    hocket__buf_init(&l->saved, &hocket__malloc, 0);
}

static void life_free(struct life *l)
{
    hocket__buf_deinit(&l->text);
    hocket__buf_deinit(&l->saved);
}

static hocket_host *open_limited(const char *store, int max_runs)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.store = store;
    o.max_runs = max_runs;
    return open_with(&o);
}

static hocket_host *open_host(void)
{
    return open_over("memory", NULL);
}

static uint64_t start(
    hocket_host *h, const char *target, const char *input, const char *options, struct life *l)
{
    struct hocket_error err;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = target, .input = input, .options = options
    };
    if (hocket_run_start(h, &spec, &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    return l->run;
}

static void until(hocket_host *h, const int *what, int count)
{
    for (int i = 0; i < 3000 && *what < count; i++)
        hocket_wait(h, 10);
    assert_true(*what >= count);
}

static void save(hocket_host *h, uint64_t id, struct life *l)
{
    struct hocket_error err;
    int before = l->saves;
    int rc = id ? hocket_run_save(h, id, on_saved, l, &err) : hocket_save(h, on_saved, l, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    assert_int_equal(l->saves, before); /* never before it returned */
    until(h, &l->saves, before + 1);
    assert_int_equal(l->saves, before + 1);
}

/* Goes on with all of a save in a host of its own, to the end. */
static void live_on(
    const struct life *from, const char *options, const char *answer, int runs, struct life *l)
{
    struct hocket_error err;
    uint64_t first;
    hocket_host *h = open_host();
    life_init(l);
    l->answer = answer;
    int n = hocket_load(
        h, from->saved.data, from->saved.len, options, &first, on_event, on_done, l, &err);
    if (n < 0)
        fail_msg("%s", err.message);
    assert_int_equal(n, runs);
    assert_true(first > 0);
    until(h, &l->done, runs);
    hocket_close(h, NULL, NULL);
}

#define TALK "{\"conversation\":true}"

static hocket_host *talk(struct life *l)
{
    life_init(l);
    hocket_host *h = open_host();
    start(h, EXAMPLES "/chat/agents", "A table for four, please", TALK, l);
    until(h, &l->asked, 1);
    return h;
}

/* ---- What goes on, goes on there ---------------------------------------------------------------- */

/* A conversation that waits: saved, it goes on as if it had not been; loaded, it is the same. */
static void test_conversation(void **state)
{
    struct life l, other;
    struct hocket_error err;
    (void) state;
    hocket_host *h = talk(&l);
    save(h, l.run, &l);
    assert_int_equal(l.save_status, 0);
    assert_null(memmem(l.saved.data, l.saved.len, "workflow_started", 16)); /* no records */
    live_on(&l, NULL, "", 1, &other);
    assert_int_equal(other.status, 0);
    assert_true(other.again > 0);
    assert_int_equal(hocket_run_answer(h, l.run, l.question, "", 0, &err), 0);
    until(h, &l.done, 1);
    assert_int_equal(l.status, 0);
    assert_string_equal(other.text.data, l.text.data);
    hocket_close(h, NULL, NULL);
    life_free(&other);
    life_free(&l);
}

/* A save of a save, and one that was made while the other was still being loaded. */
static void test_twice(void **state)
{
    struct life l, other, third;
    struct hocket_error err;
    (void) state;
    hocket_host *h = talk(&l);
    save(h, l.run, &l);
    hocket_close(h, NULL, NULL);
    for (int waits = 0; waits < 2; waits++) {
        life_init(&other);
        h = open_host();
        assert_int_equal(hocket_run_load(h, l.saved.data, l.saved.len, NULL, &other.run, on_event,
                             on_done, &other, &err),
            0);
        if (waits)
            until(h, &other.asked, 1);
        save(h, 0, &other);
        if (other.save_status < 0)
            fail_msg("%s", other.refused);
        hocket_close(h, NULL, NULL);
        live_on(&other, NULL, "", 1, &third);
        assert_int_equal(third.status, 0);
        assert_true(third.again > 0);
        life_free(&third);
        life_free(&other);
    }
    life_free(&l);
}

/* At any moment of a run with open questions, and of one in the middle of a call. */
static void test_anywhere(void **state)
{
    struct life l, other;
    (void) state;
    for (int turns = 0; turns < 8; turns++) {
        life_init(&l);
        hocket_host *h = open_host();
        start(h, HERE "/scripts/beside.lua", "work", "{\"interactive\":true}", &l);
        for (int i = 0; i < turns; i++)
            hocket_wait(h, 5);
        save(h, 0, &l);
        if (l.save_status < 0)
            fail_msg("%s", l.refused);
        hocket_close(h, NULL, NULL);
        live_on(&l, NULL, "yes", 1, &other);
        if (other.status != 0)
            fail_msg("%d turns: %s", turns, other.error);
        assert_string_equal(other.text.data, "the work is done slowly, yes|");
        life_free(&other);
        life_free(&l);
    }
}

struct looks {
    int calls;
    bool answers;
};

static void on_look(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    struct looks *looks = ud;
    looks->calls++;
    if (looks->answers)
        assert_int_equal(hocket_tool_answer(h, c->id, 0, "a fish", 0), 0);
}

static hocket_host *open_with_tool(uint64_t flags, struct looks *looks)
{
    struct hocket_error err;
    struct hocket_tool_spec spec = {
        .size = sizeof(spec), .name = "look", .description = "Looks.", .flags = flags
    };
    hocket_host *h = open_host();
    if (hocket_tool_add(h, &spec, on_look, NULL, looks, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

/* A call of a program's tool that is open: made again where the tool says that it may be, else never. */
static void test_open_call(void **state)
{
    struct life l, other;
    struct hocket_error err;
    uint64_t first;
    (void) state;
    for (uint64_t flags = 0; flags <= HOCKET_TOOL_IDEMPOTENT; flags++) {
        struct looks before = { 0 }, behind = { .answers = true };
        life_init(&l);
        life_init(&other);
        hocket_host *h = open_with_tool(flags, &before);
        start(h, HERE "/scripts/looks.lua", NULL, NULL, &l);
        until(h, &before.calls, 1);
        save(h, 0, &l);
        assert_int_equal(l.save_status, 0);
        hocket_close(h, NULL, NULL);
        h = open_with_tool(flags, &behind);
        assert_int_equal(hocket_load(h, l.saved.data, l.saved.len, NULL, &first, on_event, on_done,
                             &other, &err),
            1);
        until(h, &other.done, 1);
        assert_string_equal(other.text.data, "I have looked|");
        assert_int_equal(before.calls, 1);
        assert_int_equal(behind.calls, flags & HOCKET_TOOL_IDEMPOTENT);
        hocket_close(h, NULL, NULL);
        life_free(&other);
        life_free(&l);
    }
}

/* Many at once: the save has what is alike once. */
static void test_many(void **state)
{
    enum { MANY = 40 };
    struct life l, one, other;
    (void) state;
    hocket_host *h = talk(&one);
    save(h, one.run, &one);
    hocket_close(h, NULL, NULL);
    life_init(&l);
    h = open_host();
    for (int i = 0; i < MANY; i++)
        start(h, EXAMPLES "/chat/agents", "A table for four, please", TALK, &l);
    until(h, &l.asked, MANY);
    save(h, 0, &l);
    assert_int_equal(l.save_status, 0);
    assert_true(l.saved.len < MANY * one.saved.len * 3 / 4);
    hocket_close(h, NULL, NULL);
    live_on(&l, NULL, "", MANY, &other);
    assert_int_equal(other.status, 0);
    assert_int_equal(hocket_save(NULL, on_saved, NULL, NULL), HOCKET_EINVAL);
    life_free(&one);
    life_free(&other);
    life_free(&l);
}

/* Saved when all of them say in the store that they wait. */
static hocket_host *asleep(struct life *of, int runs, struct life *l, uint64_t *first)
{
    struct hocket_error err;
    hocket_host *h = open_host();
    life_init(l);
    int n = hocket_load(
        h, of->saved.data, of->saved.len, "{\"lazy\":true}", first, on_event, on_done, l, &err);
    if (n < 0)
        fail_msg("%s", err.message);
    assert_int_equal(n, runs);
    until(h, &l->asleep, runs);
    return h;
}

static int count_in(const struct hocket__buf *b, const char *text)
{
    int n = 0;
    for (const char *at = b->data;
         b->len > 0 && (at = memmem(at, (size_t) (b->data + b->len - at), text, strlen(text)));
         at++)
        n++;
    return n;
}

/* Nothing of those that wait is replayed before somebody says something to one; and then it goes on as it would have. */
static void test_suspended(void **state)
{
    enum { FEW = 3 };
    struct life l, other, third;
    struct hocket_error err;
    uint64_t first;
    (void) state;
    life_init(&l);
    hocket_host *h = open_host();
    for (int i = 0; i < FEW; i++)
        start(h, EXAMPLES "/chat/agents", "A table for four, please", TALK, &l);
    until(h, &l.asked, FEW);
    while (count_in(&l.saved, "\"kind\":\"input\"") < FEW)
        save(h, 0, &l);
    hocket_close(h, NULL, NULL);

    h = asleep(&l, FEW, &other, &first);
    assert_int_equal(other.again, 0);
    assert_int_equal(hocket_run_answer(h, first + 1, "i9", "?", 0, &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_run_answer(h, first + 1, "i1", "Thank you", 0, &err), 0);
    until(h, &other.answers, 1);
    until(h, &other.asked, 2); /* the first one again, and the next */
    assert_true(other.again > 0);
    assert_int_equal(other.run, first + 1);
    assert_int_equal(hocket_run_answer(h, first + 1, "i2", "", 0, &err), 0);
    until(h, &other.done, 1);
    assert_int_equal(other.status, 0);
    save(h, 0, &other); /* what sleeps is saved as it is */
    assert_int_equal(other.save_status, 0);
    assert_int_equal(hocket_run_cancel(h, first), 0);
    until(h, &other.done, 2);
    assert_int_equal(other.status, HOCKET_ECANCELLED);
    assert_int_equal(hocket_run_park(h, first + 2), 0);
    until(h, &other.done, 3);
    assert_int_equal(other.status, HOCKET_EPARKED);
    hocket_close(h, NULL, NULL);

    h = asleep(&other, FEW - 1, &third, &first);
    assert_int_equal(hocket_run_change(h, first, "{}", &err), HOCKET_ESTATE); /* but it wakes */
    until(h, &third.asked, 1);
    assert_int_equal(hocket_run_change(h, first, "{}", &err), 0);
    hocket_close(h, NULL, NULL);
    assert_int_equal(third.done, FEW - 1);
    life_free(&third);
    life_free(&other);
    life_free(&l);
}

/* ---- What older versions saved -------------------------------------------------------------------- */

/* What a file of tests/versions holds. */
static void read_file(const char *path, struct hocket__buf *out)
{
    char piece[4096];
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read %s", path);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        hocket__buf_add(out, piece, n);
    fclose(f);
}

static void write_file(const char *stem, const char *ending, const struct hocket__buf *b)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s.%s", stem, ending);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

/* For tests/versions/make.sh: a conversation that waits, and what it says when it ends. */
static int write_version(const char *stem)
{
    struct life l, other;
    hocket_host *h = talk(&l);
    save(h, l.run, &l);
    hocket_close(h, NULL, NULL);
    live_on(&l, NULL, "", 1, &other);
    write_file(stem, "save", &l.saved);
    write_file(stem, "text", &other.text);
    life_free(&other);
    life_free(&l);
    return 0;
}

static void test_versions(void **state)
{
    glob_t found;
    (void) state;
    assert_int_equal(glob(VERSIONS "/*/game.save", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *path = found.gl_pathv[i];
        struct life l, other;
        struct hocket__buf text;
        life_init(&l);
        hocket__buf_init(&text, &hocket__malloc, 0);
        read_file(path, &l.saved);
        live_on(&l, NULL, "", 1, &other);
        if (other.status != 0)
            fail_msg("%s: %s", path, other.error);
        memcpy(path + strlen(path) - 4, "text", 4);
        read_file(path, &text);
        assert_int_equal(other.text.len, text.len);
        assert_memory_equal(other.text.data, text.data, text.len);
        hocket__buf_deinit(&text);
        life_free(&other);
        life_free(&l);
    }
    globfree(&found);
}

/* ---- When ---------------------------------------------------------------------------------------- */

static void test_several(void **state)
{
    struct life l;
    struct hocket_error err;
    (void) state;
    hocket_host *h = talk(&l);
    for (int i = 0; i < 5; i++)
        assert_int_equal(hocket_save(h, on_saved, &l, &err), 0);
    until(h, &l.saves, 5);
    assert_int_equal(l.save_status, 0);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.saves, 5);
    life_free(&l);
}

/* The host closes at any moment of a save. */
static void test_closing(void **state)
{
    struct life l;
    struct hocket_error err;
    (void) state;
    for (int turns = 0; turns < 12; turns++) {
        hocket_host *h = talk(&l);
        assert_int_equal(hocket_run_save(h, l.run, on_saved, &l, &err), 0);
        for (int i = 0; i < turns; i++)
            hocket_pump(h, 0);
        hocket_close(h, NULL, NULL);
        assert_int_equal(l.saves, 1);
        assert_true(l.save_status == 0 || l.save_status == HOCKET_ECANCELLED);
        assert_true(turns > 0 || l.save_status == HOCKET_ECANCELLED);
        life_free(&l);
    }
}

static void close_it(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    on_saved(h, bytes, n, error, ud);
    hocket_close(h, NULL, NULL);
}

static void test_close_inside(void **state)
{
    struct life l;
    struct hocket_error err;
    (void) state;
    hocket_host *h = talk(&l);
    assert_int_equal(hocket_save(h, close_it, &l, &err), 0);
    while (l.saves == 0)
        hocket_wait(h, 10);
    assert_int_equal(l.save_status, 0);
    life_free(&l);
}

/* It ends while it is saved: either it was saved before, or there is nothing. */
static void test_ending(void **state)
{
    struct life l, other;
    struct hocket_error err;
    (void) state;
    for (int turns = 0; turns < 8; turns++) {
        hocket_host *h = talk(&l);
        assert_int_equal(hocket_run_save(h, l.run, on_saved, &l, &err), 0);
        for (int i = 0; i < turns; i++)
            hocket_pump(h, 0);
        assert_int_equal(hocket_run_answer(h, l.run, l.question, "", 0, &err), 0);
        until(h, &l.saves, 1);
        until(h, &l.done, 1);
        if (l.save_status == 0) {
            live_on(&l, NULL, "", 1, &other);
            assert_int_equal(other.status, 0);
            life_free(&other);
        } else {
            assert_int_equal(l.save_status, HOCKET_ESTATE);
        }
        assert_int_equal(hocket_run_save(h, l.run, on_saved, &l, &err), HOCKET_ENOTFOUND);
        hocket_close(h, NULL, NULL);
        life_free(&l);
    }
}

static void test_no_store(void **state)
{
    struct life l;
    struct hocket_error err;
    (void) state;
    life_init(&l);
    hocket_host *h = open_limited(NULL, 0);
    start(h, HERE "/scripts/small.lua", "one", NULL, &l);
    assert_int_equal(hocket_save(h, on_saved, &l, &err), HOCKET_EUNSUPPORTED);
    assert_true(strlen(err.message) > 0);
    assert_int_equal(
        hocket_load(h, "x", 1, NULL, NULL, on_event, on_done, &l, &err), HOCKET_EUNSUPPORTED);
    hocket_close(h, NULL, NULL);
    h = open_host();
    assert_int_equal(hocket_save(h, on_saved, &l, &err), HOCKET_ESTATE); /* there is none */
    assert_int_equal(hocket_run_save(h, 7, on_saved, &l, &err), HOCKET_ENOTFOUND);
    start(h, HERE "/scripts/small.lua", "one", "{\"keep\":false}", &l);
    assert_int_equal(hocket_run_save(h, l.run, on_saved, &l, &err), HOCKET_ESTATE);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.saves, 0);
    life_free(&l);
}

/* ---- What does not fit ------------------------------------------------------------------------------- */

static void assert_refused(hocket_host *h, const char *bytes, size_t n, int status, const char *why)
{
    struct hocket_error err = { 0 };
    struct hocket_host_stats stats = { .size = sizeof(stats) };
    struct life l;
    life_init(&l);
    int rc = hocket_load(h, bytes, n, NULL, NULL, on_event, on_done, &l, &err);
    if (rc != status || (why && !strstr(err.message, why)))
        fail_msg("%d and not %d: %s", rc, status, err.message);
    hocket_stats(h, &stats);
    assert_int_equal(stats.runs, 0);
    assert_int_equal(l.done, 0);
    life_free(&l);
}

static void sign(struct hocket__buf *b)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(hocket__buf_str(b), digest);
    hocket__buf_add(b, (const char *) digest, sizeof(digest));
}

static void test_refused(void **state)
{
    struct life l;
    struct hocket__buf b;
    (void) state;
    hocket_host *h = talk(&l), *other = open_host();
    save(h, l.run, &l);
    hocket_close(h, NULL, NULL);
    hocket__buf_init(&b, &hocket__malloc, 0);
    size_t n = l.saved.len;
    for (size_t cut = 0; cut < n; cut += cut < 64 || cut + 64 > n ? 1 : 7)
        assert_refused(other, l.saved.data, cut, HOCKET_EPARSE, "no whole save");
    for (size_t at = 0; at < n; at += at < 64 ? 1 : 31) {
        l.saved.data[at] ^= 4;
        struct hocket_error err;
        int rc = hocket_load(other, l.saved.data, n, NULL, NULL, on_event, on_done, &l, &err);
        assert_true(rc == HOCKET_EPARSE || (rc == HOCKET_EUNSUPPORTED && (at == 12 || at == 13)));
        l.saved.data[at] ^= 4;
    }
    /* under a checksum that fits: bytes changed, a newer format, another hocket's, sizes that lie */
    for (size_t at = 14; at < n - HOCKET__SHA256; at += 3) {
        hocket__buf_reset(&b);
        hocket__buf_add(&b, l.saved.data, n - HOCKET__SHA256);
        b.data[at] ^= (char) 0x81;
        sign(&b);
        struct hocket_error err;
        hocket_host *third = at % 5 == 0 ? open_host() : NULL;
        int rc = third ? hocket_load(third, b.data, b.len, NULL, NULL, NULL, on_done, &l, &err) : 0;
        for (int i = 0; third && i < 3; i++)
            hocket_wait(third, 1);
        assert_true(rc <= 1);
        hocket_close(third, NULL, NULL);
    }
    hocket__buf_reset(&b);
    hocket__buf_add(&b, l.saved.data, n - HOCKET__SHA256);
    b.data[12] = '1'; /* which had another form of files */
    sign(&b);
    assert_refused(other, b.data, b.len, HOCKET_EUNSUPPORTED, "another hocket");
    hocket__buf_reset(&b);
    hocket__buf_add(&b, l.saved.data, n - HOCKET__SHA256);
    char *version = memmem(b.data, b.len, HOCKET_VERSION, strlen(HOCKET_VERSION));
    assert_non_null(version);
    *version = '9';
    sign(&b);
    assert_refused(other, b.data, b.len, HOCKET_EUNSUPPORTED, "another hocket (9");
    hocket__buf_reset(&b);
    hocket__buf_lit(&b, "hocket save 2\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x");
    sign(&b);
    assert_refused(other, b.data, b.len, HOCKET_EPARSE, "do not fit");
    hocket__buf_reset(&b);
    hocket__buf_lit(&b, "hocket save 2\n\0\0");
    sign(&b);
    assert_refused(other, b.data, b.len, HOCKET_EPARSE, NULL); /* of nobody */
    hocket_close(other, NULL, NULL);
    hocket__buf_deinit(&b);
    life_free(&l);
}

/* Two, and the second one is damaged, or is one too many: nothing begins. */
static void test_whole_or_not(void **state)
{
    struct life l;
    struct hocket_error err;
    struct hocket__buf b;
    (void) state;
    hocket_host *h = talk(&l);
    start(h, EXAMPLES "/chat/agents", "A table for two, please", TALK, &l);
    until(h, &l.asked, 2);
    save(h, 0, &l);
    hocket_close(h, NULL, NULL);
    h = open_limited("memory", 1);
    assert_refused(h, l.saved.data, l.saved.len, HOCKET_ELIMIT, "at once");
    hocket_close(h, NULL, NULL);
    h = open_host();
    assert_int_equal(
        hocket_run_load(h, l.saved.data, l.saved.len, NULL, NULL, on_event, on_done, &l, &err),
        HOCKET_EINVAL);
    assert_int_equal(hocket_load(h, l.saved.data, l.saved.len, "[]", NULL, NULL, NULL, NULL, &err),
        HOCKET_EINVAL);
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__buf_add(&b, l.saved.data, l.saved.len - HOCKET__SHA256);
    char *second = memmem(b.data, b.len, "table for two", 13); /* in its row */
    assert_non_null(second);
    second[-3] ^= 0x40; /* a length */
    sign(&b);
    assert_refused(h, b.data, b.len, HOCKET_EPARSE, NULL);
    hocket_close(h, NULL, NULL);
    hocket__buf_deinit(&b);
    life_free(&l);
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

static struct {
    long left; /* allocations; below 0: as many as are asked for */
} memory;

static void *limited(void *ud, void *p, size_t old, size_t size)
{
    (void) ud;
    (void) old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (memory.left == 0 && size > old)
        return NULL;
    memory.left -= memory.left > 0 && size > old;
    return realloc(p, size);
}

static void test_memory(void **state)
{
    struct life l;
    struct hocket_error err;
    struct hocket_options o;
    (void) state;
    hocket_host *h = talk(&l);
    save(h, l.run, &l);
    hocket_close(h, NULL, NULL);
    for (long n = 0; n < 60; n++) {
        struct life other;
        life_init(&other);
        other.answer = "";
        memory.left = -1;
        hocket_options_init(&o, sizeof(o));
        o.getenv_cb = variables;
        o.store = "memory";
        o.allocator.realloc_cb = limited;
        assert_int_equal(hocket_open(&o, &h, &err), 0);
        assert_int_equal(hocket_serve_attach(h, &err), 0);
        memory.left = n;
        int rc =
            hocket_load(h, l.saved.data, l.saved.len, NULL, NULL, on_event, on_done, &other, &err);
        memory.left = -1;
        if (rc != 1 && rc != HOCKET_ENOMEM)
            fail_msg("%ld: %d %s", n, rc, err.message);
        struct hocket_host_stats stats = { .size = sizeof(stats) };
        hocket_stats(h, &stats);
        assert_int_equal(stats.runs, rc == 1);
        if (rc == 1) {
            for (int i = 0; i < 3000 && !other.asked && !other.done; i++)
                hocket_wait(h, 10);
            memory.left = n;
            rc = other.done ? -1 : hocket_save(h, on_saved, &other, &err);
            for (int i = 0; rc == 0 && i < 40; i++)
                hocket_pump(h, 0);
            memory.left = -1;
            for (int i = 0; rc == 0 && i < 3000 && !other.saves; i++)
                hocket_wait(h, 10);
            assert_int_equal(other.saves, rc == 0);
        }
        hocket_close(h, NULL, NULL);
        life_free(&other);
    }
    life_free(&l);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_version(argv[2]);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_twice), cmocka_unit_test(test_anywhere),
        cmocka_unit_test(test_open_call), cmocka_unit_test(test_many),
        cmocka_unit_test(test_suspended), cmocka_unit_test(test_versions),
        cmocka_unit_test(test_several), cmocka_unit_test(test_closing),
        cmocka_unit_test(test_close_inside), cmocka_unit_test(test_ending),
        cmocka_unit_test(test_no_store), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_whole_or_not), cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
