/* Runs that are kept: what an embedder says to them is in their log, and said again from there.
 *
 * What goes to the log are the wish and its words, not what came of them: that follows again from
 * the run's own code. A wish that cannot be logged is not done. */

#include "host/run/run.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "core/log/log.h"
#include "host/run/consent.h"
#include "host/run/stored.h"

/* A text without a NUL, a NUL, a text. */
static void write_words(struct hocket__buf *out, struct hocket__str a, struct hocket__str b)
{
    hocket__buf_addstr(out, a);
    hocket__buf_addc(out, 0);
    hocket__buf_addstr(out, b);
}

int hocket__run_tell_begin(struct hocket__run *r, const char *wish, struct hocket__str a,
    struct hocket__str b, struct hocket_error *err)
{
    struct hocket__buf words;
    if (!r->kept)
        return 0;
    hocket__buf_init(&words, &r->host->alloc, 0);
    write_words(&words, a, b);
    int rc = words.status < 0 ? hocket__error_nomem(err)
                              : hocket__kept_tell_begin(
                                  r->kept, hocket__cstr(wish), hocket__buf_str(&words), err);
    hocket__buf_deinit(&words);
    return rc;
}

void hocket__run_tell_end(struct hocket__run *r)
{
    if (r->kept)
        hocket__kept_tell_end(r->kept);
}

/* It was said once, whatever came of it: that is the same again. */
static void say_again(void *ud, struct hocket__str wish, struct hocket__str value)
{
    struct hocket__run *r = ud;
    struct hocket_error err;
    char word[32] = "";
    const char *end = value.n > 0 ? memchr(value.p, 0, value.n) : NULL;
    if (!end || wish.n >= sizeof(word))
        return;
    memcpy(word, wish.p, wish.n);
    struct hocket__str b = hocket__str(end + 1, value.n - (size_t) (end - value.p) - 1);
    if (hocket__str_is(wish, "stop"))
        hocket__run_wish_stop(r);
    else
        hocket__run_wish(r, word, value.p, b, &err);
}

/* Whoever runs this host says what a run may be allowed here (internal/run/policy.lua). It may not have begun: then it asks
 * itself. */
static void say_operator(struct hocket__run *r)
{
    struct hocket_error err;
    const char *word = hocket__runtime_getenv(r->host->rt, "HOCKET_APPROVE");
    if (!word || !*word)
        return;
    int rc = hocket__run_say(r, "operator", word, HOCKET__STR(""), &err);
    if (rc < 0 && rc != HOCKET_ENOTFOUND)
        hocket__kept_fail(r->kept, &err);
}

static void on_live(void *ud)
{
    struct hocket__run *r = ud;
    if (!hocket__consent_say(r)) /* which has the operator's word */
        say_operator(r);
    hocket__run_mark_due(r);
    if (r->stored)
        hocket__hearing_live(r->stored);
    hocket__journal_wake_others(r->lua_journal); /* it can be spoken to */
}

static bool owes(void *ud)
{
    const struct hocket__run *r = ud;
    return r->journal && hocket__journal_last(r->journal) < r->told_before;
}

bool hocket__run_is_replayed(const struct hocket__run *r)
{
    return r->kept && hocket__kept_is_replay(r->kept);
}

int hocket__run_keep(struct hocket_host *h, uint64_t id, struct hocket__kept *k)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id != id)
            continue;
        if (r->kept)
            return HOCKET_ESTATE;
        r->kept = hocket__kept_ref(k);
        hocket__kept_hooks(k)->tell = say_again;
        hocket__kept_hooks(k)->live = on_live;
        hocket__kept_hooks(k)->owes = owes;
        hocket__kept_hooks(k)->tell_ud = r;
        hocket__journal_keep(r->lua_journal, k);
        return 0;
    }
    return HOCKET_ENOTFOUND;
}

bool hocket__run_log_failed(const struct hocket__run *r)
{
    return r->kept && hocket__log_error(hocket__kept_log(r->kept));
}

static void write_error(struct hocket__buf *out, const struct hocket_error *err)
{
    hocket__jw_open(out, '{');
    hocket__jw_key(out, "code");
    hocket__jw_cstring(out, hocket_status_word(err->status));
    hocket__jw_key(out, "message");
    hocket__jw_cstring(out, err->message);
    hocket__jw_close(out, '}');
}

/* Another value of a member of an object. */
static void amend(struct hocket__buf *json, const char *member, struct hocket__str value)
{
    struct hocket__buf out;
    struct hocket__str was, all = hocket__buf_str(json);
    if (!hocket__json_find(all, member, &was))
        return;
    hocket__buf_init(&out, json->a, 0);
    hocket__buf_add(&out, all.p, (size_t) (was.p - all.p));
    hocket__buf_addstr(&out, value);
    hocket__buf_add(&out, was.p + was.n, (size_t) (all.p + all.n - was.p) - was.n);
    hocket__buf_move(json, &out);
}

void hocket__run_fail_late(struct hocket__run *r, const struct hocket_error *why)
{
    struct hocket__str ok;
    struct hocket__buf error;
    r->err = *why;
    r->status = why->status;
    if (!hocket__json_find(hocket__buf_str(&r->json), "ok", &ok) || !hocket__str_is(ok, "true"))
        return;
    hocket__buf_init(&error, &r->host->alloc, 0);
    write_error(&error, why);
    amend(&r->json, "error", hocket__buf_str(&error));
    amend(&r->json, "ok", HOCKET__STR("false"));
    if (error.status < 0 || r->json.status < 0)
        r->status = hocket__error_nomem(&r->err);
    hocket__buf_deinit(&error);
}

/* Memory was out before it had begun: that is none of its own, and it can be resumed. */
static void note_not_begun(struct hocket__run *r)
{
    struct hocket__log *log = hocket__kept_log(r->kept);
    if (r->status == HOCKET_ENOMEM && hocket__log_last(log) == 0)
        hocket__log_fail(log, &r->err);
}

void hocket__run_kept_ended(struct hocket__run *r)
{
    if (r->kept)
        note_not_begun(r);
    const struct hocket_error *why = r->kept ? hocket__log_error(hocket__kept_log(r->kept)) : NULL;
    if (why)
        hocket__run_fail_late(r, why);
}

void hocket__run_unkeep(struct hocket__run *r)
{
    struct hocket__kept *k = r->kept;
    if (!k)
        return;
    r->kept = NULL;
    r->lua_journal->kept = NULL;
    *hocket__kept_hooks(k) = (struct hocket__kept_hooks){ 0 };
    hocket__kept_leave(k);
    hocket__kept_unref(k);
}
