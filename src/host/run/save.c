/* Saves: writes runs of the store as one text, and continues runs from such a text.
 *
 *     save:  which runs ─> each is read from the store, some at a time ─> one text ─> its callback, from a pump
 *     load:  the text is checked ─> runs of the store, under new ids ─> each is resumed like any other
 *
 * The work on a save is one of the host's runs, without a fiber: its end is reported, and it ends with the host, as theirs.
 * Reads that the store still does for a save outlive it. */
#include "host/run/stored.h"

#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "store/save.h"

/* Runs that are read at once: more would make a turn of the loop longer, fewer the whole. */
enum { WINDOW = 16 };

struct part {
    struct hocket__save *save;
    char id[HOCKET__STORE_ID + 1];
    uint64_t told;
    bool read;
    struct hocket__buf bytes; /* empty: it has ended meanwhile */
};

struct hocket__save {
    struct hocket__list link;
    hocket_host *host;
    struct hocket__run *run; /* that represents it; NULL: nobody waits */
    hocket_save_cb cb;
    void *ud;
    struct hocket__store *store;
    struct hocket__saving saving;
    struct hocket__buf out;
    struct part *parts;
    size_t count, cap, asked, written, open, kept; /* of the parts */
    int status;
    struct hocket_error err;
};

/* ---- Its end ------------------------------------------------------------------------------------ */

static void free_save(struct hocket__save *s)
{
    for (size_t i = 0; i < s->count; i++)
        hocket__buf_deinit(&s->parts[i].bytes);
    hocket__list_del(&s->link);
    hocket__saving_deinit(&s->saving);
    hocket__buf_deinit(&s->out);
    hocket__free(&s->host->alloc, s->parts, s->cap * sizeof(*s->parts));
    hocket__free(&s->host->alloc, s, sizeof(*s));
}

void hocket__save_leave(struct hocket__save *s)
{
    if (!s)
        return;
    s->run = NULL;
    if (s->open == 0)
        free_save(s);
}

static void on_told(hocket_host *h, uint64_t id, const struct hocket_result *result, void *ud)
{
    struct hocket__save *s = ud;
    (void) id;
    if (result->status < 0)
        s->cb(h, NULL, 0, result->error, s->ud);
    else
        s->cb(h, s->out.data, s->out.len, NULL, s->ud);
}

static void report(struct hocket__save *s)
{
    struct hocket__run *r = s->run;
    r->status = s->status;
    r->err = s->err;
    r->ended = true;
    hocket__run_report_soon(r);
}

void hocket__host_cancel_saves(struct hocket_host *h)
{
    for (struct hocket__list *l = h->saves.next; l != &h->saves; l = l->next) {
        struct hocket__save *s = hocket__container_of(l, struct hocket__save, link);
        if (!s->run || s->run->ended)
            continue;
        s->status = hocket__error(&s->err, HOCKET_ECANCELLED, "cancelled: the host is closing");
        report(s);
    }
}

static void fail(struct hocket__save *s, int status, const struct hocket_error *err)
{
    if (s->status < 0)
        return;
    if (err)
        s->err = *err;
    else
        hocket__error(&s->err, status, "%s", hocket_status_text(status));
    s->status = status;
}

static void finish(struct hocket__save *s)
{
    struct hocket_error err;
    if (!s->run) {
        free_save(s);
        return;
    }
    if (s->run->ended)
        return;
    if (s->status == 0 && s->kept == 0)
        fail(s, hocket__error(&err, HOCKET_ESTATE, "what was to be saved has ended"), &err);
    if (s->status == 0)
        hocket__saving_close(&s->saving, &s->out);
    if (s->out.status < 0)
        fail(s, HOCKET_ENOMEM, NULL);
    report(s);
}

/* ---- The work ------------------------------------------------------------------------------------- */

static void go_on(struct hocket__save *s);

/* In their order, up to the first that has not arrived. */
static void write_parts(struct hocket__save *s)
{
    for (; s->written < s->asked && s->parts[s->written].read; s->written++) {
        struct part *p = &s->parts[s->written];
        s->kept += p->bytes.len > 0;
        if (p->bytes.len > 0 && s->status == 0)
            hocket__saving_put(&s->saving, &p->bytes, &s->out);
        hocket__buf_deinit(&p->bytes);
    }
}

static int on_piece(void *ud, struct hocket__str piece)
{
    struct part *p = ud;
    struct hocket__save *s = p->save;
    if (!s->run || s->status < 0)
        return HOCKET_ECANCELLED;
    return hocket__saving_add(&s->saving, &p->bytes, piece, p->told);
}

static void on_read(void *ud, int status, const struct hocket_error *err)
{
    struct part *p = ud;
    struct hocket__save *s = p->save;
    p->read = true;
    s->open--;
    s->host->saved_some = true;
    if (status < 0)
        hocket__buf_reset(&p->bytes);
    if (status < 0 && status != HOCKET_ESTATE)
        fail(s, status, err);
    write_parts(s);
    go_on(s);
}

static void go_on(struct hocket__save *s)
{
    while (s->run && s->status == 0 && s->open < WINDOW && s->asked < s->count) {
        struct part *p = &s->parts[s->asked++];
        struct hocket__store_sink sink = { on_piece, on_read, p, .lean = true };
        int rc = hocket__store_export(s->store, hocket__cstr(p->id), &sink);
        if (rc < 0)
            fail(s, rc, NULL);
        else
            s->open++;
    }
    if (s->open == 0)
        finish(s);
}

/* ---- Saving ---------------------------------------------------------------------------------------- */

static int may_save(hocket_host *h, hocket_save_cb cb, struct hocket_error *err)
{
    if (!h || !cb)
        return hocket__error(err, HOCKET_EINVAL, "to save needs a host and a callback");
    int rc = hocket__host_may_enter(h, err);
    return rc < 0 ? rc : hocket__host_is_usable(h, err);
}

/* 1: it can be saved; 0: it has nothing to save. */
static int is_kept(const struct hocket__run *r, struct hocket_error *err)
{
    const struct hocket__stored *s = r->stored;
    if (!r->is_run || r->ended || !s || s->phase == HOCKET__RUN_RETELLING
        || hocket__stored_is_off(s) || hocket__stored_is_parked(s))
        return 0;
    return s->claim.id[0] ? 1
                          : hocket__error(err, HOCKET_ESTATE,
                              "a run is still being looked for in the store: save a little later");
}

static int add_part(struct hocket__save *s, const struct hocket__run *r)
{
    const struct hocket_allocator *a = &s->host->alloc;
    if (hocket__grow(a, &s->parts, &s->cap, s->count + 1, sizeof(*s->parts)) < 0)
        return HOCKET_ENOMEM;
    struct part *p = &s->parts[s->count++];
    *p = (struct part){ .save = s, .told = r->reported_before };
    memcpy(p->id, r->stored->claim.id, sizeof(p->id));
    hocket__buf_init(&p->bytes, a, 0);
    return 0;
}

/* Those of the id, or all where it is 0. */
static int choose(struct hocket__save *s, uint64_t id, struct hocket_error *err)
{
    hocket_host *h = s->host;
    bool there = id == 0;
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        const struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (id != 0 && r->id != id)
            continue;
        int rc = is_kept(r, err);
        there |= r->is_run && !r->ended;
        if (rc < 0 || (rc > 0 && add_part(s, r) < 0))
            return rc < 0 ? rc : hocket__error_nomem(err);
    }
    if (!there)
        return hocket__error(
            err, HOCKET_ENOTFOUND, "there is no run %llu", (unsigned long long) id);
    return s->count > 0 ? 0
                        : hocket__error(err, HOCKET_ESTATE,
                            id ? "this run is not kept, and cannot be saved"
                               : "there is no run that is kept, and could be saved");
}

static int begin(struct hocket__save *s, struct hocket_error *err)
{
    struct hocket__run *r = hocket__run_new(s->host, "save", NULL, on_told, s);
    if (!r)
        return hocket__error_nomem(err);
    s->run = r;
    r->save = s;
    hocket__saving_begin(&s->saving, &s->out);
    hocket__run_join(r);
    go_on(s);
    return 0;
}

static int save(hocket_host *h, uint64_t id, hocket_save_cb cb, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    err = err ? err : &unused;
    int rc = may_save(h, cb, err);
    struct hocket__store *store = rc == 0 ? hocket__runtime_store(h->rt, err) : NULL;
    if (!store)
        return rc < 0 ? rc : err->status;
    struct hocket__save *s = hocket__zero(&h->alloc, sizeof(*s));
    if (!s)
        return hocket__error_nomem(err);
    *s = (struct hocket__save){ .host = h, .cb = cb, .ud = ud, .store = store };
    hocket__list_init(&s->link);
    hocket__list_add(&h->saves, &s->link);
    hocket__saving_init(&s->saving, &h->alloc);
    hocket__buf_init(&s->out, &h->alloc, 0);
    rc = choose(s, id, err);
    if (rc == 0)
        rc = begin(s, err);
    if (rc < 0)
        free_save(s);
    return rc;
}

int hocket_run_save(
    hocket_host *h, uint64_t id, hocket_save_cb cb, void *ud, struct hocket_error *err)
{
    if (id == 0)
        return hocket__error(err, HOCKET_ENOTFOUND, "there is no run 0");
    return save(h, id, cb, ud, err);
}

int hocket_save(hocket_host *h, hocket_save_cb cb, void *ud, struct hocket_error *err)
{
    return save(h, 0, cb, ud, err);
}

/* ---- Loading ----------------------------------------------------------------------------------------- */

struct loading {
    hocket_host *host;
    struct hocket__store *store;
    struct hocket__saved saved;
    struct hocket__saved_run *rows;
    struct hocket__run **runs; /* in no list yet */
    const char *options;
    hocket_event_cb on_event;
    hocket_done_cb on_done;
    void *ud;
};

static int name_rows(struct loading *l, struct hocket_error *err)
{
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    for (size_t i = 0; i < l->saved.count; i++) {
        int rc = hocket__own_random(&l->host->rt->own, random, sizeof(random));
        if (rc < 0)
            return hocket__error(err, rc, "the system gives no random numbers");
        hocket__run_id(hocket__wall_ms(), random, l->rows[i].id);
    }
    return 0;
}

static int make_runs(struct loading *l, struct hocket_error *err)
{
    for (size_t i = 0; i < l->saved.count; i++) {
        const struct hocket__saved_run *row = &l->rows[i];
        l->runs[i] = hocket__resume_new(
            l->host, l->store, row->id, l->options, row->told, l->on_event, l->on_done, l->ud);
        int rc = l->runs[i] ? hocket__resume_start(l->runs[i]) : HOCKET_ENOMEM;
        if (rc < 0)
            return hocket__error(err, rc, "the save cannot be loaded: %s", hocket_status_text(rc));
    }
    return 0;
}

/* Everything that can fail comes before the host gets any of it. */
static int put(struct loading *l, struct hocket_error *err)
{
    size_t before;
    int rc = name_rows(l, err);
    if (rc == 0)
        rc = hocket__saved_put(&l->saved, l->store, l->rows, &before, err);
    if (rc < 0)
        return rc;
    rc = make_runs(l, err);
    if (rc < 0)
        hocket__store_rewind(l->store, before);
    for (size_t i = 0; i < l->saved.count; i++) {
        if (rc == 0)
            hocket__run_join(l->runs[i]);
        else if (l->runs[i])
            hocket__run_free(l->runs[i]);
    }
    return rc;
}

static int check_count(const struct loading *l, bool one, struct hocket_error *err)
{
    const hocket_host *h = l->host;
    size_t count = l->saved.count;
    if (one && count != 1)
        return hocket__error(
            err, HOCKET_EINVAL, "this save holds %zu runs: hocket_load takes them", count);
    if (h->max_runs > 0 && count > h->max_runs - h->n_runs)
        return hocket__error(err, HOCKET_ELIMIT,
            "%zu runs of a save would be more than %zu runs at once", count, h->max_runs);
    return 0;
}

/* The number of runs; the first one's id in *first. */
static int load(struct loading *l, struct hocket__str bytes, bool one, uint64_t *first,
    struct hocket_error *err)
{
    hocket_host *h = l->host;
    int rc = hocket__saved_open(&l->saved, bytes, &h->alloc, err);
    if (rc < 0)
        return rc;
    size_t n = l->saved.count;
    rc = check_count(l, one, err);
    if (rc == 0) {
        l->rows = hocket__zero(&h->alloc, n * sizeof(*l->rows));
        l->runs = hocket__zero(&h->alloc, n * sizeof(*l->runs));
        *first = h->next_id + 1;
        rc = l->rows && l->runs ? put(l, err) : hocket__error_nomem(err);
    }
    hocket__free(&h->alloc, l->rows, l->rows ? n * sizeof(*l->rows) : 0);
    hocket__free(&h->alloc, l->runs, l->runs ? n * sizeof(*l->runs) : 0);
    hocket__saved_close(&l->saved);
    return rc < 0 ? rc : (int) n;
}

static int check_load(struct loading *l, const void *bytes, struct hocket_error *err)
{
    hocket_host *h = l->host;
    if (!h || !bytes)
        return hocket__error(err, HOCKET_EINVAL, "to load needs a host and a save");
    int rc = hocket__run_may_start(h, err);
    if (rc == 0 && l->options)
        rc = hocket__run_check_options(hocket__cstr(l->options), err);
    if (rc < 0)
        return rc;
    l->store = hocket__runtime_store(h->rt, err);
    return !l->store ? err->status : lua_checkstack(h->L, 4) ? 0 : hocket__error_nomem(err);
}

static int load_any(struct loading l, const void *bytes, size_t n, bool one, uint64_t *first,
    struct hocket_error *err)
{
    struct hocket_error unused;
    uint64_t id = 0;
    err = err ? err : &unused;
    int rc = check_load(&l, bytes, err);
    if (rc == 0)
        rc = load(&l, hocket__str(bytes, n), one, &id, err);
    if (first)
        *first = rc < 0 ? 0 : id;
    return rc;
}

int hocket_run_load(hocket_host *h, const void *bytes, size_t n, const char *options, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct loading l = {
        .host = h, .options = options, .on_event = on_event, .on_done = on_done, .ud = ud
    };
    int rc = load_any(l, bytes, n, true, id, err);
    return rc < 0 ? rc : 0;
}

int hocket_load(hocket_host *h, const void *bytes, size_t n, const char *options, uint64_t *first,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct loading l = {
        .host = h, .options = options, .on_event = on_event, .on_done = on_done, .ud = ud
    };
    return load_any(l, bytes, n, false, first, err);
}
