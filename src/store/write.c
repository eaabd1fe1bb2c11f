/* What is written: each function packs a command into the batch of this turn (front.c hands it over). */
#include "store/store_impl.h"

/* For whoever packs several commands that belong together and cannot finish: the batch is again as
 * it was. */
void hocket__store_rewind(struct hocket__store *s, size_t len)
{
    s->handed -= s->batch.len - len;
    if (s->batch.data)
        hocket__buf_cut(&s->batch, len);
}

bool hocket__store_fits_index(const struct hocket__store *s, struct hocket__str name)
{
    return s->max_key == 0 || name.n <= s->max_key;
}

/* Kind, id and fence. */
#define RELEASE_BYTES (1 + HOCKET__STORE_ID + 10)

void hocket__store_reserve_release(struct hocket__store *s)
{
    s->owed++;
}

int hocket__store_reserve(const struct hocket__store *s, struct hocket__buf *batch)
{
    size_t before = batch->len;
    int rc = hocket__buf_reserve(batch, s->owed * RELEASE_BYTES);
    if (rc < 0)
        hocket__buf_rewind(batch, before);
    return rc;
}

/* A name longer than the backend's index allows would fail its transaction, with the writes of others. */
static bool has_fair_names(const struct hocket__store *s, const struct hocket__store_command *c)
{
    struct hocket__str one = HOCKET__STR(""), two = HOCKET__STR("");
    if (c->kind == HOCKET__STORE_PUT || c->kind == HOCKET__STORE_UPDATE)
        one = c->row.run.pool;
    if (c->kind == HOCKET__STORE_MESSAGE_PUT)
        one = c->row.message.id;
    if (c->kind == HOCKET__STORE_FILE) {
        one = c->row.file.generation;
        two = c->row.file.path;
    }
    return hocket__store_fits_index(s, one) && hocket__store_fits_index(s, two);
}

bool hocket__store_is_full(const struct hocket__store *s)
{
    return s->handed - s->written > s->o.max_pending;
}

/* A few bytes: without them nobody would take the run, or know what it has come to. There is another one only where the run has
 * gone on, which takes an entry. */
static bool is_last_word(const struct hocket__store_command *c)
{
    return c->kind == HOCKET__STORE_RELEASE
           || (c->kind == HOCKET__STORE_UPDATE && (c->set & HOCKET__STORE_SET_STATE));
}

/* Bounds both ways: the memory of what waits for a slow disk, and a row that no backend could take.
 * The run that is refused here continues, and its caller reports the error. */
static int hand_over(struct hocket__store *s, const struct hocket__store_command *c)
{
    if (s->closing)
        return HOCKET_ECLOSED;
    hocket__store_reopen(s);
    if (s->broken)
        return s->error.status;
    bool limited = !s->unlimited && !is_last_word(c);
    if ((limited && hocket__store_is_full(s)) || !has_fair_names(s, c))
        return HOCKET_ELIMIT;
    size_t before = s->batch.len;
    int rc = hocket__store_command_pack(&s->batch, c);
    if (rc < 0)
        return rc;
    s->handed += s->batch.len - before;
    if (s->batch.len - before > HOCKET__STORE_MAX_ROW)
        rc = HOCKET_ELIMIT;
    else if (c->kind != HOCKET__STORE_RELEASE)
        rc = hocket__store_reserve(s, &s->batch);
    if (rc < 0)
        hocket__store_rewind(s, before);
    else
        hocket__store_next_turn(s);
    return rc;
}

static struct hocket__store_command command(
    enum hocket__store_command_kind kind, const struct hocket__store_claim *claim)
{
    struct hocket__store_command c = { .kind = kind };
    if (claim) {
        memcpy(c.id, claim->id, sizeof(c.id));
        c.fence = claim->fence;
    }
    return c;
}

/* The claim begins with the first write: whoever puts a run has it, under fence 1. */
int hocket__store_put(
    struct hocket__store *s, const struct hocket__store_run *run, struct hocket__store_claim *claim)
{
    struct hocket__str parent = hocket__cstr(run->parent);
    if (!hocket__store_is_new(run))
        return HOCKET_EINVAL;
    memcpy(claim->id, run->id, sizeof(claim->id));
    claim->fence = 1;
    struct hocket__store_command c = command(HOCKET__STORE_PUT, claim);
    c.row.kind = HOCKET__STORE_ROW_RUN;
    c.row.run = *run;
    c.row.run.last_n = parent.n > 0 ? run->at_n : 0;
    c.row.run.last_seq = parent.n > 0 ? run->at_seq : 0;
    c.row.run.fence = 1;
    c.row.run.attempts = 0;
    c.row.run.owner = (struct hocket__store_owner){ .host = HOCKET__STR("") };
    hocket__store_reserve_release(s);
    int rc = hand_over(s, &c);
    s->owed -= rc < 0;
    return rc;
}

/* Only the fields that `set` names are handed over; the others would cost their bytes in every
 * update of a run's state. */
int hocket__store_update(struct hocket__store *s, const struct hocket__store_claim *claim,
    unsigned set, const struct hocket__store_run *run)
{
    struct hocket__store_command c = command(HOCKET__STORE_UPDATE, claim);
    if ((set & HOCKET__STORE_SET_QUEUE) && !hocket__store_is_pool(run->pool))
        return HOCKET_EINVAL;
    c.set = set;
    c.row.kind = HOCKET__STORE_ROW_RUN;
    c.row.run = (struct hocket__store_run){ .state = run->state,
        .cost = run->cost,
        .tokens = run->tokens,
        .simulated = run->simulated,
        .waiting_for = set & HOCKET__STORE_SET_WAITING_FOR ? run->waiting_for : HOCKET__STR(""),
        .generation = set & HOCKET__STORE_SET_GENERATION ? run->generation : HOCKET__STR(""),
        .options = set & HOCKET__STORE_SET_OPTIONS ? run->options : HOCKET__STR(""),
        .pool = set & HOCKET__STORE_SET_QUEUE ? run->pool : HOCKET__STR(""),
        .due_ms = run->due_ms };
    return hand_over(s, &c);
}

int hocket__store_append(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_entry *entry)
{
    struct hocket__store_command c = command(HOCKET__STORE_APPEND, claim);
    c.row.kind = HOCKET__STORE_ROW_ENTRY;
    c.row.entry = *entry;
    return entry->n > 0 ? hand_over(s, &c) : HOCKET_EINVAL;
}

int hocket__store_record(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_record *record)
{
    struct hocket__store_command c = command(HOCKET__STORE_RECORD, claim);
    c.row.kind = HOCKET__STORE_ROW_RECORD;
    c.row.record = *record;
    return record->seq > 0 ? hand_over(s, &c) : HOCKET_EINVAL;
}

int hocket__store_file(struct hocket__store *s, const struct hocket__store_file *file)
{
    struct hocket__store_command c = command(HOCKET__STORE_FILE, NULL);
    c.row.kind = HOCKET__STORE_ROW_FILE;
    c.row.file = *file;
    return file->generation.n > 0 && file->path.n > 0 ? hand_over(s, &c) : HOCKET_EINVAL;
}

int hocket__store_message_put(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_message *message)
{
    struct hocket__store_command c = command(HOCKET__STORE_MESSAGE_PUT, claim);
    c.row.kind = HOCKET__STORE_ROW_MESSAGE;
    c.row.message = *message;
    return hand_over(s, &c);
}

int hocket__store_message_del(
    struct hocket__store *s, const struct hocket__store_claim *claim, struct hocket__str message_id)
{
    struct hocket__store_command c = command(HOCKET__STORE_MESSAGE_DEL, claim);
    c.message_id = message_id;
    return hand_over(s, &c);
}

int hocket__store_release(struct hocket__store *s, const struct hocket__store_claim *claim)
{
    struct hocket__store_command c = command(HOCKET__STORE_RELEASE, claim);
    int rc = hand_over(s, &c);
    if (rc < 0)
        return rc;
    s->owed -= s->owed > 0;
    hocket__store_released(s, claim->id);
    return 0;
}
