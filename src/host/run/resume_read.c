/* What a run of the store that goes on was made of: its files, what it remembers of its parent, its log. Then it begins. */
#include "host/run/resume_impl.h"

#include "host/run/consent.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "core/log/log.h"

/* ---- It begins --------------------------------------------------------------------------------- */

static void write_args(const struct hocket__resuming *g, struct hocket__buf *b)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "target");
    hocket__jw_string(b, hocket__buf_str(&g->target));
    if (g->has_input) {
        hocket__jw_key(b, "input");
        hocket__jw_string(b, hocket__buf_str(&g->input));
    }
    hocket__jw_key(b, "options");
    hocket__jw_raw(b, hocket__buf_str(&g->own));
    hocket__jw_key(b, "instead");
    hocket__jw_raw(b, hocket__buf_str(&g->options));
    hocket__jw_close(b, '}');
}

/* Relative paths are meant from the folder that the process stands in, which is the embedder's. */
static void check_place(const struct hocket__resuming *g)
{
    char cwd[4096];
    size_t n = sizeof(cwd);
    struct hocket__str was;
    struct hocket__buf is;
    if (g->replay || g->stored->pool.len > 0 /* its files travel with it */
        || !hocket__json_find(hocket__buf_str(&g->own), "cwd", &was) || uv_cwd(cwd, &n) < 0)
        return;
    hocket__buf_init(&is, &g->run->host->alloc, 0);
    hocket__jw_string(&is, hocket__str(cwd, n));
    if (is.status == 0 && !hocket__str_eq(was, hocket__buf_str(&is)))
        hocket__runtime_log(g->run->host->rt, HOCKET_LOG_WARN,
            "run %s was begun in %.*s, and goes on in %s: relative paths are meant from there",
            g->run->name, (int) (was.n < 512 ? was.n : 512), was.p, is.data);
    hocket__buf_deinit(&is);
}

static int begin(struct hocket__resuming *g, struct hocket_error *err)
{
    struct hocket__buf args;
    struct hocket__str park;
    int rc = hocket__consent_decide(g, err);
    if (rc < 0)
        return rc;
    check_place(g);
    hocket__buf_init(&args, &g->run->host->alloc, 0);
    write_args(g, &args);
    rc = args.status < 0 ? hocket__error_nomem(err)
                         : hocket__run_begin(g->run, "run", hocket__buf_str(&args), err);
    hocket__buf_deinit(&args);
    if (rc < 0)
        return rc;
    struct hocket__stored *s = g->stored;
    struct hocket__str fork;
    if (g->forked && hocket__json_find(hocket__buf_str(&g->own), "fork", &fork))
        hocket__buf_addstr(&s->fork, fork);
    if (g->replay)
        return hocket__stored_keep(s, g->kept, err);
    if (s->way == HOCKET__WAY_STARTED)
        s->way = HOCKET__WAY_RESUMED;
    hocket__run_phase_on(&s->phase, HOCKET__RUN_REPLAY);
    if (hocket__json_find(hocket__buf_str(&g->options), "park", &park)
        && hocket__str_is(park, "true"))
        s->parks = HOCKET__PARKS;
    if (s->pool.len
        > 0) { /* no worker takes it meanwhile; other rows stay as they are until then */
        s->state = HOCKET__STORE_STATE_COUNT;
        hocket__stored_set_state(s, HOCKET__STORE_RUNNING);
    }
    return hocket__stored_keep(s, g->kept, err);
}

static void on_entries(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        status = begin(g, &g->wrong);
    if (status < 0 && g->wrong.status < 0)
        err = &g->wrong;
    if (status < 0)
        hocket__resuming_fail(g, status, err);
    else
        hocket__resume_free(g);
}

static struct hocket__log_entry entry_of(const struct hocket__store_entry *e)
{
    return (struct hocket__log_entry){ .n = e->n,
        .tick = e->tick,
        .at_ms = e->at_ms,
        .kind = e->kind,
        .path = e->path,
        .ord = e->ord,
        .name = e->name,
        .digest = e->digest,
        .value = e->value };
}

static int on_entry(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__log_entry entry = entry_of(&row->entry);
    return hocket__log_feed(hocket__kept_log(g->kept), &entry, &g->wrong);
}

/* ---- What is asked --------------------------------------------------------------------------- */

static int ask_entries(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_entry, on_entries, g };
    return hocket__store_entries(s->store, hocket__resuming_id(g), 1, &reply, &s->call);
}

static void on_memory(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == HOCKET_ENOTFOUND) /* it came from another store, alone */
        hocket__runtime_log(g->run->host->rt, HOCKET_LOG_WARN,
            "the run that %s was forked from is not in this store: what was asked there is asked "
            "again",
            g->run->name);
    if (status == 0 || status == HOCKET_ENOTFOUND)
        status = ask_entries(g);
    if (status < 0)
        hocket__resuming_fail(g, status, err);
}

static int on_remembered(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__log_entry e = entry_of(&row->entry);
    return hocket__kept_remember(g->kept, &e);
}

/* What its parent asked and got, before its own log. */
static int ask_memory(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_remembered, on_memory, g };
    return g->latest ? hocket__store_past(s->store, hocket__resuming_id(g), &reply, &s->call)
                     : ask_entries(g);
}

static void on_records(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        status = ask_memory(g);
    if (status < 0)
        hocket__resuming_fail(g, status, err);
}

static int on_record(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    return hocket__told_add(&g->stored->told, row->record.seq, row->record.json, g->run->name);
}

static int ask_records(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_record, on_records, g };
    return hocket__store_records(s->store, hocket__resuming_id(g), 1, &reply, &s->call);
}

static int on_file(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    return hocket__kept_feed_file(g->kept, row->file.path, row->file.text);
}

/* The farthest first, so that of two of one name the nearest stays; its own are the last. */
static struct hocket__str next_generation(struct hocket__resuming *g)
{
    const char *names = g->generation.data;
    size_t end = g->generations, from = end;
    while (from > 0 && names[from - 1] != ',')
        from--;
    g->generations = from > 0 ? from - 1 : 0;
    return hocket__str(names ? names + from : "", end - from);
}

static int ask_files(struct hocket__resuming *g);

static void on_files(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    bool more = g->generations > 0 || !g->own_read;
    g->stored->call = NULL;
    if (status == 0)
        status = more ? ask_files(g) : g->replay ? ask_records(g) : ask_memory(g);
    if (status < 0)
        hocket__resuming_fail(g, status, err);
}

static int ask_files(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_file, on_files, g };
    struct hocket__str name = next_generation(g);
    g->own_read = name.n == 0 || hocket__str_eq(name, hocket__resuming_id(g));
    return hocket__store_files(
        s->store, g->own_read ? hocket__resuming_id(g) : name, &reply, &s->call);
}

int hocket__resuming_read(struct hocket__resuming *g)
{
    g->kept = g->replay ? hocket__stored_told(g->stored, g->seed)
                        : hocket__stored_kept(g->stored, g->seed);
    if (!g->kept)
        return HOCKET_ENOMEM;
    if (g->replay) /* all that was told, before its checkpoints, too */
        hocket__log_whole(hocket__kept_log(g->kept));
    g->generations = g->generation.len;
    return ask_files(g);
}

void hocket__resume_read(struct hocket__run *r)
{
    int rc = hocket__resuming_read(r->resuming);
    if (rc < 0)
        hocket__resuming_fail(r->resuming, rc, NULL);
}
