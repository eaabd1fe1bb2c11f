/* Lines are written once, as they will be read: no record is kept in any other form.
 * write_head puts what every line begins with in one go, since a run of a thousand agents
 * writes some hundred thousand of them.
 *
 * A record is in the journal when journal_end has kept it; until then it stands in `scratch`,
 * and a failure leaves the journal as it was. */
#include "core/journal/journal.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/isotime.h"
#include "base/json/json.h"
#include "base/num/num.h"
#include "base/str.h"
#include "core/text.h"

/* Lines of text that are kept in their order, of which the oldest go first: what a journal has in
 * memory. They lie one behind the other in chunks, so that adding one is hardly more than copying
 * it, and a chunk is freed with the last of its lines:
 *
 *     oldest ──> [ 41 42 43 ]  [ 44 45 46 47 ]  [ 48 49 … room ] <── newest
 *
 * Chunks grow with what is kept, up to 64 KB, so that a short journal stays small. */

struct hocket__lines_chunk;

struct hocket__kept_line {
    const char *p;
    uint32_t n, mark; /* mark: a number of whoever adds it */
};

struct hocket__lines {
    const struct hocket_allocator *a;
    /* index[head .. head + count) are kept. */
    struct hocket__kept_line *index;
    size_t head, count, cap;
    struct hocket__lines_chunk *oldest, *newest;
    struct hocket__lines_chunk *spare; /* put aside for the last lines; NULL: none, or used */
    size_t held;                       /* bytes of all chunks */
};

/* Adds a copy, followed by a NUL that does not count: 0, or ENOMEM with nothing added. At most
 * HOCKET__LINE_MAX bytes. */
#define HOCKET__LINE_MAX UINT32_MAX
/* Puts memory aside for HOCKET__LINES_LAST lines of `size` bytes in all, with their NULs, that
 * hocket__lines_add_last adds without failing, once. 0 or ENOMEM. */
#define HOCKET__LINES_LAST 2

/* The i-th that is kept, from 0. Stays where it is until it is dropped. */
static inline struct hocket__str hocket__lines_at(const struct hocket__lines *l, size_t i)
{
    const struct hocket__kept_line *line = &l->index[l->head + i];
    return hocket__str(line->p, line->n);
}

static inline uint32_t hocket__lines_mark(const struct hocket__lines *l, size_t i)
{
    return l->index[l->head + i].mark;
}

/* Chunks of text, and an index of the lines in them. The index is an array with a head that
 * moves, not a ring: lines are asked for by number, and a ring would cost a division each
 * time. */

#define SMALLEST 1000 /* bytes of text in a chunk, unless one line has more */
#define LARGEST  65000

struct hocket__lines_chunk {
    struct hocket__lines_chunk *next;
    size_t size, used; /* bytes of text */
    size_t lines;      /* that are kept */
    char text[];
};

static void lines_init(struct hocket__lines *l, const struct hocket_allocator *a)
{
    *l = (struct hocket__lines){ .a = a };
}

static void free_chunk(struct hocket__lines *l, struct hocket__lines_chunk *c)
{
    if (c)
        hocket__free(l->a, c, sizeof(*c) + c->size);
}

/* Chunks without a line in front of the newest, which may have room for more. */
static void free_empty(struct hocket__lines *l)
{
    while (l->oldest->lines == 0 && l->oldest != l->newest) {
        struct hocket__lines_chunk *c = l->oldest;
        l->oldest = c->next;
        l->held -= c->size;
        hocket__free(l->a, c, sizeof(*c) + c->size);
    }
}

/* Drops the oldest; there has to be one. */
static void lines_drop(struct hocket__lines *l)
{
    free_empty(l); /* where all were dropped before, the newest has stayed in front */
    l->oldest->lines--;
    l->count--;
    l->head = l->count > 0 ? l->head + 1 : 0;
    free_empty(l);
}

static void lines_deinit(struct hocket__lines *l)
{
    while (l->count > 0)
        lines_drop(l);
    free_chunk(l, l->oldest);
    free_chunk(l, l->spare);
    hocket__free(l->a, l->index, l->cap * sizeof(*l->index));
    lines_init(l, l->a);
}

/* Reserves room for one more line behind the last, and for the lines that may not fail. The array slides down when half of it lies
 * empty in front, so that each line is moved at most a few times. */
static int make_room(struct hocket__lines *l)
{
    size_t last = l->spare ? HOCKET__LINES_LAST : 0;
    if (l->head + l->count + last < l->cap)
        return 0;
    if (l->head <= l->cap / 2)
        return hocket__grow(l->a, &l->index, &l->cap, l->cap + 1, sizeof(*l->index));
    memmove(l->index, l->index + l->head, l->count * sizeof(*l->index));
    l->head = 0;
    return 0;
}

static size_t next_size(const struct hocket__lines *l, size_t need)
{
    /* a quarter of what is held: a journal of few lines has little room to spare, and one of
     * many makes few chunks */
    size_t size = l->held / 4 > SMALLEST ? l->held / 4 : SMALLEST;
#ifdef __SANITIZE_ADDRESS__ /* which is to see each line by itself */
    size = need;
#endif
    size = size < LARGEST ? size : LARGEST;
    return size > need ? size : need;
}

static struct hocket__lines_chunk *new_chunk(struct hocket__lines *l, size_t size)
{
    struct hocket__lines_chunk *c = hocket__new(l->a, sizeof(*c) + size);
    if (c)
        *c = (struct hocket__lines_chunk){ .size = size };
    return c;
}

static void append(struct hocket__lines *l, struct hocket__lines_chunk *c)
{
    if (l->newest)
        l->newest->next = c;
    else
        l->oldest = c;
    l->newest = c;
    l->held += c->size;
}

static bool fits(const struct hocket__lines *l, struct hocket__str text)
{
    return l->newest && l->newest->size - l->newest->used > text.n;
}

static void put_line(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    struct hocket__lines_chunk *c = l->newest;
    char *at = c->text + c->used;
    memcpy(at, text.p, text.n);
    at[text.n] = 0;
    c->used += text.n + 1;
    c->lines++;
    l->index[l->head + l->count++] = (struct hocket__kept_line){ at, (uint32_t) text.n, mark };
}

static int lines_add(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    if (make_room(l) < 0)
        return HOCKET_ENOMEM;
    if (!fits(l, text)) {
        struct hocket__lines_chunk *c = new_chunk(l, next_size(l, text.n + 1));
        if (!c)
            return HOCKET_ENOMEM;
        append(l, c);
    }
    put_line(l, text, mark);
    return 0;
}

static int lines_reserve_last(struct hocket__lines *l, size_t size)
{
    if (hocket__grow(l->a, &l->index, &l->cap, HOCKET__LINES_LAST + 1, sizeof(*l->index)) < 0)
        return HOCKET_ENOMEM;
    l->spare = new_chunk(l, size);
    return l->spare ? 0 : HOCKET_ENOMEM;
}

static void lines_add_last(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    if (!fits(l, text) && l->spare) {
        append(l, l->spare);
        l->spare = NULL;
    }
    put_line(l, text, mark);
}

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
    struct hocket__buf last;     /* … of the lines that end a journal without memory */
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
    ",\"document_versions\":null,\"ending\":null,\"state\":\"%s\",\"tasks\":null,\"usage\":null}"
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
    return lines_reserve_last(&j->lines, HOCKET__LINES_LAST * line);
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
    lines_init(&j->lines, a);
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
    lines_drop(&j->lines);
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
    lines_deinit(&j->lines);
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

/* Decodes a name with escapes before the check. Readers differ in which of two equal members counts, so a line
 * with a member twice could fake its author. */
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
 * hocket__journal_next tells a reader that was too slow how many lines it missed, by their numbers. */
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
    if (lines_add(&j->lines, text, j->type_at) < 0)
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
    lines_add_last(&j->lines, text, j->type_at);
    count_line(j, cost(text));
    told(j);
}

/* As internal/base/ending.lua has it, which is not asked without memory. */
static const char *state_of(int status)
{
    return status >= 0                   ? "done"
           : status == HOCKET_ECANCELLED ? "cancelled"
           : status == HOCKET_EPARKED    ? "parked"
                                         : "failed";
}

void hocket__journal_close(struct hocket__journal *j, int status, int64_t now_ms)
{
    char failed[LAST_MAX], ended[LAST_MAX];
    if (j->finished || j->waking)
        return;
    snprintf(
        failed, sizeof(failed), FAILED, hocket_status_word(status), hocket_status_text(status));
    if (status < 0)
        end_with(j, "error", failed, now_ms);
    snprintf(ended, sizeof(ended), ENDED, state_of(status));
    end_with(j, HOCKET__JOURNAL_LAST, ended, now_ms);
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
