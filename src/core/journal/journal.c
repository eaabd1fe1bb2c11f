/* Lines are written once, as they will be read: no record is kept in any other form.
 * write_head puts what every line begins with in one go, since a run of a thousand agents
 * writes some hundred thousand of them.
 *
 * A record is in the journal when journal_end has kept it; until then it stands in `scratch`,
 * and a failure leaves the journal as it was. */
#include "core/journal/journal.h"

#include <assert.h>
#include <stdio.h>

#include "base/json/json.h"
#include "base/num/num.h"
#include "base/isotime.h"
#include "core/journal/lines.h"
#include "core/text.h"

/* What every line begins with, before the type: the names as they stand there. */
#define SEQ        "{\"seq\":"
#define TIME       ",\"time\":\""
#define RUN        ",\"run\":"
#define GENERATION ",\"generation\":"
#define OP         ",\"op\":"
#define AGENT      ",\"agent\":"
#define TYPE       ",\"type\":\""

/* What of a head is as long in every journal, for every author and type. */
#define HEAD (sizeof(SEQ TIME TYPE) + HOCKET__NUM_MAX + HOCKET__ISOTIME_SIZE)

#define SCRATCH_KEPT 65536 /* bytes of the work buffer that stay between appends */

struct hocket__journal {
    const struct hocket_allocator *a;
    struct hocket__journal_options options;
    struct hocket__buf origin;   /* what follows the time in each line: its quote, the run … */
    size_t origin_run;           /* … its length so far, and then the generation */
    struct hocket__buf author;   /* … of the line in the making, where nobody keeps one */
    struct hocket__buf scratch;  /* the line in the making */
    struct hocket__buf last;     /* … of those that end a journal without memory */
    struct hocket__isotime time; /* of the last line */
    struct hocket__lines lines;  /* the last of them is number last_seq */
    size_t bytes;
    uint64_t last_seq;
    bool finished, waking;
    uint32_t type_at; /* in the line in the making */
    bool ending;      /* it is the last */
};

struct hocket__journal_options hocket__journal_options_default(void)
{
    return (struct hocket__journal_options){ .run = { "", 0 }, .max_bytes = (size_t) 64 << 20 };
}

/* What the lines have to say that end a journal in its run's place. */
#define ENDED                                                                                      \
    ",\"document_versions\":null,\"ending\":null,\"state\":null,\"tasks\":null,\"usage\":null}"
#define FAILED   ",\"code\":\"%s\",\"message\":\"%s\"}"
#define LAST_MAX 160 /* bytes of either, with the words of a status */

static char *put(char *at, struct hocket__str text)
{
    if (text.n > 0)
        memcpy(at, text.p, text.n);
    return at + text.n;
}

/* `name` as it stands in a line, with its comma and colon: these are in every one. */
static void write_optional(struct hocket__buf *b, struct hocket__str name, struct hocket__str value)
{
    if (value.n == 0 || hocket__buf_reserve(b, name.n + value.n + 2) < 0)
        return;
    char *at = put(b->data + b->len, name);
    b->len += name.n;
    if (!hocket__json_all_plain(value.p, value.n)) {
        hocket__jw_string(b, value);
        return;
    }
    *at = '"';
    at = put(at + 1, value);
    at[0] = '"';
    at[1] = 0;
    b->len += value.n + 2;
}

/* Memory for the lines that have to come whatever happens. */
static int put_aside(struct hocket__journal *j)
{
    size_t line = HEAD + j->origin.cap + sizeof(HOCKET__JOURNAL_LAST) + LAST_MAX;
    hocket__buf_init(&j->last, j->a, 0);
    if (hocket__buf_reserve(&j->last, line) < 0)
        return HOCKET_ENOMEM;
    return hocket__lines_reserve_last(&j->lines, HOCKET__LINES_LAST * line);
}

struct hocket__journal *hocket__journal_new(
    const struct hocket_allocator *a, const struct hocket__journal_options *options)
{
    struct hocket__journal *j = hocket__zero(a, sizeof(*j));
    if (!j)
        return NULL;
    j->a = a;
    j->options = *options;
    j->last_seq = options->last_seq;
    hocket__lines_init(&j->lines, a);
    hocket__buf_init(&j->scratch, a, 0);
    hocket__buf_init(&j->author, a, 0);
    hocket__buf_init(&j->origin, a, 0);
    hocket__buf_addc(&j->origin, '"');
    write_optional(&j->origin, HOCKET__STR(RUN), options->run);
    j->origin_run = j->origin.len;
    hocket__buf_reserve(&j->origin, sizeof(GENERATION) + HOCKET__NUM_MAX);
    if (j->origin.status < 0 || put_aside(j) < 0) {
        hocket__journal_free(j);
        return NULL;
    }
    return j;
}

void hocket__journal_set_generation(struct hocket__journal *j, uint64_t number)
{
    char digits[HOCKET__NUM_MAX];
    hocket__buf_cut(&j->origin, j->origin_run);
    hocket__buf_lit(&j->origin, GENERATION);
    hocket__buf_add(&j->origin, digits, hocket__num_print_int((int64_t) number, digits));
}

static size_t cost(struct hocket__str line)
{
    return line.n + HOCKET__JOURNAL_LINE_COST;
}

static void drop_oldest(struct hocket__journal *j)
{
    j->bytes -= cost(hocket__lines_at(&j->lines, 0));
    hocket__lines_drop(&j->lines);
}

/* For a run that goes on after its process has ended: the lines up to `seq` are in the store, and
 * numbers go on behind them. */
void hocket__journal_skip(struct hocket__journal *j, uint64_t seq)
{
    if (seq <= j->last_seq || j->finished)
        return;
    while (j->lines.count > 0)
        drop_oldest(j);
    j->last_seq = seq;
}

void hocket__journal_free(struct hocket__journal *j)
{
    if (!j)
        return;
    hocket__lines_deinit(&j->lines);
    hocket__buf_deinit(&j->origin);
    hocket__buf_deinit(&j->author);
    hocket__buf_deinit(&j->scratch);
    hocket__buf_deinit(&j->last);
    hocket__free(j->a, j, sizeof(*j));
}

static bool is_type(struct hocket__str type)
{
    /* a bit for each byte: a type is checked in every record */
    static const uint32_t may[8] = { 0, 0x03FF0000, 0x80000000, 0x07FFFFFE }; /* 0-9, _, a-z */
    for (size_t i = 0; i < type.n; i++) {
        unsigned char c = (unsigned char) type.p[i];
        if (!(may[c / 32] >> c % 32 & 1))
            return false;
    }
    return type.n > 0;
}

/* The members of "{…}", without the braces. */
static struct hocket__str members_of(struct hocket__str payload)
{
    if (payload.n < 2)
        return hocket__str("", 0);
    return hocket__text_trim(hocket__str(payload.p + 1, payload.n - 2));
}

static bool has_outer_form(struct hocket__str payload)
{
    if (payload.n == 0)
        return true;
    return payload.n >= 2 && payload.p[0] == '{' && payload.p[payload.n - 1] == '}'
           && !memchr(payload.p, '\n', payload.n) && !memchr(payload.p, '\r', payload.n);
}

bool hocket__journal_is_member(struct hocket__str name)
{
    switch (name.n) {
    case 2: return memcmp(name.p, "op", 2) == 0;
    case 3: return memcmp(name.p, "seq", 3) == 0 || memcmp(name.p, "run", 3) == 0;
    case 4: return memcmp(name.p, "time", 4) == 0 || memcmp(name.p, "type", 4) == 0;
    case 5: return memcmp(name.p, "agent", 5) == 0;
    case 10: return memcmp(name.p, "generation", 10) == 0;
    default: return false;
    }
}

/* A name that is written with escapes is read before it is looked at.
 * A member that stands twice in a line is read differently by different readers: somebody could
 * give himself another author. */
static bool is_reserved(const struct hocket__json *r)
{
    static const char *const names[] = { "seq", "time", "run", "generation", "op", "agent",
        "type" };
    if (!r->escaped)
        return hocket__journal_is_member(r->text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (hocket__json_is(r, names[i]))
            return true;
    return false;
}

int hocket__journal_check(struct hocket__str payload, struct hocket_error *err)
{
    if (!has_outer_form(payload))
        return hocket__error(err, HOCKET_EINVAL,
            "the payload of a record has to be one JSON object without line ends");
    if (payload.n == 0)
        return 0;
    struct hocket__json r;
    hocket__json_init(&r, payload);
    hocket__json_next(&r);
    while (hocket__json_key(&r)) {
        if (is_reserved(&r))
            return hocket__error(err, HOCKET_EINVAL,
                "\"%.*s\" is a member of the record itself and cannot be in its payload",
                HOCKET__SHOWN(r.text));
        hocket__json_skip(&r, NULL);
    }
    return hocket__json_end(&r, err);
}

/* The payload itself has been checked by whoever made it; that is asserted, as to parse it again
 * would double the cost of a record. */
static int check_open(const struct hocket__journal *j, struct hocket_error *err)
{
    if (j->finished)
        return hocket__error(
            err, HOCKET_ESTATE, "the run has ended: nothing follows " HOCKET__JOURNAL_LAST);
    if (j->waking)
        return hocket__error(err, HOCKET_ESTATE, "the journal's wake callback cannot append to it");
    return 0;
}

int hocket__journal_check_type(struct hocket__str type, struct hocket_error *err)
{
    if (is_type(type))
        return 0;
    return hocket__error(err, HOCKET_EINVAL,
        "the type of a record is made of a-z, 0-9 and _, not \"%.*s\"", HOCKET__SHOWN(type));
}

static int check(
    const struct hocket__journal *j, const struct hocket__record *r, struct hocket_error *err)
{
    int status = check_open(j, err);
    if (status < 0)
        return status;
    status = hocket__journal_check_type(r->type, err);
    if (status < 0)
        return status;
    if (!has_outer_form(r->payload))
        return hocket__error(err, HOCKET_EINVAL,
            "the payload of \"%.*s\" has to be one JSON object without line ends",
            HOCKET__SHOWN(r->type));
    assert(hocket__journal_check(r->payload, NULL) == 0);
    return 0;
}

#define PUT(at, literal) ((char *) memcpy((at), literal, sizeof(literal) - 1) + sizeof(literal) - 1)

/* Every line begins alike, so that its beginning needs no look at what is quoted, and room is made
 * for it once. */
static void write_head(struct hocket__journal *j, struct hocket__buf *b, struct hocket__str author,
    struct hocket__str type, int64_t now_ms)
{
    hocket__buf_reset(b);
    if (hocket__buf_reserve(b, HEAD + j->origin.len + author.n + type.n) < 0)
        return;
    char *at = PUT(b->data, SEQ);
    at = hocket__num_put_int(at, (int64_t) (j->last_seq + 1));
    at = PUT(at, TIME);
    memcpy(at, hocket__isotime_next(&j->time, now_ms), HOCKET__ISOTIME_SIZE - 1);
    at = put(at + HOCKET__ISOTIME_SIZE - 1, hocket__buf_str(&j->origin));
    at = PUT(put(at, author), TYPE);
    j->type_at = (uint32_t) (at - b->data);
    at = put(at, type);
    *at++ = '"';
    *at = 0;
    b->len = (size_t) (at - b->data);
    j->ending = hocket__str_is(type, HOCKET__JOURNAL_LAST);
}

int hocket__journal_shared_members(
    struct hocket__str op, struct hocket__str agent, struct hocket__buf *out)
{
    write_optional(out, HOCKET__STR(OP), op);
    write_optional(out, HOCKET__STR(AGENT), agent);
    return out->status;
}

struct hocket__buf *hocket__journal_begin(struct hocket__journal *j, struct hocket__str author,
    struct hocket__str type, int64_t now_ms, struct hocket_error *err)
{
    if (check_open(j, err) < 0)
        return NULL;
    write_head(j, &j->scratch, author, type, now_ms);
    return &j->scratch;
}

/* The journal is open. */
static int begin_as(struct hocket__journal *j, struct hocket__str op, struct hocket__str agent,
    struct hocket__str type, int64_t now_ms, struct hocket_error *err)
{
    hocket__buf_reset(&j->author);
    if (hocket__journal_shared_members(op, agent, &j->author) < 0)
        return hocket__error_nomem(err);
    write_head(j, &j->scratch, hocket__buf_str(&j->author), type, now_ms);
    return 0;
}

struct hocket__buf *hocket__journal_begin_as(struct hocket__journal *j, struct hocket__str op,
    struct hocket__str agent, struct hocket__str type, int64_t now_ms, struct hocket_error *err)
{
    if (check_open(j, err) < 0 || begin_as(j, op, agent, type, now_ms, err) < 0)
        return NULL;
    return &j->scratch;
}

static void write_members(struct hocket__buf *b, struct hocket__str payload)
{
    struct hocket__str members = members_of(payload);
    if (members.n > 0) {
        hocket__buf_addc(b, ',');
        hocket__buf_addstr(b, members);
    }
}

/* Of a line that stands there, with which the oldest may have to go.
 * A reader that was too slow is told how many lines it missed (hocket__journal_next), by their
 * numbers. */
static void count_line(struct hocket__journal *j, size_t bytes)
{
    j->last_seq++;
    while (j->bytes > 0 && j->bytes + bytes > j->options.max_bytes)
        drop_oldest(j);
    j->bytes += bytes;
}

static int keep_line(struct hocket__journal *j, struct hocket_error *err)
{
    struct hocket__str text = hocket__buf_str(&j->scratch);
    if (cost(text) > j->options.max_bytes || text.n > HOCKET__LINE_MAX)
        return hocket__error(err, HOCKET_ELIMIT,
            "a record of %zu bytes does not fit into the journal, which keeps %zu", text.n,
            j->options.max_bytes);
    if (hocket__lines_add(&j->lines, text, j->type_at) < 0)
        return hocket__error_nomem(err);
    count_line(j, cost(text));
    return 0;
}

static void tidy(struct hocket__journal *j)
{
    if (j->scratch.cap > SCRATCH_KEPT)
        hocket__buf_deinit(&j->scratch);
}

static void told(struct hocket__journal *j)
{
    j->finished = j->ending;
    if (j->options.wake_cb) {
        /* The reader that is woken may look at anything, but not append: the line that it was
         * woken for would be followed by another before it is read. */
        j->waking = true;
        j->options.wake_cb(j->options.ud);
        j->waking = false;
    }
}

int64_t hocket__journal_end(struct hocket__journal *j, struct hocket_error *err)
{
    hocket__buf_addc(&j->scratch, '}');
    int status = j->scratch.status < 0 ? hocket__error_nomem(err) : keep_line(j, err);
    tidy(j);
    if (status < 0)
        return status;
    told(j);
    return (int64_t) j->last_seq;
}

/* Must not fail: the memory was put aside when the journal was made. */
static void end_with(
    struct hocket__journal *j, const char *type, const char *members, int64_t now_ms)
{
    write_head(j, &j->last, hocket__str("", 0), hocket__cstr(type), now_ms);
    hocket__buf_adds(&j->last, members);
    struct hocket__str text = hocket__buf_str(&j->last);
    hocket__lines_add_last(&j->lines, text, j->type_at);
    count_line(j, cost(text));
    told(j);
}

void hocket__journal_close(struct hocket__journal *j, int status, int64_t now_ms)
{
    char failed[LAST_MAX];
    if (j->finished || j->waking)
        return;
    snprintf(
        failed, sizeof(failed), FAILED, hocket_status_word(status), hocket_status_text(status));
    if (status < 0)
        end_with(j, "error", failed, now_ms);
    end_with(j, HOCKET__JOURNAL_LAST, ENDED, now_ms);
}

int64_t hocket__journal_append(struct hocket__journal *j, const struct hocket__record *r,
    int64_t now_ms, struct hocket_error *err)
{
    int status = check(j, r, err);
    if (status == 0)
        status = begin_as(j, r->op, r->agent, r->type, now_ms, err);
    if (status < 0)
        return status;
    write_members(&j->scratch, r->payload);
    return hocket__journal_end(j, err);
}

/* A type has no quote in it. */
static struct hocket__str type_at(struct hocket__str line, size_t at)
{
    size_t n = 0;
    while (line.p[at + n] != '"')
        n++;
    return hocket__str(line.p + at, n);
}

/* Whoever reads keeps the number of the last line that it read: so there is nothing to register,
 * and nothing to free. */
bool hocket__journal_next(
    const struct hocket__journal *j, uint64_t *cursor, struct hocket__line *line)
{
    uint64_t first = hocket__journal_first(j);
    if (*cursor >= j->last_seq || j->lines.count == 0)
        return false;
    line->seq = *cursor + 1 < first ? first : *cursor + 1;
    line->missed = line->seq - *cursor - 1;
    line->json = hocket__lines_at(&j->lines, (size_t) (line->seq - first));
    line->type = type_at(line->json, hocket__lines_mark(&j->lines, (size_t) (line->seq - first)));
    *cursor = line->seq;
    return true;
}

uint64_t hocket__journal_first(const struct hocket__journal *j)
{
    return j->last_seq - j->lines.count + 1;
}

uint64_t hocket__journal_last(const struct hocket__journal *j)
{
    return j->last_seq;
}

size_t hocket__journal_bytes(const struct hocket__journal *j)
{
    return j->bytes;
}

bool hocket__journal_finished(const struct hocket__journal *j)
{
    return j->finished;
}
