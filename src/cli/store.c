/* Which file, or which database, the program keeps runs in: an option, a variable, or the place that the XDG rules
 * give. One rule for every command, so that `hocket runs` looks where `hocket run` has written. */
#include "cli/store.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/log/log.h"
#include "cli/text.h"

enum { DAYS = 30 };
#define BYTES (UINT64_C(1) << 30)

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* As the standard for such directories has it, a path that is not absolute is as none. A home that does not exist is
 * not made: it is what users without one are given (/nonexistent). */
static void add_default(struct cli_buf *out)
{
    const char *state = set_variable("XDG_STATE_HOME"), *home = set_variable("HOME");
    if (state && *state == '/')
        cli_buf_addf(out, "%s/hocket/runs.db", state);
    else if (home && *home == '/' && access(home, F_OK) == 0)
        cli_buf_addf(out, "%s/.local/state/hocket/runs.db", home);
}

/* ---- Databases ------------------------------------------------------------------------------ */

bool cli_store_is_url(const char *store)
{
    size_t n = strspn(store, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return n > 1 && store[n] == ':' && store[n + 1] == '/';
}

static bool is_shown(const char *parameter, size_t n)
{
    static const char *const keys[] = { "host=", "port=", "user=", "dbname=", "schema=" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (n > strlen(keys[i]) && strncmp(parameter, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static void show_query(struct cli_buf *out, const char *query)
{
    char sign = '?';
    for (size_t n; *query; query += n + (query[n] == '&')) {
        n = strcspn(query, "&");
        if (is_shown(query, n)) {
            cli_buf_addf(out, "%c%.*s", sign, (int) n, query);
            sign = '&';
        }
    }
}

/* As libpq has it a user's part ends at the first @, whatever is in it. What is left with one in it may be a
 * password that was not written as it should be: nothing of it is shown. */
static void show_url(struct cli_buf *out, const char *url)
{
    const char *at = strstr(url, "://"), *query;
    if (!at
        || strncasecmp(url, "postgres", 8)
               != 0) { /* of no kind that is known: anything may be in it */
        cli_buf_addf(out, "%.*s…", (int) strcspn(url, "/"), url);
        return;
    }
    at += 3;
    size_t n = strcspn(at, "@/"), user = at[n] == '@' ? n + 1 : 0, name = strcspn(at, ":@/");
    query = at + user + strcspn(at + user, "?");
    const char *port = at + strcspn(at, ":/?[");
    bool is_odd = !user && *port == ':' && !strchr("0123456789", port[1]);
    if (is_odd || memchr(at + user, '@', (size_t) (query - at) - user)) {
        cli_buf_adds(out, "postgres://***");
        return;
    }
    cli_buf_adds(out, "postgres://");
    if (user && name < user - 1)
        cli_buf_addf(out, "%.*s:***@", (int) name, at);
    else
        cli_buf_addf(out, "%.*s", (int) user, at);
    cli_buf_addf(out, "%.*s", (int) (query - at - (ptrdiff_t) user), at + user);
    show_query(out, *query ? query + 1 : query);
}

void cli_store_show(struct cli_buf *out, const char *store)
{
    if (cli_store_is_url(store))
        show_url(out, store);
    else
        cli_buf_adds(out, store);
}

/* ---- Which ------------------------------------------------------------------------------------ */

static void add_named(struct cli_buf *out, const char *file)
{
    char here[PATH_MAX];
    if (*file != '/' && !cli_store_is_url(file) && *file && strcmp(file, "memory") != 0
        && getcwd(here, sizeof(here)))
        cli_buf_addf(out, "%s/", here);
    cli_buf_adds(out, file);
}

void cli_store_options(struct hocket_options *o, const char *store, const char *durability)
{
    static struct cli_buf path; /* the last one */
    cli_buf_reset(&path);
    if (!store)
        store = set_variable("HOCKET_STORE");
    if (!store)
        add_default(&path);
    else if (strcmp(store, "off") != 0)
        add_named(&path, store);
    /* an option without text is wrong, which the library says; a home that is not there is none */
    o->store = path.n > 0 ? path.p : store && !*store ? "" : NULL;
    o->durability = durability;
    /* a database is shared: what is removed there, and when, is for who looks after it to say */
    bool own = !o->store || !cli_store_is_url(o->store);
    o->store_days = own ? DAYS : 0;
    o->store_bytes = own ? BYTES : 0;
}

void cli_store_for_runs(struct hocket_options *o, const char *store, const char *durability)
{
    cli_store_options(o, store, durability);
    o->store_optional = !store && !set_variable("HOCKET_STORE");
    if (o->store_optional && !o->store)
        cli_log(CLI_LOG_WARNING, NULL, NULL,
            "warning: runs are not kept: there is no home for them: set HOME, or name a file with "
            "--store (off: none)");
}

const char *cli_store_for_others(
    struct hocket_options *o, const char *store, const char *durability)
{
    cli_store_options(o, store, durability);
    if (!o->store)
        return "the store is off, or there is no home for it: --store FILE";
    if (strcmp(o->store, "memory") == 0)
        return "a store in memory ends with this process, and nobody else has it: --store FILE";
    return NULL;
}

bool cli_store_look(struct hocket_options *o, const char *command, const char *store)
{
    cli_store_options(o, store, NULL);
    o->store_days = 0;
    o->store_bytes = 0;
    if (!o->store) {
        fprintf(stderr,
            "hocket %s: no runs are kept: the store is off, or there is no home for it (--store "
            "FILE names one)\n",
            command);
        return false;
    }
    if (*o->store != '/' || access(o->store, F_OK) == 0)
        return true;
    fprintf(stderr, "hocket %s: no runs are kept yet in %s\n", command, o->store);
    return false;
}

static bool is_lost;

void cli_store_lost(void)
{
    is_lost = true;
}

bool cli_store_outlives(const char *store)
{
    const char *named = store ? store : set_variable("HOCKET_STORE");
    return !is_lost && (!named || strcmp(named, "memory") != 0);
}

void cli_store_hint(struct cli_buf *out, const char *store)
{
    if (!store)
        return;
    struct cli_buf shown = { 0 };
    cli_store_show(&shown, store);
    cli_buf_adds(out, " --store ");
    cli_text_word(out, cli_buf_text(&shown), shown.n);
    cli_buf_free(&shown);
}
