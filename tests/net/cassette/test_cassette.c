/* Cassettes: what is written, what is read, how it plays, and what is never written. */
#include "net/http/fixture.h"

#include "base/buf.h"
#include "net/cassette/cassette.h"

#define KEY "sk-live/0123456789+abc"

/* ---- A file in memory -------------------------------------------------------------------- */

struct tape {
    struct hocket__buf text;
    int fail_after; /* lines; below 0: never */
};

static int append(void *ud, struct hocket__str line, struct hocket_error *err)
{
    struct tape *t = ud;
    if (t->fail_after == 0)
        return hocket__error(err, HOCKET_EIO, "the disk is full");
    if (t->fail_after > 0)
        t->fail_after--;
    assert_int_equal(line.p[line.n - 1], '\n');
    assert_null(memchr(line.p, '\n', line.n - 1));
    return hocket__buf_addstr(&t->text, line);
}

static struct hocket__cassette_options options_for(
    const struct hocket_allocator *a, struct hocket__deadlines *ds, struct tape *t)
{
    return (struct hocket__cassette_options){
        .alloc = a, .deadlines = ds, .name = "x.jsonl", .seed = { 1, 2 }, .write = append, .ud = t
    };
}

static int64_t start_on(struct hocket__cassette *c, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    struct hocket__transport *t = hocket__cassette_transport(c);
    return t->ops->start(t, spec, handler, ud, err);
}

static void cancel_on(struct hocket__cassette *c, int64_t id)
{
    struct hocket__transport *t = hocket__cassette_transport(c);
    t->ops->cancel(t, id);
}

/* ---- Recording ----------------------------------------------------------------------------- */

static const struct test_step answer[] = {
    TEST_SEND("HTTP/1.1 200 OK\r\nSet-Cookie: session=private\r\nX-Echo: " KEY
              "\r\nConnection: close\r\n\r\nyour key is sk-live/0123"),
    TEST_PAUSE(30),
    TEST_SEND("456789+abc, caf\xc3"),
    TEST_PAUSE(30),
    TEST_SEND("\xa9, \xff"),
    TEST_THEN(TEST_CLOSE),
};

static void record(struct fixture *f, struct seen *s, struct hocket__cassette *c, const char *path,
    const char *body)
{
    const char *url = test_server_url(f->server, path);
    struct hocket__buf b;
    struct hocket__http_header auth = { HOCKET__STR("authorization"), HOCKET__STR("Bearer " KEY) };
    struct hocket__http_spec spec = { .method = "POST",
        .url = url,
        .headers = &auth,
        .n_headers = 1,
        .body = &b,
        .label = { HOCKET__STR("test"), strlen(url) - strlen(path), HOCKET__STR(KEY) } };
    hocket__buf_init(&b, &f->alloc.a, 0);
    hocket__buf_adds(&b, body);
    s->f = f;
    s->id = start_on(c, &spec, &seen_handler, s, &s->err);
    hocket__buf_deinit(&b);
}

static void test_record(void **state)
{
    struct fixture *f = *state;
    struct tape t = { .fail_after = -1 };
    struct seen s = { 0 }, cancelled = { 0 };
    struct hocket__cassette *c;
    struct hocket__cassette_options o = options_for(&f->alloc.a, NULL, &t);
    o.below = hocket__http_transport(f->http);
    hocket__buf_init(&t.text, &f->alloc.a, 0);
    test_server_on(f->server, "/v1/chat", TEST_STEPS(answer));
    static const struct test_step never[] = { TEST_THEN(TEST_HANG) };
    test_server_on(f->server, "/hang", TEST_STEPS(never));
    assert_int_equal(hocket__cassette_record(&o, &c, NULL), 0);
    record(f, &s, c, "/v1/chat?token=hush&x=1", "{\"key\":\"sk-live\\/0123456789+abc\"}");
    record(f, &cancelled, c, "/hang", "not\nJSON");
    run_until_done(&s);
    cancel_on(c, cancelled.id);
    hocket__cassette_note_fact(c, HOCKET__STR("fact"), HOCKET__STR("{\"a\":\"" KEY "\"}"));
    hocket__cassette_close(c);
    hocket__cassette_free(c);
    const char *text = t.text.data;
    assert_contains(
        s.body, "your key is " KEY ", caf\xc3\xa9, \xff"); /* the caller has it as it came */
    assert_lacks(text, "sk-live");
    assert_lacks(text, "0123456789+abc");
    assert_lacks(text, "hush");
    assert_lacks(text, "session=private");
    assert_lacks(text, "authorization");
    assert_contains(text, "\"to\":\"test\",\"method\":\"POST\",\"path\":\"/v1/"
                          "chat?token=****&x=1\",\"body\":{\"key\":\"***");
    assert_contains(text, "[\"set-cookie\",\"*\"]");
    assert_contains(text, "\"body\":\"not\\nJSON\"}");
    assert_contains(text, "{\"hex\":\"");
    assert_contains(text, "{\"cancelled\":2,");
    assert_contains(text, "{\"fact\":\"fact\",\"value\":{\"a\":\"***");
    hocket__buf_deinit(&t.text);
}

static void test_disk_full(void **state)
{
    struct fixture *f = *state;
    struct tape t = { .fail_after = 4 }; /* the head, an exchange, a request */
    struct seen s = { 0 }, second = { 0 };
    uint64_t of;
    struct hocket_error err;
    struct hocket__cassette *c;
    struct hocket__cassette_options o = options_for(&f->alloc.a, NULL, &t);
    o.below = hocket__http_transport(f->http);
    hocket__buf_init(&t.text, &f->alloc.a, 0);
    test_server_on(f->server, "/a", TEST_STEPS(answer));
    assert_int_equal(hocket__cassette_record(&o, &c, NULL), 0);
    record(f, &s, c, "/a", "{}");
    run_until_done(&s);
    assert_int_equal(hocket__cassette_missing(c, &of), 0);
    record(f, &second, c, "/a", "{}");
    run_until_done(&second);
    assert_ok(&second); /* the run goes on */
    assert_int_equal(hocket__cassette_missing(c, &of), 1);
    assert_int_equal(of, 2);
    assert_int_equal(hocket__cassette_status(c, &err), HOCKET_EIO);
    assert_string_equal(err.message, "the disk is full");
    hocket__cassette_free(c);
    t.fail_after = 0;
    assert_int_equal(hocket__cassette_record(&o, &c, &err), HOCKET_EIO);
    hocket__buf_deinit(&t.text);
}

/* ---- Playing ------------------------------------------------------------------------------- */

#define HEAD "{\"cassette\":1,\"seed\":\"00000000000000010000000000000002\"}\n"
#define ASK(n, at, text)                                                                           \
    "{\"request\":" n ",\"at\":" at                                                                \
    ",\"to\":\"test\",\"method\":\"POST\",\"path\":\"/c\",\"body\":{\"q\":\"" text "\"}}\n"
#define SAY(n, at, text)                                                                           \
    "{\"answer\":" n ",\"at\":" at                                                                 \
    ",\"status\":200,\"headers\":[[\"a\",\"b\"]],\"body\":[[1,\"" text "\"]]}\n"

struct stage {
    uv_loop_t loop;
    struct hocket__deadlines ds;
    struct hocket__cassette *c;
    const struct hocket_allocator *a;
    struct tape tape;
};

static int open_stage(
    struct stage *g, const struct hocket_allocator *a, const char *text, struct hocket_error *err)
{
    uv_loop_init(&g->loop);
    g->a = a;
    g->c = NULL;
    hocket__deadlines_init(&g->ds, a, &g->loop);
    struct hocket__cassette_options o = options_for(a, &g->ds, &g->tape);
    return hocket__cassette_replay(&o, hocket__cstr(text), &g->c, err);
}

static void close_stage(struct stage *g)
{
    if (g->c)
        hocket__cassette_close(g->c);
    hocket__cassette_free(g->c);
    hocket__deadlines_close(&g->ds, NULL);
    uv_run(&g->loop, UV_RUN_DEFAULT);
    hocket__deadlines_deinit(&g->ds);
    assert_int_equal(uv_loop_close(&g->loop), 0);
}

struct part {
    char text[256], order[16];
    int status, done;
    struct hocket_error err;
    const char *name;
    char *all; /* who ended, in order */
};

static void part_head(void *ud, int status)
{
    ((struct part *) ud)->status = status;
}

static int part_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct part *x = ud;
    (void) err;
    strncat(x->text, p, n < 200 ? n : 200);
    return 0;
}

static void part_done(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t)
{
    struct part *x = ud;
    (void) t;
    x->done++;
    if (err)
        x->err = *err;
    if (x->all)
        strcat(x->all, x->name);
}

static const struct hocket__http_handler part_handler = {
    .on_head = part_head, .on_data = part_data, .on_done = part_done
};

static int64_t ask(
    struct stage *g, struct part *x, const char *path, const char *body, struct hocket_error *err)
{
    struct hocket__buf b;
    char url[64];
    snprintf(url, sizeof(url), "http://elsewhere%s", path);
    struct hocket__http_spec spec = { .method = "POST",
        .url = url,
        .body = &b,
        .label = { .to = HOCKET__STR("test"), .base = strlen("http://elsewhere") } };
    hocket__buf_init(&b, g->a, 0);
    hocket__buf_adds(&b, body);
    int64_t id =
        b.status < 0 ? hocket__error_nomem(err) : start_on(g->c, &spec, &part_handler, x, err);
    hocket__buf_deinit(&b);
    return id;
}

static void turn(struct stage *g, const struct part *x)
{
    for (int i = 0; i < 10000 && !x->done; i++)
        uv_run(&g->loop, UV_RUN_ONCE);
}

static void test_order(void **state)
{
    static const char text[] = HEAD ASK("1", "0", "a") ASK("2", "1", "b") SAY("2", "5", "bb")
        ASK("3", "6", "a") SAY("1", "7", "aa") SAY("3", "9", "a again");
    struct stage g;
    char all[8] = "";
    struct part a = { .name = "a", .all = all }, b = { .name = "b", .all = all },
                c = { .name = "c", .all = all };
    struct hocket_error err;
    (void) state;
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    assert_int_equal(ask(&g, &a, "/c", "{\"q\":\"a\"}", &err), 1);
    assert_int_equal(ask(&g, &b, "/c", "{ \"q\" : \"b\" }", &err), 2); /* the same in other words */
    assert_int_equal(a.done + b.done, 0);                              /* never inside start */
    turn(&g, &b);
    assert_int_equal(a.done, 0); /* request 3 was made before its answer */
    assert_int_equal(ask(&g, &c, "/c", "{\"q\":\"a\"}", &err), 3);
    turn(&g, &c);
    assert_string_equal(all, "bac");
    assert_string_equal(a.text, "aa");
    assert_string_equal(c.text, "a again");
    assert_int_equal(c.status, 200);
    assert_int_equal(hocket__cassette_unused(g.c, NULL), 0);
    assert_int_equal(ask(&g, &a, "/c", "{\"q\":\"a\"}", &err), HOCKET_EREPLAY);
    assert_contains(err.message, "was recorded 2 times in x.jsonl is made once more");
    close_stage(&g);
}

/* What is below a recording may be a replay: each layer knows only the one below it. */
static void test_stack(void **state)
{
    static const char text[] = HEAD ASK("1", "0", "a") SAY("1", "5", "aa") ASK("2", "6", "b");
    struct stage g, above = { 0 };
    struct part a = { .name = "a" }, b = { .name = "b" };
    struct hocket_error err;
    (void) state;
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    struct hocket__cassette_options o = options_for(&hocket__malloc, NULL, &above.tape);
    o.below = hocket__cassette_transport(g.c);
    above.a = &hocket__malloc;
    above.tape.fail_after = -1;
    hocket__buf_init(&above.tape.text, &hocket__malloc, 0);
    assert_int_equal(hocket__cassette_record(&o, &above.c, &err), 0);
    assert_true(o.below->offline);
    assert_false(hocket__cassette_transport(above.c)->offline);
    assert_int_equal(ask(&above, &a, "/c", "{\"q\":\"a\"}", &err), 1);
    turn(&g, &a);
    assert_string_equal(a.text, "aa");
    int64_t id = ask(&above, &b, "/c", "{\"q\":\"b\"}", &err);
    assert_int_equal(id, 2);
    cancel_on(above.c, id); /* passed on: the replay is not waited for */
    assert_int_equal(ask(&above, &b, "/c", "{\"q\":\"c\"}", &err), HOCKET_EREPLAY);
    assert_int_equal(hocket__cassette_status(g.c, NULL), HOCKET_EREPLAY);
    hocket__cassette_close(above.c);
    hocket__cassette_free(above.c);
    assert_contains(above.tape.text.data, "{\"answer\":1,");
    assert_contains(above.tape.text.data, "\"aa\"");
    assert_contains(above.tape.text.data, "{\"cancelled\":2,");
    assert_contains(above.tape.text.data, "{\"answer\":3,");
    hocket__buf_deinit(&above.tape.text);
    close_stage(&g);
}

/* A request that is not made any more holds the others back only for a while. */
static void test_deadline_of_a_replay(void **state)
{
    static const char text[] = HEAD ASK("1", "0", "a") ASK("2", "1", "gone") SAY("1", "5", "aa");
    struct stage g;
    struct part a = { 0 };
    struct hocket_error err;
    struct hocket__buf first;
    (void) state;
    hocket__buf_init(&first, &hocket__malloc, 0);
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    uint64_t began = hocket__deadlines_now();
    assert_int_equal(ask(&g, &a, "/c", "{\"q\":\"a\"}", &err), 1);
    turn(&g, &a);
    assert_int_equal(a.done, 1);
    assert_in_range(hocket__deadlines_now() - began, 1900, 20000);
    assert_int_equal(hocket__cassette_unused(g.c, &first), 1);
    assert_string_equal(first.data, "request 2");
    hocket__buf_deinit(&first);
    close_stage(&g);
}

static void differs(const char *path, const char *body, const char *message)
{
    static const char text[] = HEAD ASK("1", "0", "three days in Lisbon") SAY(
        "1", "5", "aa") "{\"request\":2,\"at\":6,\"to\":\"test\",\"method\":\"POST\",\"path\":\"/"
                        "d\",\"body\":{\"n\":1,\"list\":[1,{\"t\":true}]}}\n" SAY("2", "7", "b");
    struct stage g;
    struct part a = { 0 };
    struct hocket_error err, again;
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    assert_int_equal(ask(&g, &a, path, body, &err), HOCKET_EREPLAY);
    assert_contains(err.message, message);
    assert_false(err.retryable);
    assert_int_equal(ask(&g, &a, "/c", "{\"q\":\"three days in Lisbon\"}", &again), HOCKET_EREPLAY);
    assert_string_equal(again.message, err.message); /* the first difference is what counts */
    assert_int_equal(hocket__cassette_status(g.c, &again), HOCKET_EREPLAY);
    close_stage(&g);
}

static void test_differences(void **state)
{
    (void) state;
    differs("/c", "{\"q\":\"two days in Lisbon\"}",
        "the nearest is request 1, where q was \"three days in Lisbon\" and is now \"two days in "
        "Lisbon\"");
    differs(
        "/c", "{\"q\":\"three days in Lisbon\",\"seed\":7}", "where seed was nothing and is now 7");
    differs("/c", "{}", "where q was \"three days in Lisbon\" and is now nothing");
    differs("/d", "{\"n\":1,\"list\":[1,{\"t\":false}]}",
        "request 2, where list[1].t was true and is now false");
    differs("/d", "{\"n\":1,\"list\":[1]}", "where list[1] was {\"t\":true} and is now nothing");
    differs("/e", "{\"n\":1,\"list\":[1,{\"t\":true}]}", "where path was \"/d\" and is now \"/e\"");
    differs("/c", "plain text",
        "where body was {\"q\":\"three days in Lisbon\"} and is now \"plain text\"");
}

static void test_cancelled_and_broken_off(void **state)
{
    static const char text[] = HEAD ASK(
        "1", "0", "a") "{\"cancelled\":1,\"at\":3,\"status\":200,\"headers\":[],\"body\":[[1,"
                       "\"half\"]]}\n" ASK("2", "4", "b") "{\"answer\":2,\"at\":5,\"sta";
    struct stage g;
    struct part a = { 0 }, b = { 0 };
    struct hocket_error err;
    (void) state;
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    int64_t id = ask(&g, &a, "/c", "{\"q\":\"a\"}", &err);
    for (int i = 0; i < 100 && !a.text[0]; i++)
        uv_run(&g.loop, UV_RUN_ONCE);
    assert_string_equal(a.text, "half");
    assert_int_equal(a.done, 0);
    cancel_on(g.c, id);
    ask(&g, &b, "/c", "{\"q\":\"b\"}", &err);
    turn(&g, &b);
    assert_int_equal(b.err.status, HOCKET_EREPLAY);
    assert_contains(
        b.err.message, "request 2 in x.jsonl has no answer there: the recording was broken off");
    assert_int_equal(a.done, 0);
    close_stage(&g);
}

static void test_recorded_errors(void **state)
{
    static const char text[] = HEAD ASK(
        "1", "0", "a") "{\"answer\":1,\"at\":3,\"status\":0,\"headers\":[],\"body\":[],\"error\":{"
                       "\"code\":\"timeout\","
                       "\"message\":\"no answer came\",\"retryable\":true,\"http_status\":0}}\n";
    struct stage g;
    struct part a = { 0 };
    struct hocket_error err;
    (void) state;
    assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
    ask(&g, &a, "/c", "{\"q\":\"a\"}", &err);
    turn(&g, &a);
    assert_int_equal(a.err.status, HOCKET_ETIMEOUT);
    assert_string_equal(a.err.message, "no answer came");
    assert_true(a.err.retryable);
    close_stage(&g);
}

static void refused(const char *text, const char *message)
{
    struct stage g;
    struct hocket_error err;
    assert_true(open_stage(&g, &hocket__malloc, text, &err) < 0);
    assert_contains(err.message, message);
    close_stage(&g);
}

static void test_malformed_files(void **state)
{
    (void) state;
    refused("", "x.jsonl: this is no cassette, or nothing was recorded");
    refused("{\"cassette\":1", "nothing was recorded");
    refused("{}\n", "x.jsonl:1: this is no cassette");
    refused("{\"cassette\":2}\n", "x.jsonl:1: a cassette of form 2");
    refused("{\"cassette\":1,\"seed\":\"xyz\"}\n", "its 'seed' is missing or malformed");
    refused(HEAD "[]\n", "x.jsonl:2: a JSON object is expected");
    refused(HEAD "{\"request\":1,\n", "x.jsonl:2: ");
    refused(HEAD ASK("2", "0", "a"), "request 1 is expected here");
    refused(HEAD SAY("1", "0", "a"), "an answer to no request");
    refused(HEAD ASK("1", "0", "a") SAY("1", "0", "a") SAY("1", "0", "a"),
        "x.jsonl:4: a second answer to request 1");
    refused(HEAD "{\"what\":1}\n", "neither a request, an answer nor a fact");
}

/* What stands in a cassette by mistake or malice must not do harm. */
static void test_strange_lines(void **state)
{
    static const char *const answers[] = {
        "{\"answer\":1,\"at\":3}\n",
        "{\"answer\":1,\"at\":3,\"body\":[[1,\"before its head\"]],\"status\":200}\n",
        "{\"answer\":1,\"at\":3,\"status\":\"x\",\"headers\":{\"a\":1},\"body\":{\"b\":[]}}\n",
        "{\"answer\":1,\"at\":3,\"status\":200,\"headers\":[1,[],[2],[\"n\"],{\"a\":[1]}]}\n",
        "{\"answer\":1,\"at\":3,\"status\":200,\"body\":[1,[],{\"x\":1},[[\"x\"]]]}\n",
        "{\"answer\":1,\"at\":3,\"status\":200,\"body\":[[1,{\"hex\":\"zz1\"}]]}\n",
        "{\"answer\":1,\"at\":3,\"status\":200,\"error\":[1]}\n",
    };
    (void) state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct stage g;
        struct part a = { 0 };
        struct hocket_error err;
        char text[1024];
        snprintf(text, sizeof(text), "%s%s%s", HEAD, ASK("1", "0", "a"), answers[i]);
        assert_int_equal(open_stage(&g, &hocket__malloc, text, &err), 0);
        assert_int_equal(ask(&g, &a, "/c", "{\"q\":\"a\"}", &err), 1);
        turn(&g, &a);
        assert_int_equal(a.done, 1);
        close_stage(&g);
    }
}

static void play_all(struct test_alloc *t, void *ud)
{
    static const char text[] =
        HEAD ASK("1", "0", "a") SAY("1", "5", "aa") "{\"fact\":\"f\",\"value\":1}\n";
    struct stage g;
    struct part a = { 0 };
    struct hocket_error err = { 0 };
    struct hocket__str fact;
    (void) ud;
    if (open_stage(&g, &t->a, text, &err) < 0) {
        assert_true(t->failed);
        assert_int_equal(err.status, HOCKET_ENOMEM);
    } else {
        assert_true(hocket__cassette_recall_fact(g.c, HOCKET__STR("f"), &fact));
        int64_t id = ask(&g, &a, "/c", "{\"q\":\"b\"}", &err);
        assert_true(id == HOCKET_EREPLAY || t->failed);
        if (id == HOCKET_ENOMEM && ask(&g, &a, "/c", "{\"q\":\"a\"}", &err) > 0) {
            turn(&g, &a);
            assert_true(a.err.status == 0 || a.err.status == HOCKET_ENOMEM);
        }
    }
    close_stage(&g);
}

static void test_no_memory(void **state)
{
    (void) state;
    test_alloc_each(play_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_record, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_deadline_of_a_replay),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_cancelled_and_broken_off),
        cmocka_unit_test(test_recorded_errors),
        cmocka_unit_test(test_malformed_files),
        cmocka_unit_test(test_strange_lines),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
