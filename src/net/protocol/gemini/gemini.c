/* Reads Gemini's answers, and is its row in the protocol table. gemini.h says what was decided. */
#include "net/protocol/gemini/gemini.h"

#include "net/protocol/finish.h"

/* r->flags */
enum hocket__gemini_flags {
    HOCKET__GEMINI_CALL = 1,   /* a call whose arguments come in pieces is open */
    HOCKET__GEMINI_STRING = 2, /* … inside a string; its path is in r->scratch */
    HOCKET__GEMINI_KEPT = 4,   /* parts are kept in r->state, for the replay */
    HOCKET__GEMINI_TEXT = 8,   /* … where a part of plain text is open */
};

/* One part of an answer, and its functionCall. */
struct hocket__part {
    struct hocket__piece text, kind; /* kind: the name of a member that is neither text nor call */
    bool thought, is_call, has_signature;
    struct hocket__piece name, id;
    struct hocket__str args, partial; /* JSON, or empty */
    bool goes_on;
    struct hocket__str call, whole; /* the functionCall and the part as they came */
};

/* Arguments that come in pieces: {"jsonPath":"$.items[0].name","stringValue":"ab",
 * "willContinue":true}, one leaf after the other, strings in several pieces.
 *
 * The text is built at its end alone: r->scratch holds the path of the last leaf, and what the
 * next path does not share with it is closed. So a long string costs its own bytes. */

#define MAX_DEPTH 64

struct segment {
    bool is_key;
    struct hocket__str name;
    int64_t index;
};

struct leaf {
    struct hocket__piece path, string;
    struct hocket__str scalar;
};

/* ---- Paths: $.name[0]['odd name'] ---- */

static size_t name_length(struct hocket__str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != '.' && s.p[n] != '[')
        n++;
    return n;
}

static bool take_index(struct hocket__str inside, struct segment *out)
{
    out->index = 0;
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.p[i] < '0' || inside.p[i] > '9' || out->index > 100000000)
            return false;
        out->index = out->index * 10 + (inside.p[i] - '0');
    }
    return inside.n > 0;
}

static bool take_bracket(struct hocket__str *path, struct segment *out)
{
    char quote = path->n > 1 ? path->p[1] : 0;
    out->is_key = quote == '\'' || quote == '"';
    size_t from = out->is_key ? 2 : 1, i = from;
    while (i < path->n
           && !(out->is_key ? path->p[i] == quote && i + 1 < path->n && path->p[i + 1] == ']'
                            : path->p[i] == ']'))
        i++;
    if (i >= path->n)
        return false;
    out->name = hocket__str(path->p + from, i - from);
    if (!out->is_key && !take_index(out->name, out))
        return false;
    size_t end = out->is_key ? i + 2 : i + 1;
    *path = hocket__str(path->p + end, path->n - end);
    return true;
}

/* False at the end of the path, and when it is malformed: then path->n is not 0. */
static bool next_segment(struct hocket__str *path, struct segment *out)
{
    *out = (struct segment){ .is_key = true };
    if (path->n == 0)
        return false;
    if (path->p[0] == '[')
        return take_bracket(path, out);
    if (path->p[0] != '.')
        return false;
    size_t n = name_length(hocket__str(path->p + 1, path->n - 1));
    out->name = hocket__str(path->p + 1, n);
    if (n > 0)
        *path = hocket__str(path->p + 1 + n, path->n - 1 - n);
    return n > 0;
}

static bool same_segment(const struct segment *a, const struct segment *b)
{
    return a->is_key == b->is_key
           && (a->is_key ? hocket__str_eq(a->name, b->name) : a->index == b->index);
}

/* ---- Writing ---- */

/* Closes the containers that the segments of `path` are in, the innermost first. */
static bool close_all(struct hocket__buf *b, struct hocket__str path)
{
    char closers[MAX_DEPTH];
    size_t n = 0;
    struct segment s;
    while (next_segment(&path, &s)) {
        if (n == MAX_DEPTH)
            return false;
        closers[n++] = s.is_key ? '}' : ']';
    }
    while (n > 0)
        hocket__buf_addc(b, closers[--n]);
    return true;
}

static bool open_all(struct hocket__buf *b, struct hocket__str path)
{
    struct segment s;
    for (int depth = 0; next_segment(&path, &s); depth++) {
        if (depth == MAX_DEPTH || (!s.is_key && s.index != 0))
            return false;
        hocket__buf_addc(b, s.is_key ? '{' : '[');
        if (s.is_key)
            hocket__jw_keystr(b, s.name);
    }
    return path.n == 0;
}

/* Goes from the last leaf to the next one, whose value is then to be written. */
static bool move(struct hocket__buf *b, struct hocket__str from, struct hocket__str to)
{
    struct segment a, z;
    if (from.n == 0) {
        struct hocket__str rest = to;
        return next_segment(&rest, &z) && z.is_key && open_all(b, to); /* an object */
    }
    do {
        if (!next_segment(&from, &a) || !next_segment(&to, &z))
            return false; /* a leaf inside a leaf */
    } while (same_segment(&a, &z));
    /* Leaves come in the order of the text, so an index grows by one: a gap would have to be
     * filled with something that the model did not say. */
    if (a.is_key != z.is_key || (!z.is_key && z.index != a.index + 1) || !close_all(b, from))
        return false;
    hocket__buf_addc(b, ',');
    if (z.is_key)
        hocket__jw_keystr(b, z.name);
    return open_all(b, to);
}

static void end_string(struct hocket__reader *r, struct hocket__buf *b)
{
    if (r->flags & HOCKET__GEMINI_STRING)
        hocket__buf_addc(b, '"');
    r->flags &= ~(uint32_t) HOCKET__GEMINI_STRING;
}

/* ---- Leaves ---- */

static void read_leaf(struct hocket__json *j, struct leaf *l)
{
    *l = (struct leaf){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "jsonPath"))
            hocket__piece_read(j, &l->path);
        else if (hocket__json_is(j, "stringValue"))
            hocket__piece_read(j, &l->string);
        else if (hocket__json_is(j, "numberValue") || hocket__json_is(j, "boolValue"))
            l->scalar = hocket__json_value(j);
        else if (hocket__json_is(j, "nullValue"))
            l->scalar = HOCKET__STR("null");
    }
}

static struct hocket__str inside(struct hocket__str path)
{
    return path.n > 0 && path.p[0] == '$' ? hocket__str(path.p + 1, path.n - 1) : path;
}

static bool add_value(struct hocket__reader *r, struct hocket__buf *b, const struct leaf *l)
{
    /* a list or an object is no leaf, and a string under this name would not go on */
    bool scalar = l->scalar.n > 0 && !strchr("{[\"", l->scalar.p[0]);
    if (!l->string.set)
        return scalar && hocket__buf_addstr(b, l->scalar) <= 0;
    hocket__buf_addc(b, '"');
    hocket__buf_addstr(b, l->string.inside);
    r->flags |= HOCKET__GEMINI_STRING;
    return true;
}

static bool add_leaf(struct hocket__reader *r, struct hocket__buf *b, const struct leaf *l)
{
    size_t old = r->scratch.len;
    if (hocket__piece_add(&l->path, &r->scratch) < 0)
        return true; /* memory: the buffer says so */
    struct hocket__str from = hocket__str(r->scratch.data, old);
    struct hocket__str to = hocket__str(r->scratch.data + old, r->scratch.len - old);
    if (hocket__str_eq(from, to)) {
        hocket__buf_cut(&r->scratch, old);
        if (l->string.set && (r->flags & HOCKET__GEMINI_STRING))
            hocket__buf_addstr(b, l->string.inside);
        return true;
    }
    end_string(r, b);
    bool fine = move(b, inside(from), inside(to));
    hocket__buf_drop(&r->scratch, old);
    return fine && add_value(r, b, l);
}

static void report(struct hocket__reader *r, size_t pos, size_t from)
{
    struct hocket__str all = hocket__buf_str(&r->reply->calls[pos].arguments);
    if (r->on_delta && all.n > from)
        r->on_delta(r->ud, HOCKET__DELTA_CALL, pos, hocket__str(all.p + from, all.n - from));
}

static int args_add(struct hocket__reader *r, struct hocket__str list, struct hocket_error *err)
{
    struct hocket__json j;
    struct leaf l;
    size_t pos = r->reply->n_calls - 1;
    struct hocket__buf *b = &r->reply->calls[pos].arguments;
    size_t from = b->len;
    hocket__json_init(&j, list);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (hocket__json_element(&j)) {
        read_leaf(&j, &l);
        if (l.path.set && !add_leaf(r, b, &l))
            return hocket__error(err, HOCKET_EPROTOCOL, "partial arguments do not fit together");
    }
    report(r, pos, from);
    return r->scratch.status < 0
               ? hocket__error(err, r->scratch.status, "%s", hocket_status_text(r->scratch.status))
               : 0;
}

/* Adds a list of partialArgs to the last call. */
static void args_close(struct hocket__reader *r)
{
    size_t pos = r->reply->n_calls - 1;
    struct hocket__buf *b = &r->reply->calls[pos].arguments;
    size_t from = b->len;
    end_string(r, b);
    close_all(b, inside(hocket__buf_str(&r->scratch)));
    hocket__buf_cut(&r->scratch, 0);
    report(r, pos, from);
}

/* What has to go back to Gemini, gathered while it comes. Every part is kept in r->state from the
 * first call, signature or server's part on. Parts of a stream that are plain text are one part.
 * Part for part, because a signature belongs to the part it came on. */

static void end_text(struct hocket__reader *r)
{
    if (r->flags & HOCKET__GEMINI_TEXT)
        hocket__buf_adds(&r->state, "\"}");
    r->flags &= ~(uint32_t) HOCKET__GEMINI_TEXT;
}

static void next_part(struct hocket__reader *r)
{
    end_text(r);
    if (r->state.len > 0)
        hocket__buf_addc(&r->state, ',');
}

static void open_text(struct hocket__reader *r)
{
    next_part(r);
    hocket__buf_adds(&r->state, "{\"text\":\"");
    r->flags |= HOCKET__GEMINI_TEXT;
}

/* So far there was plain text at most. */
static void keep_past(struct hocket__reader *r)
{
    r->flags |= HOCKET__GEMINI_KEPT;
    if (r->reply->text.len > 0) {
        open_text(r);
        hocket__jw_escape(&r->state, hocket__buf_str(&r->reply->text));
    }
}

/* A call whose arguments will come: all but these. */
static void open_call(struct hocket__reader *r, const struct hocket__part *p)
{
    struct hocket__buf *b = &r->state;
    hocket__buf_addc(b, '{');
    size_t from = b->len;
    hocket__members_write(b, p->whole, (const char *const[]){ "functionCall", NULL });
    hocket__buf_adds(b, b->len > from ? ",\"functionCall\":{" : "\"functionCall\":{");
    from = b->len;
    hocket__members_write(
        b, p->call, (const char *const[]){ "args", "partialArgs", "willContinue", NULL });
    hocket__buf_adds(b, b->len > from ? ",\"args\":" : "\"args\":");
}

static void replay_close(struct hocket__reader *r)
{
    const struct hocket__call *c = &r->reply->calls[r->reply->n_calls - 1];
    hocket__buf_addstr(&r->state, hocket__call_arguments(c));
    hocket__buf_adds(&r->state, "}}");
}

static void keep_text(struct hocket__reader *r, const struct hocket__part *p)
{
    if (!(r->flags & HOCKET__GEMINI_KEPT) || p->thought || p->text.inside.n == 0)
        return;
    if (!(r->flags & HOCKET__GEMINI_TEXT))
        open_text(r);
    hocket__buf_addstr(&r->state, p->text.inside);
}

/* To be called before the part goes into the reply. */
static void replay_part(struct hocket__reader *r, const struct hocket__part *p)
{
    bool plain = !p->is_call && !p->kind.set && !p->has_signature;
    if (p->is_call && !p->name.set)
        return; /* continues an open call */
    if (plain) {
        keep_text(r, p);
        return;
    }
    if (!(r->flags & HOCKET__GEMINI_KEPT))
        keep_past(r);
    next_part(r);
    if (p->is_call && (p->goes_on || p->partial.n > 0))
        open_call(r, p);
    else
        hocket__buf_addstr(&r->state, p->whole);
}

/* The call whose arguments came in pieces is whole. */
static void replay_end(struct hocket__reader *r)
{
    struct hocket__buf *replay = &r->reply->replay;
    end_text(r);
    if (r->state.len == 0)
        return;
    hocket__buf_addc(replay, '[');
    hocket__buf_addstr(replay, hocket__buf_str(&r->state));
    hocket__buf_addc(replay, ']');
    if (r->state.status < 0)
        replay->status = r->state.status;
}

/* Reads Gemini's answers: a stream's event, one whole answer, or a list of answers (a stream
 * without alt=sse) are all the same object.
 *
 * Parts of one answer come in any cut: a text in ten chunks, a call in one or, on Vertex AI, in
 * pieces of its arguments. Kind and place say what belongs together. */

struct chunk {
    struct hocket__piece id, model;
    struct hocket__str candidates, feedback, usage, error;
};

/* ---- Parts ---- */

static void read_call(struct hocket__json *j, struct hocket__part *p)
{
    p->is_call = hocket__json_want(j, HOCKET__JSON_OBJECT);
    if (!p->is_call)
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "name"))
            hocket__piece_read(j, &p->name);
        else if (hocket__json_is(j, "id"))
            hocket__piece_read(j, &p->id);
        else if (hocket__json_is(j, "args"))
            p->args = hocket__json_value(j);
        else if (hocket__json_is(j, "partialArgs"))
            p->partial = hocket__json_value(j);
        else if (hocket__json_is(j, "willContinue"))
            p->goes_on = hocket__json_true(j);
    }
    p->call = hocket__str(from, (size_t) (j->p - from));
}

/* What a part is beside its text or call: inlineData, executableCode, toolCall … */
static void read_other(struct hocket__json *j, struct hocket__part *p)
{
    bool about = hocket__json_is(j, "videoMetadata") || hocket__json_is(j, "partMetadata")
                 || hocket__json_is(j, "mediaResolution");
    struct hocket__piece key = hocket__piece_of(j);
    if (hocket__json_value(j).n > 0 && j->token == HOCKET__JSON_OBJECT_END && !about)
        p->kind = key;
}

static void read_part(struct hocket__json *j, struct hocket__part *p)
{
    *p = (struct hocket__part){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "text"))
            hocket__piece_read(j, &p->text);
        else if (hocket__json_is(j, "thought"))
            p->thought = hocket__json_true(j);
        else if (hocket__json_is(j, "thoughtSignature"))
            p->has_signature = hocket__json_value(j).n > 2;
        else if (hocket__json_is(j, "functionCall"))
            read_call(j, p);
        else
            read_other(j, p);
    }
    p->whole = hocket__str(from, (size_t) (j->p - from));
}

/* `flags` remembers that a call is open whose arguments come in pieces. */
static void close_call(struct hocket__reader *r)
{
    if (!(r->flags & HOCKET__GEMINI_CALL))
        return;
    args_close(r);
    replay_close(r);
    r->flags &= ~(uint32_t) HOCKET__GEMINI_CALL;
}

static int start_call(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&p->id, &c->id);
    hocket__piece_set(&p->name, &c->name);
    if (p->goes_on || p->partial.n > 0) {
        r->flags |= HOCKET__GEMINI_CALL;
    } else if (p->args.n > 0) {
        hocket__buf_addstr(&c->arguments, p->args);
        if (r->on_delta)
            r->on_delta(r->ud, HOCKET__DELTA_CALL, r->reply->n_calls - 1, p->args);
    }
    return 0;
}

static int take_call(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    int status = p->name.set ? start_call(r, p, err) : 0;
    if (status < 0 || !(r->flags & HOCKET__GEMINI_CALL))
        return status;
    if (p->partial.n > 0)
        status = args_add(r, p->partial, err);
    if (status == 0 && !p->goes_on)
        close_call(r);
    return status;
}

/* The order of parts is part of the answer: the replay has to send signatures back where they
 * stood. */
static int take_part(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    if (!p->is_call || p->name.set)
        close_call(r); /* its own end may be missing */
    replay_part(r, p);
    if (p->is_call)
        return take_call(r, p, err);
    if (p->kind.set)
        hocket__reply_server_item(r->reply, &p->kind);
    if (hocket__piece_is(&p->kind, "inlineData"))
        hocket__reply_found(r->reply, p->whole);
    hocket__reader_text(r, p->thought ? HOCKET__DELTA_REASONING : HOCKET__DELTA_TEXT, &p->text);
    return 0;
}

static int take_parts(struct hocket__reader *r, struct hocket__str parts, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__part p;
    int status = 0;
    hocket__json_init(&j, parts);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (status == 0 && hocket__json_element(&j)) {
        read_part(&j, &p);
        status = take_part(r, &p, err);
    }
    return status;
}

/* ---- Candidates ---- */

/* Only the first candidate is read; it has index 0 or none. */
static int take_candidate(
    struct hocket__reader *r, struct hocket__json *j, struct hocket_error *err)
{
    struct hocket__piece finish = { 0 };
    struct hocket__str content = { "", 0 }, grounding = { "", 0 }, parts;
    int64_t index = 0;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "content"))
            content = hocket__json_value(j);
        else if (hocket__json_is(j, "finishReason"))
            hocket__piece_read(j, &finish);
        else if (hocket__json_is(j, "index"))
            index = hocket__json_count(j);
        else if (hocket__json_is(j, "groundingMetadata"))
            grounding = hocket__json_value(j);
    }
    if (index > 0)
        return 0;
    hocket__reply_found(r->reply, grounding);
    hocket__reply_finish(r->reply, &finish);
    return hocket__json_find(content, "parts", &parts) ? take_parts(r, parts, err) : 0;
}

static int take_candidates(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err)
{
    struct hocket__json j;
    hocket__json_init(&j, list);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    int status = 0;
    for (int i = 0; status == 0 && hocket__json_element(&j); i++)
        if (j.token == HOCKET__JSON_OBJECT && i == 0)
            status = take_candidate(r, &j, err);
        else
            hocket__json_pass(&j);
    return status;
}

/* A prompt that was blocked has no candidates at all. */
static void take_feedback(struct hocket__reply *reply, struct hocket__str feedback)
{
    struct hocket__json j;
    struct hocket__piece reason = { 0 };
    hocket__json_init(&j, feedback);
    if (hocket__json_want(&j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(&j))
            if (hocket__json_is(&j, "blockReason"))
                hocket__piece_read(&j, &reason);
    if (reason.set && reply->finish_raw.len == 0) {
        hocket__buf_adds(&reply->finish_raw, "blocked:");
        hocket__piece_add(&reason, &reply->finish_raw);
    }
}

/* Every chunk may have it; the last one counts. */
static void take_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__json j;
    struct hocket__usage *u = &reply->usage;
    *u = (struct hocket__usage){ -1, -1, -1, -1, -1 };
    hocket__reply_set(&reply->usage_raw, usage);
    hocket__json_init(&j, usage);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__json_is(&j, "promptTokenCount"))
            u->input = hocket__json_count(&j);
        else if (hocket__json_is(&j, "candidatesTokenCount"))
            u->output = hocket__json_count(&j);
        else if (hocket__json_is(&j, "cachedContentTokenCount"))
            u->cached = hocket__json_count(&j);
        else if (hocket__json_is(&j, "thoughtsTokenCount"))
            u->reasoning = hocket__json_count(&j);
    }
}

/* ---- Chunks ---- */

/* Reads the object that comes next, or whose begin was read. */
static bool read_chunk(struct hocket__json *j, struct chunk *c)
{
    *c = (struct chunk){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return false;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "candidates"))
            c->candidates = hocket__json_value(j);
        else if (hocket__json_is(j, "usageMetadata"))
            c->usage = hocket__json_value(j);
        else if (hocket__json_is(j, "modelVersion"))
            hocket__piece_read(j, &c->model);
        else if (hocket__json_is(j, "responseId"))
            hocket__piece_read(j, &c->id);
        else if (hocket__json_is(j, "promptFeedback"))
            c->feedback = hocket__json_value(j);
        else if (hocket__json_is(j, "error"))
            c->error = hocket__json_value(j);
    }
    return !j->error;
}

static int take_chunk(struct hocket__reader *r, const struct chunk *c, struct hocket_error *err)
{
    if (r->reply->id.len == 0)
        hocket__piece_set(&c->id, &r->reply->id);
    if (r->reply->model.len == 0)
        hocket__piece_set(&c->model, &r->reply->model);
    if (c->usage.n > 0 && c->usage.p[0] == '{')
        take_usage(r->reply, c->usage);
    int status = take_candidates(r, c->candidates, err);
    take_feedback(r->reply, c->feedback);
    return status;
}

static bool is_answer(const struct chunk *c)
{
    return c->candidates.n > 0 || c->feedback.n > 0 || c->usage.n > 0;
}

static int gemini_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct hocket__json j;
    struct chunk c;
    hocket__json_init(&j, data);
    read_chunk(&j, &c);
    if (hocket__json_end(&j, NULL) < 0)
        return hocket__proto_broken(&j, err);
    if (hocket__is_error_value(c.error) || hocket__str_is(type, "error")) {
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    if (!is_answer(&c) && hocket__reply_foreign_error(r->reply, "stream", 0, data))
        return 0;
    return take_chunk(r, &c, err);
}

/* ---- Whole answers ---- */

/* One answer of a body: in a list, what came before an error is kept. */
static int take_answer(struct hocket__reader *r, struct hocket__json *j, int http_status,
    bool first, struct hocket_error *err)
{
    struct chunk c;
    const char *from = j->token == HOCKET__JSON_OBJECT ? j->p - 1 : j->p;
    if (!read_chunk(j, &c))
        return 0;
    struct hocket__str text = hocket__str(from, (size_t) (j->p - from));
    const char *where = first ? "body_200" : "stream";
    int status = first ? http_status : 0;
    if (hocket__is_error_value(c.error)) {
        hocket__reply_set_error(r->reply, where, status, text);
        return 0;
    }
    if (!is_answer(&c) && hocket__reply_foreign_error(r->reply, where, status, text))
        return 0;
    r->done = r->done || is_answer(&c);
    return take_chunk(r, &c, err);
}

static int take_list(
    struct hocket__reader *r, struct hocket__json *j, int http_status, struct hocket_error *err)
{
    int status = 0;
    for (bool first = true; status == 0 && hocket__json_element(j); first = false)
        if (j->token == HOCKET__JSON_OBJECT)
            status = take_answer(r, j, http_status, first, err);
        else
            hocket__json_pass(j);
    return status;
}

static int gemini_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct hocket__json j;
    hocket__json_init(&j, body);
    bool list = hocket__json_next(&j) == HOCKET__JSON_ARRAY;
    int status =
        list ? take_list(r, &j, http_status, err) : take_answer(r, &j, http_status, true, err);
    if (status == 0 && hocket__json_end(&j, NULL) < 0)
        status = hocket__proto_broken(&j, err);
    if (status == 0 && !r->done && !r->reply->error.where)
        status = hocket__error(err, HOCKET_EPROTOCOL, "the answer has no candidates");
    return status;
}

/* ---- The end ---- */

/* What was blocked has no answer, whatever the reason is called. */
static enum hocket__finish finish_of(struct hocket__str raw)
{
    bool blocked = raw.n > 8 && memcmp(raw.p, "blocked:", 8) == 0;
    return blocked ? HOCKET__FINISH_FILTER : hocket__finish_of(raw);
}

static int gemini_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done && reply->finish_raw.len == 0)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without a finishReason");
    close_call(r);
    replay_end(r);
    reply->finish = finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}

/* "gemini-2.5-pro", "models/gemini-2.5-pro" or "tunedModels/x". */
static void put_model(const char *model, struct hocket__buf *out)
{
    if (!strchr(model, '/'))
        hocket__buf_adds(out, "models/");
    hocket__path_write(out, model, "/");
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    hocket__buf_adds(out, hocket__base_has_version(base) ? "/" : "/v1beta/");
    put_model(q->model, out);
    return hocket__buf_adds(out, q->stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
}

const struct hocket__proto hocket__proto_gemini = {
    .name = "gemini",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "x-goog-api-key",
    .key_prefix = "",
    .headers = (const char *const[]){ NULL },
    .write = hocket__gemini_write,
    .message = hocket__gemini_message,
    .event = gemini_event,
    .body = gemini_body,
    .end = gemini_end,
};
