/* A run of the store is found and taken. */
#include "host/run/resume_impl.h"

#include <string.h>

#include "base/json/json.h"

static bool is_here(const struct hocket__run *r)
{
    const struct hocket_host *h = r->host;
    for (const struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        const struct hocket__run *other = hocket__container_of(l, struct hocket__run, link);
        if (other != r && strcmp(other->name, r->name) == 0)
            return true;
    }
    return false;
}

/* Whether it can go on. */
static int check(
    const struct hocket__resuming *g, enum hocket__store_state state, struct hocket_error *err)
{
    bool over = state == HOCKET__STORE_DONE || state == HOCKET__STORE_FAILED
                || state == HOCKET__STORE_CANCELLED;
    if (g->replay)
        return 0;
    if (over)
        return hocket__error(err, HOCKET_ESTATE,
            "the run %s has ended: it is %s. 'hocket fork' goes on from a place in it",
            g->run->name, hocket__store_state_word(state));
    if (is_here(g->run))
        return hocket__error(err, HOCKET_ESTATE, "the run %s goes on in this host", g->run->name);
    return 0;
}

/* Between both somebody else may have ended it: then it stays as it is. */
static int claimed(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    int rc = check(g, s->state, &g->wrong);
    if (rc == 0)
        return g->lazy ? hocket__asleep_look(s) : hocket__resuming_read(g);
    hocket__stored_give_back(s);
    return rc;
}

static void on_taken(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        hocket__run_claim_on(&g->stored->standing, HOCKET__CLAIM_TAKE);
    if (status == 0)
        status = claimed(g);
    if (status < 0)
        hocket__resuming_fail(g, status, g->wrong.status < 0 ? &g->wrong : err);
}

static int on_claim(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__stored *s = g->stored;
    s->claim.fence = row->run.fence;
    s->state = s->was = row->run.state;
    if (s->pool.len > 0)
        s->way = HOCKET__WAY_BY_HAND;
    if (s->pool.len > 0 && !g->lazy)
        hocket__buf_addstr(&s->waits_for, row->run.waiting_for);
    return s->waits_for.status;
}

static int on_found(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    const struct hocket__store_run *run = &row->run;
    memcpy(g->run->name, run->id, sizeof(g->run->name));
    memcpy(g->stored->claim.id, run->id, sizeof(run->id));
    g->stored->recorded_before = run->last_seq;
    if (g->run->told_before < run->last_seq)
        g->run->told_before = run->last_seq;
    memcpy(g->seed, run->seed, sizeof(g->seed));
    hocket__buf_addstr(&g->target, run->target);
    hocket__buf_addstr(&g->input, run->input);
    hocket__buf_addstr(&g->generation, run->generation);
    hocket__buf_addstr(&g->stored->pool, run->pool);
    g->has_input = run->input.n > 0;
    hocket__buf_addstr(&g->own, run->options.n > 0 ? run->options : HOCKET__STR("{}"));
    g->stored->state = run->state;
    g->stored->attempts = run->attempts;
    g->forked = run->parent[0] && run->last_n == run->at_n;
    g->lazy = !g->replay && !g->forked && hocket__asleep_may(hocket__buf_str(&g->options), run);
    if (g->lazy)
        hocket__buf_addstr(&g->stored->waits_for, run->waiting_for);
    struct hocket__str latest;
    g->latest =
        hocket__json_find(run->options, "latest", &latest) && hocket__str_is(latest, "true");
    bool whole = g->target.status == 0 && g->input.status == 0 && g->own.status == 0
                 && g->generation.status == 0 && g->stored->waits_for.status == 0
                 && g->stored->pool.status == 0;
    return whole ? 0 : HOCKET_ENOMEM;
}

static void on_row(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    struct hocket__stored *s = g->stored;
    struct hocket_error wrong;
    struct hocket__store_reply reply = { on_claim, on_taken, g };
    s->call = NULL;
    if (status == 0 && (status = check(g, s->state, &wrong)) < 0)
        err = &wrong;
    if (status == 0)
        status = g->replay || g->fence
                     ? hocket__resuming_read(g)
                     : hocket__store_take(s->store, hocket__resuming_id(g), &reply, &s->call);
    if (status < 0)
        hocket__resuming_fail(g, status, err);
}

int hocket__resuming_find(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_found, on_row, g };
    return hocket__store_find(s->store, hocket__buf_str(&g->name), &reply, &s->call);
}
