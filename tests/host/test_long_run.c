/* A run that goes on for long, as a service does: what each agent's answer in it has taken is given back. */

#include "host/run_util.h"

#define RUNS                                                                                       \
    10000 /* of hocket.run; the others a fifth as often, which takes the accounts of a run past what is kept apart */

/* ---- An allocator that counts -------------------------------------------------------------- */

struct counted {
    size_t bytes;
};

static void *counted_alloc(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct counted *c = ud;
    void *made = NULL;
    if (new_size == 0)
        free(p);
    else if (!(made = realloc(p, new_size)))
        return NULL;
    c->bytes += new_size - (p ? old_size : 0);
    return made;
}

/* ---- The long run --------------------------------------------------------------------------- */

/* Tells each time that a fifth of the runs is over, with nothing left to collect. */
static const char script[] =
    "local hocket = require 'hocket'\n"
    "local one = hocket.agent { name = 'one', prompt = 'You answer.', model = 'sim' }\n"
    "%s\n"
    "for i = 1, %d do\n"
    "  work(i)\n"
    "  if i %% %d == 0 then collectgarbage() collectgarbage() hocket.events.emit('output', { text "
    "= 'mark' }) hocket.flow.sleep(0.02) end\n"
    "end\n"
    "return 'done'\n";

struct marks {
    struct counted heap;
    size_t bytes[8];
    int n, done;
};

static void on_mark(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct marks *m = ud;
    (void) h;
    (void) run;
    if (strcmp(e->type, "output") == 0 && m->n < 8)
        m->bytes[m->n++] = m->heap.bytes;
}

static void on_end(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct marks *m = ud;
    (void) h;
    (void) run;
    m->done = 1;
    if (r->status != HOCKET_OK)
        fail_msg("%s", r->error ? r->error->message : "it failed");
}

/* What the work of one round takes for ever, in bytes; a journal that is full from the beginning is none of it. */
static double kept_by(const char *work, int rounds)
{
    static struct marks m;
    struct hocket_options o;
    struct hocket_error e = { 0 };
    hocket_host *h;
    char text[sizeof(script) + 1024];
    hocket_options_init(&o, sizeof(o));
    m = (struct marks){ 0 };
    o.allocator = (struct hocket_allocator){ counted_alloc, &m.heap };
    o.max_journal = 64 << 10;
    if (hocket_open(&o, &h, &e) < 0 || hocket_serve_attach(h, &e) < 0)
        fail_msg("%s", e.message);
    snprintf(text, sizeof(text), script, work, rounds, rounds / 5);
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(text) };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_mark, on_end, &m, &e), 0);
    while (!m.done)
        hocket_wait(h, 1000);
    hocket_close(h, NULL, NULL);
    assert_int_equal(m.n, 5);
    return ((double) m.bytes[4] - (double) m.bytes[2]) / (rounds * 2.0 / 5);
}

static double kept_beside_a_slab(const char *work, int rounds)
{
    double slab = 33 * 1024 / (rounds * 2.0 / 5), bytes = kept_by(work, rounds) - slab;
    drop_file(NULL);
    return bytes;
}

/* Tables of Lua grow in steps, and the host's memory by slabs: one more of these is none that was kept. Two steps at once
 * weigh less for each of more rounds, and what is kept of each does not. */
static void check_bytes(const char *what, int rounds, double most, const char *work)
{
    double bytes = kept_beside_a_slab(work, rounds);
    if (bytes > most)
        bytes = kept_beside_a_slab(work, 4 * rounds);
    if (bytes > most)
        fail_msg("%s: %.1f bytes are kept of each", what, bytes);
}

static void check(const char *what, int rounds, const char *work)
{
    check_bytes(what, rounds, 24, work);
}

static void test_runs(void **state)
{
    (void) state;
    check("hocket.run", RUNS, "local function work() assert(hocket.run(one, 'Hello')) end");
    check("hocket.run with options", RUNS / 5,
        "local function work()\n"
        "  assert(hocket.run(one, 'Hello', { timeout = 5, budget = { turns = 3 }, on_event = "
        "function() end }))\n"
        "end");
    check("hocket.run of an agent of its own", RUNS / 5,
        "local function work(i)\n"
        "  local tool = hocket.tool { name = 't', description = 'x', run = function() return i end "
        "}\n"
        "  assert(hocket.run(hocket.agent { name = 'a' .. i, prompt = 'x', model = 'sim', tools = "
        "{ tool } }, 'Hello'))\n"
        "end");
}

/* Each with a board and a document of its own. */
static void test_facilitators(void **state)
{
    (void) state;
    check("a facilitator", RUNS / 5,
        "local lead = hocket.agent { name = 'lead', prompt = 'x', model = 'sim', tools = { "
        "'facilitator' },\n"
        "  agents = { 'one' }, team = { one = one } }\n"
        "local function work() assert(hocket.run(lead, 'Hello')) end");
}

/* Cut off at whatever it was doing. */
static void test_cut_off(void **state)
{
    (void) state;
    check("hocket.run, cut off", RUNS / 2,
        "local function work(i)\n"
        "  pcall(hocket.flow.timeout, i % 7 / 5000, function() return hocket.run(one, 'Hello') "
        "end)\n"
        "end");
    check("a batch, closed", RUNS / 5,
        "local function slow() hocket.flow.sleep(1) end\n"
        "local function work()\n"
        "  local batch <close> = hocket.broker():batch { { run = slow }, { run = function() return "
        "1 end } }\n"
        "  batch:wait(0.0001)\n"
        "end");
}

static void test_conversations(void **state)
{
    (void) state;
    check("a conversation, closed", RUNS / 5,
        "local function work()\n"
        "  local talk <close> = hocket.conversation.new(one)\n"
        "  assert(talk:send 'Hello')\n"
        "end");
}

/* What they have sent, 20 KB each, is given back of all but those that were heard last. */
static void test_waiting(void **state)
{
    (void) state;
    check_bytes("a conversation that waits", RUNS / 20, 4096,
        "local kept, long = {}, hocket.agent { name = 'long', prompt = ('You answer. '):rep(1700), "
        "model = 'sim' }\n"
        "local function work(i)\n"
        "  kept[i] = assert(hocket.conversation(long))\n"
        "  assert(kept[i]:send 'Hello')\n"
        "end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_runs, drop_file),
        cmocka_unit_test_teardown(test_facilitators, drop_file),
        cmocka_unit_test_teardown(test_cut_off, drop_file),
        cmocka_unit_test_teardown(test_conversations, drop_file),
        cmocka_unit_test_teardown(test_waiting, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
