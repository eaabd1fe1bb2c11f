/* Questions on their way to the backend, and what becomes of its answers. */
#include "store/front/front_impl.h"

static void free_call(struct hocket__store *s, struct hocket__store_call *c)
{
    hocket__list_del(&c->link);
    hocket__buf_deinit(&c->rows);
    hocket__buf_deinit(&c->after);
    hocket__free(s->o.alloc, c, c->size);
}

static void finish_call(
    struct hocket__store *s, struct hocket__store_call *c, int status, const struct hocket_error *e)
{
    struct hocket__store_reply reply = c->reply;
    bool tell = !c->cancelled && reply.done;
    struct hocket_error error;
    if (status < 0)
        error = *e;
    free_call(s, c);
    if (tell)
        reply.done(reply.ud, status, status < 0 ? &error : NULL);
}

static bool is_taking(const struct hocket__store_call *c)
{
    return c->q.kind == HOCKET__STORE_TAKE || c->q.kind == HOCKET__STORE_TAKE_NEXT;
}

void hocket__store_give_back(
    struct hocket__store *s, const struct hocket__store_run *run, bool was_next)
{
    struct hocket__store_claim claim = { .fence = run->fence };
    struct hocket__store_run queued = { .state = HOCKET__STORE_QUEUED };
    memcpy(claim.id, run->id, sizeof(claim.id));
    hocket__front_forgive(s, claim.id);
    if (was_next)
        hocket__store_update(s, &claim, HOCKET__STORE_SET_STATE, &queued);
    hocket__store_release(s, &claim);
}

/* Nobody has heard that these runs are ours: they would be ours for as long as the store is open. */
static void let_go(
    struct hocket__store *s, const struct hocket__store_call *c, struct hocket__str rows)
{
    struct hocket__store_row row;
    if (!is_taking(c) || c->status < 0)
        return;
    while (hocket__store_unpack(&rows, &row) == 1)
        hocket__store_give_back(s, &row.run, c->q.kind == HOCKET__STORE_TAKE_NEXT);
}

/* 0, or the status with which the reader ended; `rows` then has the rows that it did not receive.
 * Rows are views into the answer's bytes: valid until the reader returns. */
static int hand_rows(
    struct hocket__store *s, struct hocket__store_call *c, struct hocket__str *rows)
{
    struct hocket__store_row row;
    int rc = 0;
    while (rc == 0 && !c->cancelled && hocket__store_unpack(rows, &row) == 1) {
        if (is_taking(c) && c->status == 0) {
            hocket__front_forgive(s, row.run.id);
            hocket__store_reserve_release(s);
        }
        rc = c->reply.row ? c->reply.row(c->reply.ud, &row) : 0;
    }
    return rc;
}

/* A reader may end with a positive number, which is no error: it has found what it looked for. */
static void stopped(struct hocket__store *s, struct hocket__store_call *c, int rc)
{
    struct hocket_error e;
    if (rc < 0)
        hocket__error(&e, rc, "the reading was ended");
    finish_call(s, c, rc, &e);
}

/* One piece at a time, and the next one is asked for in the next turn: a run of a gigabyte is read
 * with the memory of a piece, and others have their turn between two. */
void hocket__store_answer(struct hocket__store *s, struct hocket__store_call *c)
{
    struct hocket__str rows = hocket__buf_str(&c->rows);
    int rc = hand_rows(s, c, &rows);
    let_go(s, c, rc < 0 ? hocket__buf_str(&c->rows) : rows);
    hocket__buf_reset(&c->rows);
    hocket__list_del(&c->link);
    if (rc != 0) {
        stopped(s, c, rc);
    } else if (c->more && !c->cancelled && !s->closing && !s->broken) {
        c->more = false;
        hocket__list_add(&s->calls, &c->link);
        hocket__store_next_turn(s);
    } else {
        if (c->more && c->status == 0)
            c->status = hocket__error(&c->error, HOCKET_ECLOSED, "the store was closed");
        finish_call(s, c, c->status, &c->error);
    }
    hocket__front_hold(s);
}

void hocket__store_enqueue(struct hocket__store *s, struct hocket__store_call *c)
{
    hocket__store_reopen(s);
    hocket__list_add(&s->calls, &c->link);
    hocket__store_next_turn(s);
}

/* Submits the calls made up to now. Calls made meanwhile wait for the next turn, behind the writes of that turn. */
void hocket__front_take_calls(struct hocket__store *s, struct hocket__list *given)
{
    hocket__list_init(given);
    while (!hocket__list_empty(&s->calls)) {
        struct hocket__list *l = s->calls.next;
        hocket__list_move(given, l);
    }
}

void hocket__front_give_calls(struct hocket__store *s, struct hocket__list *given)
{
    while (!hocket__list_empty(given)) {
        struct hocket__list *l = given->next;
        struct hocket__store_call *c = hocket__container_of(l, struct hocket__store_call, link);
        hocket__list_move(&s->asked, l);
        if (s->broken)
            finish_call(s, c, s->error.status, &s->error);
        else
            s->backend->ops->ask(s->backend, c);
    }
}

void hocket__front_put_back_calls(struct hocket__store *s, struct hocket__list *given)
{
    while (!hocket__list_empty(given)) {
        struct hocket__list *last = given->prev;
        hocket__list_move(s->calls.next, last);
    }
}

/* The backend may have it, on another thread: so it is not freed here, and is passed over in
 * silence when it comes back. */
void hocket__store_cancel(struct hocket__store *s, struct hocket__store_call *call)
{
    (void) s;
    call->cancelled = true;
}

void hocket__store_give_up(struct hocket__store *s, struct hocket__store_call *call)
{
    hocket__store_cancel(s, call);
    atomic_store(&call->given_up, true);
}

void hocket__front_end_calls(struct hocket__store *s)
{
    while (!hocket__list_empty(&s->calls))
        finish_call(s, hocket__container_of(s->calls.next, struct hocket__store_call, link),
            s->error.status, &s->error);
}
