/* Exports (export.h has the format). Writing is a walk through questions to the store, one stage
 * after the other, each row handed on as it comes; the memory is that of the largest row, and of the messages. A run that goes
 * on meanwhile takes messages: so they are read before its row and behind it, until the row is known to be of a moment at which
 * those of before were there. What came later than the row is left out. Reading checks
 * the whole before anything of it is put anywhere: the order of the parts, the numbers of entries without
 * a gap, the checksum. So an import can only fail for the store's reasons, and is taken back whole then. */
#include "store/export.h"

#include "base/hash/hash.h"
#include "base/json/json.h"
#include "store/store_impl.h"

#define MAGIC   "hocket run "
#define VERSION '1'
#define END     HOCKET__EXPORT_END

static const char head[] = HOCKET__EXPORT_HEAD; /* what stands there: without the NUL */
#define HEAD_N (sizeof(head) - 1)

/* ---- Writing ---------------------------------------------------------------------------------- */

struct writer {
    struct hocket__store *s;
    struct hocket__store_sink sink;
    struct hocket__sha256 sha;
    struct hocket__buf out, generation, row, messages, again;
    char id[HOCKET__STORE_ID + 1];
    uint64_t last_n, last_seq;
    size_t generations; /* bytes of `generation` that were asked for */
    int stage, looks;
};

/* The parts, in the order in which they are asked for: of the format it is the row, files, entries, records, messages. */
enum { MESSAGES, ROW, MESSAGES_AGAIN, OWN_FILES, FILES, ENTRIES, RECORDS, END_OF_IT };

/* So often a run may take a message while its row is read. */
#define MOST_LOOKS 1000

/* The sink is handed each row as it comes, so that a large run needs the memory of its largest row. */
static int flush(struct writer *x)
{
    struct hocket__str bytes = hocket__buf_str(&x->out);
    if (x->out.status < 0)
        return x->out.status;
    hocket__sha256_add(&x->sha, bytes);
    int rc = x->sink.write(x->sink.ud, bytes);
    hocket__buf_reset(&x->out);
    return rc;
}

static void finish(struct writer *x, int status, const struct hocket_error *err)
{
    struct hocket__store_sink sink = x->sink;
    hocket__buf_deinit(&x->out);
    hocket__buf_deinit(&x->generation);
    hocket__buf_deinit(&x->row);
    hocket__buf_deinit(&x->messages);
    hocket__buf_deinit(&x->again);
    hocket__free(x->s->o.alloc, x, sizeof(*x));
    sink.done(sink.ud, status, err);
}

void hocket__store_leave_queue(struct hocket__store_run *r)
{
    r->pool = HOCKET__STR("");
    r->due_ms = 0;
    r->attempts = 0;
    memset(r->caller, 0, sizeof(r->caller));
    if (r->state == HOCKET__STORE_QUEUED)
        r->state = HOCKET__STORE_RUNNING;
}

/* Whose it was is of no use elsewhere; its files are of one generation there. */
static int take_run(struct writer *x, struct hocket__store_row row)
{
    struct hocket__store_run *r = &row.run;
    x->last_n = r->last_n;
    x->last_seq = r->last_seq;
    memset(r->parent, 0, sizeof(r->parent));
    r->at_n = r->at_seq = r->fence = 0;
    r->owner = (struct hocket__store_owner){ .host = HOCKET__STR("") };
    hocket__buf_reset(&x->generation);
    hocket__buf_addstr(&x->generation, r->generation);
    r->generation = hocket__cstr(x->id);
    hocket__store_leave_queue(r);
    hocket__buf_reset(&x->row);
    hocket__buf_add(&x->row, head, HEAD_N);
    hocket__store_pack(&x->row, &row);
    return x->generation.status < 0 ? x->generation.status : x->row.status;
}

/* The row is known to be good. */
static int write_run(struct writer *x)
{
    hocket__buf_addstr(&x->out, hocket__buf_str(&x->row));
    return flush(x);
}

static int write_file(struct writer *x, struct hocket__store_row row)
{
    row.file.generation = hocket__cstr(x->id);
    hocket__store_pack(&x->out, &row);
    return flush(x);
}

static int take_message(struct writer *x, const struct hocket__store_row *row)
{
    struct hocket__buf *to = x->stage == MESSAGES ? &x->messages : &x->again;
    hocket__store_pack(to, row);
    return to->status;
}

/* What came later than the row of the run is not in it: 1 ends the reading. */
static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct writer *x = ud;
    if (row->kind == HOCKET__STORE_ROW_RUN)
        return take_run(x, *row);
    if (row->kind == HOCKET__STORE_ROW_FILE)
        return write_file(x, *row);
    if (row->kind == HOCKET__STORE_ROW_MESSAGE)
        return take_message(x, row);
    if (row->kind == HOCKET__STORE_ROW_ENTRY && row->entry.n > x->last_n)
        return 1;
    if (row->kind == HOCKET__STORE_ROW_RECORD && row->record.seq > x->last_seq)
        return 1;
    hocket__store_pack(&x->out, row);
    return flush(x);
}

static void add_end(struct hocket__buf *out, const uint8_t digest[HOCKET__SHA256])
{
    static const char frame[5] = { (char) END, HOCKET__SHA256 };
    hocket__buf_add(out, frame, sizeof(frame));
    hocket__buf_add(out, (const char *) digest, HOCKET__SHA256);
}

void hocket__store_export_close(struct hocket__buf *run)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(hocket__buf_str(run), digest);
    add_end(run, digest);
}

static int write_messages(struct writer *x)
{
    hocket__buf_addstr(&x->out, hocket__buf_str(&x->messages));
    return flush(x);
}

/* The checksum covers everything before it; a truncated file lacks it. */
static void write_end(struct writer *x)
{
    uint8_t digest[HOCKET__SHA256];
    int rc = x->messages.len > 0 ? write_messages(x) : 0;
    hocket__sha256_end(&x->sha, digest);
    add_end(&x->out, digest);
    rc = rc < 0 ? rc : flush(x);
    struct hocket_error e;
    if (rc < 0)
        hocket__error(&e, rc, "the run could not be written");
    finish(x, rc, rc < 0 ? &e : NULL);
}

static void on_stage_done(void *ud, int status, const struct hocket_error *err);

/* Of two files of one name the first one stays, as it does when the run is resumed: its own, then those of what it was forked
 * from, the nearest first. */
static struct hocket__str next_generation(struct writer *x)
{
    struct hocket__str all = hocket__buf_str(&x->generation), name;
    struct hocket__str rest = hocket__str(all.p + x->generations, all.n - x->generations);
    while (hocket__store_next_generation(&rest, &name) && hocket__str_is(name, x->id))
        ;
    x->generations = all.n - rest.n;
    return name;
}

static int ask(struct writer *x, const struct hocket__store_reply *reply)
{
    struct hocket__str id = hocket__cstr(x->id);
    switch (x->stage) {
    case ROW: return hocket__store_find(x->s, id, reply, NULL);
    case OWN_FILES: return hocket__store_files(x->s, id, reply, NULL);
    case FILES: return hocket__store_files(x->s, next_generation(x), reply, NULL);
    case ENTRIES: return hocket__store_entries(x->s, id, 1, reply, NULL);
    case RECORDS: return hocket__store_records(x->s, id, 1, reply, NULL);
    default: return hocket__store_messages(x->s, id, reply, NULL);
    }
}

/* Whether the entries before the row still exist: later ones come behind them. */
static bool is_same_moment(const struct writer *x)
{
    return x->again.len >= x->messages.len
           && (x->messages.len == 0
               || memcmp(x->again.data, x->messages.data, x->messages.len) == 0);
}

static void look_again(struct writer *x)
{
    struct hocket__buf newer = x->again;
    x->again = x->messages;
    x->messages = newer;
    hocket__buf_reset(&x->again);
    x->stage = ROW;
    x->looks++;
}

static bool has_generation(const struct writer *x)
{
    struct writer copy = *x;
    return next_generation(&copy).n > 0;
}

/* 0, or why it ends. */
static int go_on(struct writer *x)
{
    if (x->stage == MESSAGES_AGAIN && !is_same_moment(x)) {
        look_again(x);
        return x->looks < MOST_LOOKS ? 0 : HOCKET_ESTATE;
    }
    if (x->stage == ROW && x->messages.len == 0) /* none can have been taken */
        x->stage++;
    int rc = x->stage == MESSAGES_AGAIN ? write_run(x) : 0;
    if (x->stage != FILES || !has_generation(x))
        x->stage++;
    if (x->stage == FILES && !has_generation(x))
        x->stage++;
    if (x->stage == RECORDS && x->sink.lean)
        x->stage++;
    return rc;
}

static bool may_end(const struct writer *x)
{
    return x->stage == ENTRIES || x->stage == RECORDS;
}

/* 1 is our own on_row that ended the reading of entries or records; of any other stage it is an error. */
static void on_stage_done(void *ud, int status, const struct hocket_error *err)
{
    struct writer *x = ud;
    struct hocket__store_reply reply = { on_row, on_stage_done, x };
    struct hocket_error e;
    if (status < 0 || (status > 0 && !may_end(x))) {
        finish(x, status, err);
        return;
    }
    int rc = go_on(x);
    if (rc == 0 && x->stage == END_OF_IT) {
        write_end(x);
        return;
    }
    rc = rc < 0 ? rc : ask(x, &reply);
    if (rc < 0) {
        hocket__error(&e, rc, "the run could not be read");
        finish(x, rc, &e);
    }
}

int hocket__store_export(
    struct hocket__store *s, struct hocket__str id, const struct hocket__store_sink *sink)
{
    if (!hocket__store_is_id(id))
        return HOCKET_EINVAL;
    struct writer *x = hocket__zero(s->o.alloc, sizeof(*x));
    if (!x)
        return HOCKET_ENOMEM;
    x->s = s;
    x->sink = *sink;
    memcpy(x->id, id.p, id.n);
    hocket__sha256_init(&x->sha);
    hocket__buf_init(&x->out, s->o.alloc, 0);
    hocket__buf_init(&x->generation, s->o.alloc, 0);
    hocket__buf_init(&x->row, s->o.alloc, 0);
    hocket__buf_init(&x->messages, s->o.alloc, 0);
    hocket__buf_init(&x->again, s->o.alloc, 0);
    struct hocket__store_reply reply = { on_row, on_stage_done, x };
    int rc = ask(x, &reply);
    if (rc < 0)
        hocket__free(s->o.alloc, x, sizeof(*x));
    return rc;
}

/* ---- Reading ------------------------------------------------------------------------------------- */

static int damaged(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EPARSE, "this is no whole run of hocket's: %s", what);
}

static int read_head(struct hocket__str *in, struct hocket_error *err)
{
    size_t n = sizeof(MAGIC) - 1;
    if (in->n < HEAD_N || memcmp(in->p, MAGIC, n) != 0)
        return damaged(err, "it does not begin as one");
    if (in->p[n] != VERSION || in->p[n + 1] != '\n')
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "this run was written by another hocket, in a format that this one does not know");
    *in = hocket__str(in->p + HEAD_N, in->n - HEAD_N);
    return 0;
}

/* What has to hold from row to row. */
struct order {
    enum hocket__store_row_kind kind;
    struct hocket__store_run run;
    uint64_t n, seq;
};

static const char *check_entry(struct order *o, const struct hocket__store_entry *e)
{
    return e->n != ++o->n || e->n > UINT32_MAX ? "an entry is missing" : NULL;
}

/* Records may have gaps in their numbers, entries may not: a replay asks for each entry. */
static const char *check_record(struct order *o, const struct hocket__store_record *r)
{
    bool follows = r->seq > o->seq && r->seq <= UINT32_MAX;
    o->seq = r->seq;
    return follows ? NULL : "its records are not in order";
}

static const char *check_run(struct order *o, const struct hocket__store_run *r)
{
    if (o->kind != 0)
        return "it is two runs in one";
    o->run = *r;
    return !r->id[0] || r->parent[0] || r->at_n || r->at_seq ? "it is a part of another run" : NULL;
}

/* Kinds are numbered in the order of the format: a part that comes late shows by its kind alone. */
static const char *check_row(struct order *o, const struct hocket__store_row *row)
{
    if (row->kind < o->kind || (o->kind == 0 && row->kind != HOCKET__STORE_ROW_RUN))
        return "its parts are not in order";
    const char *wrong = NULL;
    switch (row->kind) {
    case HOCKET__STORE_ROW_RUN: wrong = check_run(o, &row->run); break;
    case HOCKET__STORE_ROW_ENTRY: wrong = check_entry(o, &row->entry); break;
    case HOCKET__STORE_ROW_RECORD: wrong = check_record(o, &row->record); break;
    case HOCKET__STORE_ROW_FILE:
        wrong = row->file.path.n > 0 && row->file.generation.n > 0
                        && hocket__str_eq(row->file.generation, o->run.generation)
                    ? NULL
                    : "a file of it is another run's";
        break;
    case HOCKET__STORE_ROW_MESSAGE:
        wrong = row->message.id.n > 0 ? NULL : "a message has no id";
        break;
    default: wrong = "it holds what no run holds";
    }
    o->kind = row->kind;
    return wrong;
}

static const char *check_end(const char *start, struct hocket__str *in, const struct order *o)
{
    static const char frame[5] = { (char) END, HOCKET__SHA256 };
    uint8_t digest[HOCKET__SHA256];
    if (in->n < sizeof(frame) + sizeof(digest) || memcmp(in->p, frame, sizeof(frame)) != 0)
        return "its end is missing";
    hocket__sha256(hocket__str(start, (size_t) (in->p - start)), digest);
    if (memcmp(in->p + sizeof(frame), digest, sizeof(digest)) != 0)
        return "its checksum does not fit: it was changed";
    if (o->kind == 0 || o->n != o->run.last_n)
        return "entries are missing";
    size_t n = sizeof(frame) + sizeof(digest);
    *in = hocket__str(in->p + n, in->n - n);
    return NULL;
}

static bool at_end(struct hocket__str in)
{
    return in.n == 0 || (unsigned char) in.p[0] == END;
}

/* Goes behind what it has read, so that several may stand in a row. */
int hocket__store_export_read(
    struct hocket__str *in, struct hocket__store_run *run, struct hocket_error *err)
{
    struct order o = { .kind = 0 };
    struct hocket__str rest = *in;
    struct hocket__store_row row;
    const char *wrong = NULL;
    int rc = read_head(&rest, err);
    if (rc < 0)
        return rc;
    while (!wrong && !at_end(rest))
        wrong = hocket__store_unpack(&rest, &row) == 1 ? check_row(&o, &row)
                                                       : "a part of it is damaged";
    if (!wrong)
        wrong = check_end(in->p, &rest, &o);
    if (wrong)
        return damaged(err, wrong);
    if (run)
        *run = o.run;
    *in = rest;
    return 0;
}

/* ---- Importing ---------------------------------------------------------------------------------------- */

struct importing {
    struct hocket__store *s;
    struct hocket__store_claim *claim;
    const char *id; /* another one, or NULL */
    char generation[sizeof("import ") + HOCKET__STORE_ID];
};

/* Appends a JSON object, with another value of a member that is in it. */
static int replace(
    struct hocket__buf *out, struct hocket__str json, struct hocket__str old, const char *value)
{
    const char *rest = old.p + old.n;
    hocket__buf_add(out, json.p, (size_t) (old.p - json.p));
    hocket__buf_adds(out, value);
    return hocket__buf_add(out, rest, (size_t) (json.p + json.n - rest));
}

/* Whoever exported it has begun it: here nobody has. Of a JSON object the same without its mark. */
static int without_mark(struct hocket__buf *out, struct hocket__str options)
{
    struct hocket__str mark;
    return hocket__json_find(options, "made", &mark) ? replace(out, options, mark, "\"\"")
                                                     : hocket__buf_addstr(out, options);
}

static int put_unmarked(struct importing *m, struct hocket__store_run *run)
{
    struct hocket__buf options = hocket__buf(m->s->o.alloc, 0);
    int rc = without_mark(&options, run->options);
    run->options = hocket__buf_str(&options);
    rc = rc < 0 ? rc : hocket__store_put(m->s, run, m->claim);
    hocket__buf_deinit(&options);
    return rc;
}

/* Permission for a tool call that was given there but not used yet: this store asks for it again. 1, 0, or a
 * status. */
static int gives_leave(struct importing *m, struct hocket__str json)
{
    struct hocket__str value;
    struct hocket__json reader;
    struct hocket__buf question;
    if (!hocket__json_find(json, "question", &value))
        return 0;
    hocket__buf_init(&question, m->s->o.alloc, 0);
    hocket__json_init(&reader, value);
    if (hocket__json_next(&reader) == HOCKET__JSON_STRING)
        hocket__json_decode(&reader, &question);
    int rc = question.status < 0 ? question.status : question.len == 0 || question.data[0] == 'a';
    hocket__buf_deinit(&question);
    return rc;
}

/* What its owner has said is a part of the record from here on (internal/run/origin.lua). */
static int put_said(struct importing *m, struct hocket__store_message message)
{
    struct hocket__str from;
    struct hocket__buf json;
    if (!hocket__json_find(message.json, "from", &from) || !hocket__str_is(from, "\"person\""))
        return hocket__store_message_put(m->s, m->claim, &message);
    hocket__buf_init(&json, m->s->o.alloc, 0);
    int rc = replace(&json, message.json, from, "\"record\"");
    message.json = hocket__buf_str(&json);
    rc = rc < 0 ? rc : hocket__store_message_put(m->s, m->claim, &message);
    hocket__buf_deinit(&json);
    return rc;
}

static int put_message(struct importing *m, const struct hocket__store_message *message)
{
    int rc = gives_leave(m, message->json);
    return rc == 0 ? put_said(m, *message) : rc < 0 ? rc : 0;
}

static int put_run(struct importing *m, struct hocket__store_run *run)
{
    hocket__store_leave_queue(run);
    if (m->id)
        memcpy(run->id, m->id, sizeof(run->id));
    memcpy(m->generation, "import ", 7);
    memcpy(m->generation + 7, run->id, sizeof(run->id));
    if (run->generation.n > 0)
        run->generation = hocket__cstr(m->generation);
    return put_unmarked(m, run);
}

/* Its files are a generation of its own: under the name of another one they would be that one's. */
static int put_file(struct importing *m, struct hocket__store_file *file)
{
    file->generation = hocket__cstr(m->generation);
    return hocket__store_file(m->s, file);
}

static int put_row(struct importing *m, struct hocket__store_row *row)
{
    switch (row->kind) {
    case HOCKET__STORE_ROW_RUN: return put_run(m, &row->run);
    case HOCKET__STORE_ROW_FILE: return put_file(m, &row->file);
    case HOCKET__STORE_ROW_ENTRY: return hocket__store_append(m->s, m->claim, &row->entry);
    case HOCKET__STORE_ROW_RECORD: return hocket__store_record(m->s, m->claim, &row->record);
    default: return put_message(m, &row->message);
    }
}

int hocket__store_import(struct hocket__store *s, struct hocket__str bytes, const char *id,
    struct hocket__store_claim *claim, struct hocket_error *err)
{
    struct hocket__str rest = bytes;
    struct hocket__store_row row;
    int rc = hocket__store_export_read(&rest, NULL, err);
    if (rc < 0)
        return rc;
    if (rest.n > 0)
        return damaged(err, "something stands behind it");
    if (id && !hocket__store_is_id(hocket__cstr(id)))
        return hocket__error(err, HOCKET_EINVAL, "%s is no id of a run", id);
    struct importing m = { .s = s, .claim = claim, .id = id };
    size_t before = s->batch.len;
    rest = hocket__str(bytes.p + HEAD_N, bytes.n - HEAD_N);
    /* One batch, however large: an import that waited half-way for the disk could not be taken back. */
    s->unlimited = true;
    while (rc == 0 && !at_end(rest) && hocket__store_unpack(&rest, &row) == 1)
        rc = put_row(&m, &row);
    s->unlimited = false;
    if (rc == 0)
        return 0;
    hocket__store_rewind(s, before);
    return hocket__error(err, rc, "the run could not be put into the store");
}
