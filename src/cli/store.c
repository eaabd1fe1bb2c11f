/* Which file the program keeps runs in: an option, a variable, or the place that the XDG rules
 * give. One rule for every command, so that `hocket runs` looks where `hocket run` has written. */
#include "cli/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void add_named(struct cli_buf *out, const char *file)
{
    char here[PATH_MAX];
    if (*file != '/' && *file && strcmp(file, "memory") != 0 && getcwd(here, sizeof(here)))
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
    o->store_days = DAYS;
    o->store_bytes = BYTES;
}

void cli_store_for_runs(struct hocket_options *o, const char *store, const char *durability)
{
    cli_store_options(o, store, durability);
    o->store_optional = !store && !getenv("HOCKET_STORE");
}

bool cli_store_look(struct hocket_options *o, const char *command, const char *store)
{
    cli_store_options(o, store, NULL);
    o->store_days = 0;
    o->store_bytes = 0;
    if (!o->store) {
        fprintf(stderr,
            "hocket %s: no runs are kept: the store is off, or there is no home for it\n", command);
        return false;
    }
    if (*o->store != '/' || access(o->store, F_OK) == 0)
        return true;
    fprintf(stderr, "hocket %s: no runs are kept yet in %s\n", command, o->store);
    return false;
}

void cli_store_hint(struct cli_buf *out, const char *store)
{
    if (!store)
        return;
    cli_buf_adds(out, " --store ");
    cli_text_show(out, store, strlen(store), false);
}
