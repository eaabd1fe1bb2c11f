/* `hocket memory`: what agents remember. Notes hold words of models and of strangers: they are shown, never obeyed. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/store.h"
#include "cli/text.h"

struct memory {
    bool json, all;
    const char *folder, *store;
    int64_t limit;
};

static const struct cli_option options[] = {
    { CLI_TEXT('f', "folder", "DIR", struct memory, folder,
        "a memory in a folder of Markdown files, without a NAME") },
    { CLI_COUNT('n', "limit", "N", struct memory, limit, 1, 1000, 0,
        "the most results of a search; default 20") },
    { CLI_FLAG('a', "all", struct memory, all, "for rm: all of its notes") },
    { CLI_FLAG('j', "json", struct memory, json, "print one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct memory, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- What is asked ------------------------------------------------------------------------------ */

/* How many words come behind the memory: of search and edit the last ones are a text. */
static const struct word {
    const char *name, *expected;
    int ids, least;
    bool text;
} words[] = {
    { "list", "no words", 0, 0, false },
    { "search", "words to search for", 0, 1, true },
    { "show", "ids of notes, or none", -1, 0, false },
    { "edit", "the note's id and its new text", 1, 2, true },
    { "rm", "ids of notes, or --all", -1, 0, false },
};

static const struct word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

static void add_ids(struct cli_buf *out, char **list, int count)
{
    cli_buf_key(out, "ids");
    cli_buf_adds(out, "[");
    for (int i = 0; i < count; i++) {
        cli_buf_adds(out, i > 0 ? "," : "");
        cli_buf_json(out, list[i], strlen(list[i]));
    }
    cli_buf_adds(out, "]");
}

static void add_text(struct cli_buf *out, char **list, int count)
{
    struct cli_buf text = { 0 };
    for (int i = 0; i < count; i++)
        cli_buf_addf(&text, "%s%s", i > 0 ? " " : "", list[i]);
    cli_buf_member(out, "text", cli_buf_text(&text));
    cli_buf_free(&text);
}

/* `rest`: the words behind the memory's name. */
static void add_args(const struct memory *m, const struct word *w, const char *name, char **rest,
    int count, struct cli_buf *out)
{
    int ids = w->ids < 0 ? count : w->ids < count ? w->ids : count;
    cli_buf_adds(out, "{");
    cli_buf_member(out, "word", w->name);
    cli_buf_member(out, "name", name);
    cli_buf_member(out, "folder", m->folder);
    add_ids(out, rest, ids);
    if (w->text)
        add_text(out, rest + ids, count - ids);
    if (m->limit)
        cli_buf_addf(out, ",\"limit\":%lld", (long long) m->limit);
    cli_buf_addf(out, ",\"all\":%s}", m->all ? "true" : "false");
}

/* ---- All ------------------------------------------------------------------------------------------- */

static int check(const struct memory *m, const struct word *w, const char *name, int count)
{
    bool is_list = strcmp(w->name, "list") == 0, is_rm = strcmp(w->name, "rm") == 0;
    if (!is_list && !name && !m->folder)
        return cli_usage("memory", "%s: which memory? 'hocket memory list' lists them", w->name);
    if ((is_list && (count > 0 || name || m->folder)) || count < w->least
        || (is_rm && (count == 0) != m->all))
        return cli_usage("memory", "%s: expected %s", w->name, w->expected);
    if (m->all && !is_rm)
        return cli_usage("memory", "--all is for rm");
    return CLI_GO_ON;
}

static int main_memory(const struct cli_command *self, int argc, char **argv)
{
    struct memory m = { 0 };
    struct cli_args args = { .ud = &m };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    const struct word *w = args.count > 0 ? find_word(args.words[0]) : NULL;
    if (!w)
        return cli_usage("memory", "expected list, search, show, edit or rm");
    int skip = args.count > 1 && !m.folder ? 2 : 1, count = args.count - skip;
    const char *name = skip == 2 ? args.words[1] : NULL;
    rc = check(&m, w, name, count);
    if (rc != CLI_GO_ON)
        return rc;
    add_args(&m, w, name, args.words + skip, count, &json);
    return cli_stored_answer(
        "memory", &json, m.folder ? "memory" : m.store, m.folder != NULL, m.json);
}

const struct cli_command cli_memory = {
    .name = "memory",
    .usage = "list | search NAME WORD… | show NAME [NOTE…] | edit NAME NOTE TEXT… | rm NAME NOTE…",
    .summary = "read, change and delete what agents remember",
    .about =
        "NAME is a memory as list shows it, or the name in agents' files (memory: NAME) if only "
        "one\n"
        "memory has it. A note that you edit counts as your own words, without its former labels.",
    .examples = "  hocket memory list\n"
                "  hocket memory search village the player's name\n"
                "  hocket memory show --folder notes --json\n"
                "  hocket memory edit village 3f9a1c20be77 Ann likes tea\n"
                "  hocket memory rm village --all\n",
    .options = options,
    .main = main_memory,
};
