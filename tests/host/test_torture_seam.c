/* Durable runs that are killed right behind an effect, in life after life, until they have ended: in the first life, and in those
 * that go on with the log of another one, where the first effect is the one at the end of the replay. The disk is slow, so that
 * an effect that does not wait for its intent is done before that is stored. With durability "full" each kill is a loss of power.
 * The lives resume the run, or are workers that take it; some of these are drained first, and some find the disk broken.
 * Nothing is done twice in silence, and what is done again is the same.
 *
 *   test_torture_seam [--full]    some hundred kills, or some 8,000
 *
 * A chain of lives begins with one that is killed behind an effect, or at an operation of its disk. */
#include "host/kept/torture.h"

#include <lauxlib.h>
#include <time.h>

enum { SLOW_US = 3000, STRUCK_TURNS = 20 };
#define DRAINED_IN_S "5"

/* Of the life that begins; the process that lives it has a copy. */
static struct {
    bool worker;
    unsigned dies_in; /* the effect behind which it is killed, from 1; 0: none */
    bool
        drained; /* it is put away while a model is asked: that answers, and nothing more is begun */
    bool off_when_it_waits; /* it is killed when it has waited for its disk for a while */
    uint64_t seed;          /* of what its disk keeps */
} lot;

static unsigned n_effects, n_struck;
static unsigned another; /* chains that begin alike go on otherwise */
static unsigned third;   /* of the operations, by the day */
static bool asked_model;

/* ---- In a life ------------------------------------------------------------------------------------- */

static void die(void)
{
    if (durability)
        disk_power_off(lot.seed);
    kill(getpid(), SIGKILL);
}

/* torture(what): "effect": one was done; "model": one is asked; "chance" -> a number that was never given before */
static int l_torture(lua_State *L)
{
    const char *what = luaL_checkstring(L, 1);
    if (strcmp(what, "effect") == 0 && ++n_effects == lot.dies_in)
        die();
    asked_model |= strcmp(what, "model") == 0;
    if (strcmp(what, "chance") != 0)
        return 0;
    lua_pushinteger(L, __atomic_add_fetch(&tally->chance, 1, __ATOMIC_RELAXED));
    return 1;
}

static int on_row(void *ud, const struct hocket__store_row *row)
{
    bool given_up = row->run.state == HOCKET__STORE_FAILED && row->run.attempts >= 5;
    if (row->run.state == HOCKET__STORE_DONE || given_up)
        snprintf(seen->error, sizeof(seen->error), "it is %s", given_up ? "given up" : "done");
    (void) ud;
    return 0;
}

static void on_rows(void *ud, int status, const struct hocket_error *err)
{
    (void) status, (void) err;
    *(bool *) ud = true;
}

/* What has ended no worker takes. One that ended five workers at the same place, in an effect that is idempotent, is given up. */
static void look(hocket_host *h)
{
    bool known = false;
    struct hocket__store_reply reply = { on_row, on_rows, &known };
    struct hocket__store *s = hocket__runtime_store(h->rt, NULL);
    if (hocket__store_find(s, hocket__cstr(seen->name), &reply, NULL) < 0)
        return;
    while (!known)
        hocket_wait(h, 10);
    seen->done = strncmp(seen->error, "it is ", 6) == 0;
    seen->status = seen->done ? HOCKET_ESTATE : 0;
}

static void prepare(hocket_host *h)
{
    if (lot.worker)
        look(h);
    lua_pushcfunction(h->L, l_torture);
    lua_setglobal(h->L, "torture");
    disk_slow(lot.dies_in > 0 ? SLOW_US : 0);
}

static void each_turn(hocket_host *h, struct life *l)
{
    if (lot.off_when_it_waits && disk_struck() && ++n_struck > STRUCK_TURNS)
        kill(getpid(), SIGKILL);
    if (!lot.drained || !asked_model)
        return;
    int rc = lot.worker ? hocket_run_answer(h, l->run, "shutdown", DRAINED_IN_S, 0, NULL)
                        : hocket_run_drain(h, l->run);
    lot.drained = rc != 0;
}

/* ---- What was done to the world ---------------------------------------------------------------------- */

static void fail_at(const struct plan *p, const char *what, const char *line)
{
    fail_msg("%s, operation %u, %s: %s: %s\n%s\n%s", p->w->name, p->at,
        durability ? durability : "normal", what, line, seen->error, seen->warnings);
}

struct line {
    char text[96];
};

/* "once …" stands there once at most; "again ID WHAT" for one ID always with the same WHAT. */
static void check_pair(const struct plan *p, const struct line *a, const struct line *b)
{
    if (strncmp(a->text, "once ", 5) == 0 && strcmp(a->text, b->text) == 0)
        fail_at(p, "done twice", a->text);
    const char *end = strchr(a->text + 6, ' ');
    if (strncmp(a->text, "again ", 6) != 0 || !end)
        return;
    size_t n = (size_t) (end - a->text) + 1;
    if (strncmp(a->text, b->text, n) == 0 && strcmp(a->text, b->text) != 0)
        fail_at(p, "done again, and not the same", b->text);
}

static size_t read_lines(struct line *lines, size_t max)
{
    size_t n = 0;
    FILE *f = fopen(letters, "r");
    assert_non_null(f);
    while (n < max && fgets(lines[n].text, sizeof(lines[n].text), f)) {
        lines[n].text[strcspn(lines[n].text, "\n")] = 0;
        n++;
    }
    fclose(f);
    return n;
}

static size_t check_world(const struct plan *p)
{
    static struct line lines[256];
    size_t n = read_lines(lines, sizeof(lines) / sizeof(*lines));
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            check_pair(p, &lines[i], &lines[k]);
    return n;
}

/* ---- Chains of lives --------------------------------------------------------------------------------- */

static char submitted[2 * TEST_TEMP_PATH];

static const struct workflow submits = { .name = "submit",
    HERE "/seam/submit.lua",
    submitted,
    "{}",
    .prepare = prepare,
    .turn = each_turn };

#define PLANNED                                                                                    \
    "again completed, end completed, ground completed, house completed, house.roof completed, "    \
    "house.walls completed, path completed, stones completed"

/* What the two of a pair are: how many effects they have, and what they answer. */
static const struct {
    const char *folder, *answer;
    size_t effects;
} pairs_of[] = { { HERE "/seam", "throughthrough", 10 }, { HERE "/seam_plan", PLANNED, 20 } };

static const struct workflow flows_of[] = {
    { .name = "resumed",
        HERE "/seam",
        letters,
        "{\"approve\":[\"allow\"]}",
        .prepare = prepare,
        .turn = each_turn },
    { .name = "workers",
        HERE "/seam",
        letters,
        "{\"approve\":[\"allow\"]}",
        .prepare = prepare,
        .turn = each_turn },
    { .name = "plan, resumed",
        HERE "/seam_plan",
        letters,
        "{\"approve\":[\"allow\"]}",
        .prepare = prepare,
        .turn = each_turn },
    { .name = "plan, workers",
        HERE "/seam_plan",
        letters,
        "{\"approve\":[\"allow\"]}",
        .prepare = prepare,
        .turn = each_turn },
};
enum { FLOWS = sizeof(flows_of) / sizeof(*flows_of) };

static size_t pair_of(const struct plan *p)
{
    return (size_t) (p->w - flows_of) / 2;
}

static bool by_workers(const struct plan *p)
{
    return (p->w - flows_of) % 2 == 1;
}

/* In the store, and known by its name, for workers. */
static void hand_in(void)
{
    struct plan p = { .w = &submits, .way = BEGIN };
    memset(&lot, 0, sizeof(lot));
    live_once(&p);
    if (seen->status != 0)
        fail_at(&p, "it was not handed in", seen->error);
    snprintf(seen->name, sizeof(seen->name), "%.26s", seen->text);
}

/* How a life ends of which so many came before. One that was drained leaves a log that ends between a model's reply and what that
 * asked for: the next one is killed behind the first effect. */
enum end { IN_FIRST_EFFECT, IN_SECOND_EFFECT, DRAINED, DISK_BROKEN, AT_DISK };

static enum end end_of(unsigned x, unsigned life)
{
    static const enum end ends[] = { DRAINED, IN_FIRST_EFFECT, DRAINED, IN_FIRST_EFFECT,
        IN_SECOND_EFFECT, AT_DISK, IN_FIRST_EFFECT, DISK_BROKEN };
    return ends[(life - 1 + x % 4 / 3 * 4 + another * 3) % (sizeof(ends) / sizeof(*ends))];
}

static void draw(struct plan *p, const struct plan *first, unsigned life)
{
    unsigned x = first->at * 2654435761u + life * 40503u + (unsigned) first->fault * 977u;
    memset(&lot, 0, sizeof(lot));
    lot.seed = x;
    lot.worker = by_workers(p);
    p->fault = first->fault;
    p->at = first->at;
    p->count = 1;
    if (life == 0 && first->at > 0)
        return;
    enum end end = life > 0                    ? end_of(first->at, life)
                   : first->fault == DISK_KILL ? IN_FIRST_EFFECT
                                               : IN_SECOND_EFFECT;
    p->fault = end == AT_DISK ? DISK_KILL_BEHIND : end == DISK_BROKEN ? DISK_OFF : DISK_WELL;
    p->at = p->fault == DISK_WELL ? 0 : 1 + (x >> 8) % 60;
    lot.dies_in = end == IN_FIRST_EFFECT ? 1 : end == IN_SECOND_EFFECT ? 2 : 0;
    lot.drained = end == DRAINED;
    lot.off_when_it_waits = end == DISK_BROKEN;
}

static bool is_unknown(void)
{
    return seen->status == HOCKET_ENOTFOUND || (!seen->name[0] && seen->status != 0);
}

/* One of which the store knows nothing has done nothing. */
static void begin_anew(struct plan *p)
{
    if (check_world(p) > 0)
        fail_at(p, "it is not kept, and has done something", seen->error);
    p->way = BEGIN;
}

static void check_end(const struct plan *p)
{
    struct plan again = *p;
    check_world(p);
    memset(&lot, 0, sizeof(lot));
    again.way = REPLAY;
    again.fault = DISK_WELL;
    live_once(&again);
    if (seen->status != 0 || strcmp(seen->text, pairs_of[pair_of(p)].answer) != 0)
        fail_at(p, "its replay", seen->text);
}

/* What the store has of its end is all that counts: while its disk is broken a run may end without that. */
static bool has_ended(bool killed)
{
    bool kept = !seen->paused || seen->going;
    return !killed && seen->done && kept && (seen->status == 0 || is_over_already());
}

static bool is_given_up(void)
{
    return seen->status == HOCKET_ESTATE && strstr(seen->error, "it is given up");
}

static void go_on(struct plan *p)
{
    if (by_workers(p))
        p->way = WORK;
    else if (seen->name[0] && !(seen->done && is_unknown()))
        p->way = RESUME;
    else
        begin_anew(p);
}

static void chain(const struct plan *first)
{
    struct plan p = *first;
    new_world();
    if (by_workers(first))
        hand_in();
    for (unsigned life = 0; life < 4 * pairs_of[pair_of(first)].effects; life++) {
        draw(&p, first, life);
        bool killed = live_once(&p);
        __atomic_add_fetch(&tally->points, killed, __ATOMIC_RELAXED);
        check_world(&p);
        if (is_given_up())
            return;
        if (has_ended(killed)) {
            check_end(&p);
            return;
        }
        go_on(&p);
    }
    fail_at(first, "no end", seen->error);
}

/* Without a fault anywhere: each effect is done, once. Gives how many operations of the disk that takes. */
static unsigned undisturbed(const struct workflow *w)
{
    struct plan p = { .w = w, .way = BEGIN };
    new_world();
    if (by_workers(&p)) {
        hand_in();
        p.way = WORK;
    }
    memset(&lot, 0, sizeof(lot));
    live_once(&p);
    unsigned ops = seen->ops;
    if (check_world(&p) != pairs_of[pair_of(&p)].effects)
        fail_at(&p, "not all was done", seen->text);
    check_end(&p);
    return ops;
}

/* The first half of the operations makes the tables; a worker finds them made. The full form begins at each third operation:
 * which third differs from day to day, and between two processes of the same workflow. */
static void all_chains(const struct workflow *w)
{
    struct plan p = { .w = w };
    unsigned n = undisturbed(w), begin = by_workers(&p) ? 1 : 1 + n / 2,
             step = full ? 3 : 1 + n / 3;
    unsigned from = begin + (full ? (third + another) % 3 : 0);
    for (p.at = 0; p.at <= n; p.at = p.at < from ? from : p.at + step)
        for (int behind = 0; behind < 2; behind++) {
            p.way = by_workers(&p) ? WORK : BEGIN;
            p.fault = behind ? DISK_KILL_BEHIND : DISK_KILL;
            chain(&p);
        }
}

static void work(const struct workflow *w, const char *level)
{
    seen = shared(sizeof(*seen));
    whole = shared(sizeof(*whole));
    durability = level;
    make_world();
    assert_true(test_temp_dir(store_dir));
    snprintf(store_file, sizeof(store_file), "%s/runs.db", store_dir);
    struct plan p = { .w = w };
    snprintf(submitted, sizeof(submitted), "%s %s", pairs_of[pair_of(&p)].folder, letters);
    disk_install();
    all_chains(w);
    char written[TEST_TEMP_PATH + 16];
    snprintf(written, sizeof(written), "%s.written", letters);
    unlink(written);
    printf("%s%s: %u kills up to here\n", w->name, level ? ", full" : "", tally->points);
    remove_store();
    rmdir(store_dir);
    end_world();
    fflush(stdout);
}

static void begin_work(const struct workflow *w, const char *level, unsigned n)
{
    if (fork() != 0)
        return;
    another = n;
    work(w, level);
    _exit(0);
}

int main(int argc, char **argv)
{
    int how;
    hocket_launcher_main(argc, argv);
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    third = (unsigned) (time(NULL) / 86400 % 3);
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned n = 0; n < (full ? 2 : 1); n++)
        for (int i = 0; i < FLOWS; i++) {
            begin_work(&flows_of[i], NULL, n);
            begin_work(&flows_of[i], "full", n);
        }
    while (wait(&how) > 0)
        tally->failed += !WIFEXITED(how) || WEXITSTATUS(how) != 0;
    printf("%u kills, %u lives, %u workflows failed (third %u)\n", tally->points, tally->lives,
        tally->failed, third);
    return tally->failed > 0;
}
