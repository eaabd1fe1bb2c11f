/* The texts that host and launcher send each other: pairs of a name and a value, each followed by
 * a NUL. The first pair names the format's version: the two may come from different builds.
 *
 * Both sides check what they read: the launcher since a library of another build may speak to it,
 * the host since a program behind the launcher may have taken it over. */
#include "os/launch.h"

#include <inttypes.h>
#include <stdlib.h>

#define FORMAT "4"

const char *hocket__sandbox_name(enum hocket__sandbox level)
{
    static const char *const names[] = { "limits", "landlock", "bubblewrap" };
    return names[level];
}

int hocket__sandbox_from_name(const char *name)
{
    for (int i = HOCKET__SANDBOX_LIMITS; i <= HOCKET__SANDBOX_BWRAP; i++)
        if (strcmp(hocket__sandbox_name((enum hocket__sandbox) i), name) == 0)
            return i;
    return -1;
}

/* ---- Writing ---------------------------------------------------------------------- */

static void put(struct hocket__buf *b, const char *name, const char *value)
{
    hocket__buf_add(b, name, strlen(name) + 1);
    hocket__buf_add(b, value, strlen(value) + 1);
}

static void put_int(struct hocket__buf *b, const char *name, int64_t value)
{
    hocket__buf_add(b, name, strlen(name) + 1);
    hocket__buf_addf(b, "%" PRId64, value);
    hocket__buf_addc(b, 0);
}

static void put_list(struct hocket__buf *b, const char *name, const char *const *list)
{
    for (; list && *list; list++)
        put(b, name, *list);
}

int hocket__launch_write(const struct hocket__launch *l, struct hocket__buf *out)
{
    put(out, "launch", FORMAT);
    put_list(out, "argv", l->argv);
    put_list(out, "env", l->env);
    put(out, "cwd", l->cwd);
    put_list(out, "read", l->readable);
    put_list(out, "write", l->writable);
    put_list(out, "guard", l->guarded);
    put(out, "protect", l->protect ? l->protect : "");
    put(out, "sandbox", hocket__sandbox_name(l->sandbox));
    put_int(out, "network", l->network);
    put_int(out, "proxied", l->proxied);
    put_int(out, "sockets", l->sockets);
    put_int(out, "cpu", l->limits.cpu_s);
    put_int(out, "memory", l->limits.memory);
    put_int(out, "file", l->limits.file_bytes);
    put_int(out, "written", l->limits.written);
    put_int(out, "files", l->limits.open_files);
    put_int(out, "processes", l->limits.processes);
    put_int(out, "grace", l->limits.grace_ms);
    return out->status;
}

int hocket__launch_result_write(const struct hocket__launch_result *r, struct hocket__buf *out)
{
    put(out, "result", FORMAT);
    put_int(out, "started", r->started);
    put_int(out, "unguarded", r->unguarded);
    put_int(out, "status", r->status);
    put_int(out, "code", r->code);
    put_int(out, "signal", r->signal);
    put(out, "limit", r->limit);
    put_int(out, "overlooked", r->overlooked);
    put_int(out, "refused", r->refused);
    put(out, "names", r->refused_names);
    put_int(out, "left", r->left_behind);
    put_int(out, "cpu", r->cpu_ms);
    put_int(out, "rss", r->max_rss);
    put(out, "message", r->message);
    return out->status;
}

/* ---- Reading ---------------------------------------------------------------------- */

struct pair {
    const char *name, *value;
};

/* The next pair, or false at the end; a text that does not end with a NUL has no last pair. */
static bool next_pair(struct hocket__str *rest, struct pair *out)
{
    const char *texts[2];
    for (int i = 0; i < 2; i++) {
        const char *end = rest->n > 0 ? memchr(rest->p, 0, rest->n) : NULL;
        /* a text that does not end with a NUL has been cut: its last pair could be anything */
        if (!end)
            return false;
        texts[i] = rest->p;
        rest->n -= (size_t) (end + 1 - rest->p);
        rest->p = end + 1;
    }
    *out = (struct pair){ texts[0], texts[1] };
    return true;
}

static bool is_pair(const struct pair *p, const char *name, const char *value)
{
    return strcmp(p->name, name) == 0 && strcmp(p->value, value) == 0;
}

static const char *const *list_of(struct hocket__str text, const char *name)
{
    struct hocket__str rest = text;
    struct pair p;
    size_t n = 0;
    while (next_pair(&rest, &p))
        n += strcmp(p.name, name) == 0;
    const char **list = calloc(n + 1, sizeof(*list));
    if (!list)
        return NULL;
    rest = text;
    for (n = 0; next_pair(&rest, &p);)
        if (strcmp(p.name, name) == 0)
            list[n++] = p.value;
    return list;
}

/* The first field of a name counts. A missing one gives "", and so 0: no such limit. */
static const char *text_of(struct hocket__str rest, const char *name)
{
    struct pair p;
    while (next_pair(&rest, &p))
        if (strcmp(p.name, name) == 0)
            return p.value;
    return "";
}

static int64_t int_of(struct hocket__str text, const char *name)
{
    return strtoll(text_of(text, name), NULL, 10);
}

static bool is_whole(struct hocket__str text, const char *kind)
{
    struct pair p;
    return text.n > 0 && text.p[text.n - 1] == 0 && next_pair(&text, &p)
           && is_pair(&p, kind, FORMAT);
}

int hocket__launch_read(struct hocket__str text, struct hocket__launch *out)
{
    if (!is_whole(text, "launch"))
        return HOCKET_EPARSE;
    int level = hocket__sandbox_from_name(text_of(text, "sandbox"));
    *out = (struct hocket__launch){
        .argv = list_of(text, "argv"),
        .env = list_of(text, "env"),
        .cwd = text_of(text, "cwd"),
        .readable = list_of(text, "read"),
        .writable = list_of(text, "write"),
        .guarded = list_of(text, "guard"),
        .protect = text_of(text, "protect"),
        .sandbox = (enum hocket__sandbox) level,
        .network = int_of(text, "network") != 0,
        .proxied = int_of(text, "proxied") != 0,
        .sockets = int_of(text, "sockets") != 0,
        .limits = { int_of(text, "cpu"), int_of(text, "memory"), int_of(text, "file"),
            int_of(text, "written"), int_of(text, "files"), int_of(text, "processes"),
            int_of(text, "grace") },
    };
    if (!out->argv || !out->env || !out->readable || !out->writable || !out->guarded)
        return HOCKET_ENOMEM;
    return level >= 0 && out->argv[0] && out->cwd[0] ? 0 : HOCKET_EPARSE;
}

static void copy(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

int hocket__launch_result_read(struct hocket__str text, struct hocket__launch_result *out)
{
    *out = (struct hocket__launch_result){ .code = -1 };
    if (!is_whole(text, "result"))
        return HOCKET_EPARSE;
    out->started = int_of(text, "started") != 0;
    out->unguarded = int_of(text, "unguarded") != 0;
    out->status = (int) int_of(text, "status");
    out->code = (int) int_of(text, "code");
    out->signal = (int) int_of(text, "signal");
    out->overlooked = int_of(text, "overlooked") != 0;
    out->refused = int_of(text, "refused");
    copy(out->refused_names, sizeof(out->refused_names), text_of(text, "names"));
    out->left_behind = int_of(text, "left");
    out->cpu_ms = int_of(text, "cpu");
    out->max_rss = int_of(text, "rss");
    copy(out->limit, sizeof(out->limit), text_of(text, "limit"));
    copy(out->message, sizeof(out->message), text_of(text, "message"));
    return 0;
}
