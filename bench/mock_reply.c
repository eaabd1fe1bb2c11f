#include "mock_reply.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME      96
#define MAX_TURNS     1024
#define MAX_CHUNKS    1000000
#define MAX_ARGUMENTS 16384

struct model {
    struct model *next;
    char name[MAX_NAME];
    int tools, lead, task, route, chunks, delay_ms, gap_us;
    struct reply *turns[MAX_TURNS];
};

struct replies {
    struct model *models;
};

/* A reply that grows. */
struct writer {
    struct reply *reply;
    size_t room;
    const char *model;
};

static void *must(void *p)
{
    if (!p) {
        fputs("mock: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* ---- Writing ---- */

static void put(struct writer *w, const char *data, size_t n)
{
    struct reply *r = w->reply;
    if (r->size + n > w->room) {
        w->room = (r->size + n) * 2;
        r->data = must(realloc(r->data, w->room));
    }
    memcpy(r->data + r->size, data, n);
    r->size += n;
}

/* One event as one HTTP chunk. */
static void put_event(struct writer *w, const char *json)
{
    char size[16];
    size_t n = strlen(json) + 8; /* "data: " and two line ends */
    put(w, size, (size_t) snprintf(size, sizeof(size), "%zx\r\n", n));
    put(w, "data: ", 6);
    put(w, json, n - 8);
    put(w, "\n\n\r\n", 4);
}

/* All that OpenAI's own chunks have, with what hides how long a text is: of another length in each. */
__attribute__((format(printf, 3, 4))) static void put_choice(
    struct writer *w, const char *finish, const char *delta, ...)
{
    static const char hidden[] = "y3LoYzUKh9NdBm1a";
    char inner[MAX_ARGUMENTS + 512], json[MAX_ARGUMENTS + 1024];
    va_list args;
    va_start(args, delta);
    vsnprintf(inner, sizeof(inner), delta, args);
    va_end(args);
    snprintf(json, sizeof(json),
        "{\"id\":\"chatcmpl-BenchBenchBenchBenchBench1\",\"object\":\"chat.completion.chunk\","
        "\"created\":1760000000,\"model\":\"%s\",\"service_tier\":\"default\","
        "\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{\"index\":0,\"delta\":{%s},"
        "\"logprobs\":null,\"finish_reason\":%s}],\"usage\":null,\"obfuscation\":\"%s\"}",
        w->model, inner, finish, hidden + w->reply->size * 7 % (sizeof(hidden) - 1));
    put_event(w, json);
}

/* What was written since the last cut is a packet. */
static void cut(struct writer *w)
{
    struct reply *r = w->reply;
    r->cuts[r->n_cuts++] = (uint32_t) r->size;
}

static void begin(struct writer *w)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n"
                               "Content-Type: text/event-stream; charset=utf-8\r\n"
                               "Cache-Control: no-cache\r\n"
                               "x-request-id: req_0123456789abcdef\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    put(w, head, sizeof(head) - 1);
}

static void end(struct writer *w, const char *finish)
{
    char usage[512];
    put_choice(w, finish, "%s", "");
    snprintf(usage, sizeof(usage),
        "{\"id\":\"chatcmpl-BenchBenchBenchBenchBench1\",\"object\":\"chat.completion.chunk\","
        "\"created\":1760000000,\"model\":\"%s\",\"service_tier\":\"default\","
        "\"system_fingerprint\":\"fp_0123456789\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,"
        "\"completion_tokens\":20,\"total_tokens\":120},\"obfuscation\":\"y3L\"}",
        w->model);
    put_event(w, usage);
    put_event(w, "[DONE]");
    put(w, "0\r\n\r\n", 5);
}

/* ---- Texts and calls in pieces ---- */

static void put_text(struct writer *w, int chunks)
{
    for (int i = 0; i < chunks; i++) {
        if (i == 0)
            put_choice(w, "null", "\"role\":\"assistant\",\"content\":\"word0\"");
        else
            put_choice(w, "null", "\"content\":\" word%d\"", i % 1000);
        if (i < chunks - 1)
            cut(w);
    }
}

static void escape(const char *text, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            *out++ = '\\';
        *out++ = text[i];
    }
    *out = '\0';
}

/* The head of a call, then its arguments in `pieces`; those beyond its length are left out. */
static void put_call(
    struct writer *w, int turn, int index, int pieces, const char *name, const char *arguments)
{
    char piece[MAX_ARGUMENTS];
    size_t n = strlen(arguments), at = 0;
    put_choice(w, "null",
        "%s\"tool_calls\":[{\"index\":%d,\"id\":\"call_%d_%d\",\"type\":\"function\","
        "\"function\":{\"name\":\"%s\",\"arguments\":\"\"}}]",
        index == 0 ? "\"role\":\"assistant\",\"content\":null," : "", index, turn, index, name);
    for (int i = 0; i < pieces && at < n; i++) {
        size_t take = (n - at) / (size_t) (pieces - i);
        take = take ? take : 1;
        escape(arguments + at, take, piece);
        at += take;
        cut(w);
        put_choice(w, "null", "\"tool_calls\":[{\"index\":%d,\"function\":{\"arguments\":\"%s\"}}]",
            index, piece);
    }
}

/* ---- What each kind of model says ---- */

static void one_call(
    struct writer *w, const struct model *m, int turn, const char *name, const char *arguments)
{
    put_call(w, turn, 0, m->chunks > 1 ? m->chunks - 1 : 1, name, arguments);
}

static void plan(struct writer *w, const struct model *m)
{
    char arguments[MAX_ARGUMENTS / 2];
    int n = snprintf(arguments, sizeof(arguments), "{\"tasks\":[");
    for (int i = 1; i <= m->lead; i++)
        n += snprintf(arguments + n, sizeof(arguments) - (size_t) n,
            "%s{\"text\":\"Write part %d\",\"assigned_to\":\"s%d\"}", i > 1 ? "," : "", i, i);
    snprintf(arguments + n, sizeof(arguments) - (size_t) n, "]}");
    one_call(w, m, 0, "create_tasks", arguments);
}

static void dispatch(struct writer *w, const struct model *m, int turn)
{
    int pieces = m->chunks / m->lead;
    for (int i = 1; i <= m->lead; i++) {
        char name[32], arguments[128];
        snprintf(name, sizeof(name), "call_s%d", i);
        snprintf(arguments, sizeof(arguments),
            "{\"task_ids\":[%d],\"message\":\"Please do task %d\"}", i, i);
        put_call(w, turn, i - 1, pieces > 1 ? pieces - 1 : 1, name, arguments);
    }
}

/* Returns whether the turn is a call. */
static bool lead_turn(struct writer *w, const struct model *m, int turn)
{
    if (turn == 0)
        plan(w, m);
    else if (turn == 1)
        dispatch(w, m, turn);
    else if (turn == 2)
        one_call(w, m, turn, "read_document_clean", "{}");
    return turn < 3;
}

static bool task_turn(struct writer *w, const struct model *m, int turn)
{
    char arguments[256];
    snprintf(arguments, sizeof(arguments), "{\"task_id\":%d}", m->task);
    if (turn == 0)
        one_call(w, m, turn, "read_tasks", "{}");
    else if (turn == 1)
        one_call(w, m, turn, "write_section",
            "{\"section\":\"general\",\"content\":\"A part of the document that is about as long "
            "as what a specialist would write.\"}");
    else if (turn == 2)
        one_call(w, m, turn, "complete_task", arguments);
    return turn < 3;
}

static bool step_turn(struct writer *w, const struct model *m, int turn)
{
    char arguments[128];
    if (turn >= m->tools)
        return false;
    snprintf(arguments, sizeof(arguments),
        "{\"n\":%d,\"note\":\"what a model says about the step it takes\"}", turn);
    one_call(w, m, turn, "step", arguments);
    return true;
}

static bool route_turn(struct writer *w, const struct model *m, int turn)
{
    char arguments[128];
    snprintf(arguments, sizeof(arguments),
        "{\"agent\":\"a%d\",\"reason\":\"what a model says about its choice\"}", m->route);
    if (turn == 0)
        one_call(w, m, turn, "route_to", arguments);
    return turn == 0;
}

static struct reply *make(const struct model *m, int turn)
{
    struct reply *r = must(calloc(1, sizeof(*r)));
    struct writer w = { .reply = r, .model = m->name };
    r->cuts = must(calloc((size_t) m->chunks + (size_t) m->lead + 8, sizeof(*r->cuts)));
    r->delay_ns = (uint64_t) m->delay_ms * 1000000;
    r->gap_ns = (uint64_t) m->gap_us * 1000;
    begin(&w);
    bool calls = m->lead    ? lead_turn(&w, m, turn)
                 : m->task  ? task_turn(&w, m, turn)
                 : m->route ? route_turn(&w, m, turn)
                            : step_turn(&w, m, turn);
    if (!calls)
        put_text(&w, m->chunks);
    end(&w, calls ? "\"tool_calls\"" : "\"stop\"");
    cut(&w);
    return r;
}

/* ---- Models ---- */

static int number_after(const char *name, const char *word, int otherwise, int max)
{
    const char *at = strstr(name, word);
    if (!at)
        return otherwise;
    long value = strtol(at + strlen(word), NULL, 10);
    return value < 0 ? 0 : value > max ? max : (int) value;
}

static struct model *add_model(struct replies *all, const char *name, size_t n)
{
    struct model *m = must(calloc(1, sizeof(*m)));
    snprintf(m->name, sizeof(m->name), "%.*s", (int) n, name);
    m->tools = number_after(m->name, "tools-", 0, MAX_TURNS - 1);
    m->lead = number_after(m->name, "lead-", 0, 64);
    m->task = number_after(m->name, "task-", 0, 1000000);
    m->route = number_after(m->name, "route-", 0, 64);
    m->chunks = number_after(m->name, "chunks-", 20, MAX_CHUNKS);
    m->chunks = m->chunks ? m->chunks : 1;
    m->delay_ms = number_after(m->name, "delay-", 0, 1000000);
    m->gap_us = number_after(m->name, "gap-", 0, 1000000);
    m->next = all->models;
    all->models = m;
    return m;
}

static struct model *find_model(struct replies *all, const char *name, size_t n)
{
    for (struct model *m = all->models; m; m = m->next) {
        if (strncmp(m->name, name, n) == 0 && m->name[n] == '\0')
            return m;
    }
    return add_model(all, name, n);
}

/* The value of "model", with or without a space after the colon. */
static struct model *model_of(struct replies *all, const char *body, size_t size)
{
    static const char key[] = "\"model\":";
    const char *at = memmem(body, size, key, sizeof(key) - 1), *last = body + size;
    if (!at)
        return find_model(all, "", 0);
    at += sizeof(key) - 1;
    while (at < last && (*at == ' ' || *at == '"'))
        at++;
    const char *stop = memchr(at, '"', (size_t) (last - at));
    size_t n = stop ? (size_t) (stop - at) : 0;
    return find_model(all, at, n < MAX_NAME ? n : MAX_NAME - 1);
}

/* Our calls are named call_TURN_INDEX; the last one that a body names tells the turn. Searched
 * from the end, so that a long conversation costs no more than a short one. */
static int turn_of(const char *body, size_t size)
{
    for (const char *at = body + size; size >= 6 && at > body;) {
        at = memrchr(body, '_', (size_t) (at - body));
        if (!at || at - body < 5)
            break;
        if (memcmp(at - 5, "\"call", 5) == 0 && at[1] >= '0' && at[1] <= '9')
            return atoi(at + 1) + 1;
    }
    return 0;
}

const struct reply *replies_find(struct replies *all, const char *body, size_t size)
{
    struct model *m = model_of(all, body, size);
    int turn = turn_of(body, size);
    turn = turn < MAX_TURNS ? turn : MAX_TURNS - 1;
    if (!m->turns[turn])
        m->turns[turn] = make(m, turn);
    return m->turns[turn];
}

struct replies *replies_new(void)
{
    return must(calloc(1, sizeof(struct replies)));
}

static void reply_free(struct reply *r)
{
    if (!r)
        return;
    free(r->data);
    free(r->cuts);
    free(r);
}

void replies_free(struct replies *all)
{
    while (all->models) {
        struct model *m = all->models;
        all->models = m->next;
        for (int i = 0; i < MAX_TURNS; i++)
            reply_free(m->turns[i]);
        free(m);
    }
    free(all);
}
