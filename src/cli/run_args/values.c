/* The values of options. They are checked as far as that needs no run, so that mistakes show before anything
 * starts. */
#include "cli/run_args/run_args_impl.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"

static void set_pair(struct cli_pairs *p, const char *name, size_t n, const char *value)
{
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->list[i].name) == n && memcmp(p->list[i].name, name, n) == 0) {
            p->list[i].value = value;
            return;
        }
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 8;
        p->list = realloc(p->list, p->cap * sizeof(*p->list));
        if (!p->list)
            cli_nomem();
    }
    char *copy = strndup(name, n);
    if (!copy)
        cli_nomem();
    p->list[p->count++] = (struct cli_pair){ copy, value };
}

void cli_pairs_free(struct cli_pairs *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].name);
    free(p->list);
}

static bool is_word(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", p[i]))
            return false;
    return n > 0;
}

/* A model's own name may hold '=', a provider's and an agent's may not. */
int cli_read_model(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    size_t slash = strcspn(value, "/"), equals = strcspn(value, "=");
    const char *model = equals < slash ? value + equals + 1 : value;
    size_t provider = strcspn(model, "/");
    if (!is_word(model, model[provider] ? provider : strcspn(model, ".:"))
        || (equals < slash && !is_word(value, equals)) || model[strlen(model) - 1] == '/')
        return cli_wrong_value(
            command, name, value, "provider/model, as in openai/gpt-6.1-terra, or AGENT=P/M");
    if (equals < slash)
        set_pair(&a->models, value, equals, model);
    else
        a->model = value;
    return 0;
}

int cli_read_variable(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    size_t n = strcspn(value, "=");
    if (!value[n] || !is_word(value, n))
        return cli_wrong_value(command, name, value, "KEY=VALUE");
    set_pair(&a->variables, value, n, value + n + 1);
    return 0;
}

int cli_read_save(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    static const char variable[] = "save_as";
    if (!is_word(value, strlen(value)))
        return cli_wrong_value(command, name, value, "a name: letters, digits, _ and -");
    set_pair(&a->variables, variable, sizeof(variable) - 1, value);
    return 0;
}

int cli_read_label(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    size_t n = strcspn(value, "=");
    if (!value[n] || !is_word(value, n) || strlen(value + n + 1) > 256)
        return cli_wrong_value(command, name, value, "KEY=VALUE, as in job=night");
    set_pair(&a->labels, value, n, value + n + 1);
    return 0;
}

static bool is_verdict(const char *word)
{
    return strcmp(word, "allow") == 0 || strcmp(word, "ask") == 0 || strcmp(word, "deny") == 0;
}

/* RULE=VERDICT or VERDICT. The rule itself is checked when the run begins. */
int cli_read_approve(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    const char *equals = strrchr(value, '=');
    if (equals == value || !is_verdict(equals ? equals + 1 : value))
        return cli_wrong_value(command, name, value,
            "allow, ask or deny, or RULE=allow, as in "
            "'execute_command(git *)=allow'");
    set_pair(&a->approve, value, strlen(value), "");
    return 0;
}

int cli_read_mode(void *args, const char *command, const char *name, const char *value)
{
    if (strcmp(value, "plan") != 0 && strcmp(value, "act") != 0)
        return cli_wrong_value(command, name, value, "plan or act");
    ((struct cli_run_args *) args)->mode = value;
    return 0;
}

int cli_read_project(void *args, const char *command, const char *name, const char *value)
{
    if (!cli_is_label(value))
        return cli_wrong_value(command, name, value, CLI_LABEL_EXPECTED);
    ((struct cli_run_args *) args)->project = value;
    return 0;
}

size_t cli_read_amounts(const char *text, double amounts[3])
{
    size_t n = 0;
    for (const char *p = text; n < 3; n++) {
        char one[40];
        size_t len = strcspn(p, ",");
        snprintf(one, sizeof(one), "%.*s", len < sizeof(one) ? (int) len : 0, p);
        if (!cli_parse_seconds(one, &amounts[n]))
            return 0;
        if (!p[len])
            return n + 1;
        p += len + 1;
    }
    return 0;
}

int cli_read_price(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    const char *equals = strrchr(value, '='), *slash = strchr(value, '/');
    double amounts[3];
    bool named = equals && slash && slash > value && slash + 1 < equals;
    if (!named || cli_read_amounts(equals + 1, amounts) < 2)
        return cli_wrong_value(command, name, value,
            "a model and USD per million tokens, in and out, as in "
            "mycloud/large=2,8");
    set_pair(&a->prices, value, (size_t) (equals - value), equals + 1);
    return 0;
}

/* The keys are checked when the run begins. */
int cli_read_context(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    size_t n = strcspn(value, "=");
    if (!value[n] || !value[n + 1] || !is_word(value, n))
        return cli_wrong_value(command, name, value, "KEY=VALUE, as in window=32000");
    set_pair(&a->context, value, n, value + n + 1);
    return 0;
}

/* Two of a name are one. */
int cli_read_file(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    char here[PATH_MAX];
    struct cli_buf path = { 0 };
    if (!*value)
        return cli_wrong_value(command, name, value, "a file's name");
    bool address = strncmp(value, "https://", 8) == 0; /* of a picture: the provider gets it */
    if (!address && value[0] != '/' && getcwd(here, sizeof(here)))
        cli_buf_addf(&path, "%s/", here);
    cli_buf_adds(&path, value);
    int error = !address && access(cli_buf_text(&path), R_OK) < 0 ? errno : 0;
    if (!error)
        set_pair(&a->files, cli_buf_text(&path), path.n, "");
    cli_buf_free(&path);
    return error ? cli_usage(command, "'--%s %s': %s", name, value, strerror(error)) : 0;
}

int cli_read_sandbox(void *args, const char *command, const char *name, const char *value)
{
    struct cli_run_args *a = args;
    static const char *const levels[] = { "best", "required", "bubblewrap", "landlock", "limits" };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(value, levels[i]) == 0)
            return a->sandbox = levels[i], 0;
    return cli_wrong_value(command, name, value,
        "best, required, bubblewrap, landlock or limits (see hocket "
        "doctor)");
}
