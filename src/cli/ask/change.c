/* Shows what a call would do to a file before somebody allows it: the path, how many lines come and
 * go, and the diff, long ones folded until they are asked for. The diff was made by the tool from
 * the file as it is now. */
#include "cli/ask/change.h"

#include <string.h>

#include "cli/progress.h"
#include "cli/text.h"

/* Rows of the terminal that the question itself takes, and lines that are shown of a diff at least. */
#define AROUND 10
#define LEAST  12
/* Columns of one line, while it is folded. */
#define LINE_BRIEF 400

static int64_t number(const hocket_json *change, const char *name)
{
    return hocket_json_int(hocket_json_get(change, name), 0);
}

/* ---- The title ------------------------------------------------------------ */

static void add_counts(struct cli_buf *out, const hocket_json *change)
{
    int64_t added = number(change, "added"), removed = number(change, "removed");
    if (added > 0)
        cli_buf_addf(out, "%s +%lld", ",", (long long) added);
    if (removed > 0)
        cli_buf_addf(out, "%s -%lld", added > 0 ? "" : ",", (long long) removed);
    if (added + removed == 0 && cli_change_has_diff(change))
        cli_buf_adds(out, strcmp(cli_member(change, "kind"), "create") == 0
                              ? ", an empty one"
                              : ", and nothing in it would change");
}

void cli_change_title(struct cli_buf *out, const hocket_json *event)
{
    const hocket_json *change = hocket_json_get(event, "change");
    const char *kind = cli_member(change, "kind");
    cli_buf_addf(out, "%s: %s wants to ", cli_member(change, "path"), cli_member(event, "agent"));
    if (strcmp(kind, "create") == 0)
        cli_buf_adds(out, "make this new file");
    else if (strcmp(kind, "move") == 0)
        cli_buf_addf(out, "move %s here", cli_member(change, "from"));
    else
        cli_buf_adds(out, "change it");
    cli_buf_addf(out, " with %s", cli_member(event, "tool"));
    add_counts(out, change);
}

/* ---- The diff ---------------------------------------------------------------- */

bool cli_change_has_diff(const hocket_json *change)
{
    return hocket_json_get(change, "diff") != NULL;
}

static enum cli_tone tone_of(char sign)
{
    return sign == '+'                   ? CLI_GOOD
           : sign == '-'                 ? CLI_BAD
           : sign == '@' || sign == '\\' ? CLI_DIM
                                         : CLI_PLAIN;
}

/* A tab is to be told from blanks. */
static void add_shown(const struct cli_screen *s, struct cli_buf *out, const char *line, size_t n)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, line, n, true);
    for (const char *p = cli_buf_text(&shown); *p; p++)
        if (*p == '\t')
            cli_buf_adds(out, s->unicode ? "→   " : ">   ");
        else
            cli_buf_add(out, p, 1);
    cli_buf_free(&shown);
}

/* A line in as many rows as it takes, no blank left out; no row begins where the program's own begin. */
static void add_rows(
    const struct cli_screen *s, struct cli_buf *out, const char *text, size_t n, char sign)
{
    enum cli_tone tone = tone_of(sign);
    size_t at = 2;
    do {
        size_t room = s->columns > at + 8 ? s->columns - at - 1 : 8;
        size_t taken = cli_text_fit(text, n, room);
        cli_buf_addf(out, "%*s%s", (int) at, "", cli_screen_tone(s, tone));
        cli_buf_add(out, text, taken);
        cli_buf_addf(out, "%s\n", tone == CLI_PLAIN ? "" : cli_screen_plain(s));
        text += taken;
        n -= taken;
        at = 4;
    } while (n > 0);
}

/* Whether all of the line is to be seen. */
static bool add_line(
    const struct cli_screen *s, struct cli_buf *out, const char *line, size_t n, bool whole)
{
    struct cli_buf shown = { 0 }, brief = { 0 };
    add_shown(s, &shown, line, n);
    bool all = whole || cli_text_width(cli_buf_text(&shown), shown.n) <= LINE_BRIEF;
    cli_text_cut(&brief, cli_buf_text(&shown), shown.n, all ? shown.n + 1 : LINE_BRIEF);
    add_rows(s, out, cli_buf_text(&brief), brief.n, n > 0 ? *line : ' ');
    cli_buf_free(&brief);
    cli_buf_free(&shown);
    return all;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

/* As many lines of the diff as there is room for; whether all of it is to be seen. */
static bool add_diff(const struct cli_screen *s, struct cli_buf *out, const char *text, bool whole)
{
    size_t lines = count_lines(text), room = s->lines > AROUND + LEAST ? s->lines - AROUND : LEAST;
    size_t shown = whole || lines <= room ? lines : room - 1;
    bool all = shown == lines;
    for (size_t i = 0; i < shown; i++) {
        size_t n = strcspn(text, "\n");
        all &= add_line(s, out, text, n, whole);
        text += n + 1;
    }
    if (shown < lines)
        cli_buf_addf(out, "  %s[%zu more lines: d shows them]%s\n", cli_screen_tone(s, CLI_DIM),
            lines - shown, cli_screen_plain(s));
    return all;
}

static void say_note(struct cli_screen *s, const char *before, const char *text)
{
    struct cli_buf b = { 0 };
    if (!*text)
        return;
    cli_buf_addf(&b, "  %s%s", before, text);
    cli_screen_say(s, CLI_WARN, b.p);
    cli_buf_free(&b);
}

bool cli_change_say(struct cli_screen *s, const hocket_json *change, bool whole)
{
    struct cli_buf out = { 0 };
    bool all = strcmp(cli_member(change, "kind"), "move") == 0;
    say_note(s, "", cli_member(change, "note"));
    say_note(s, "the call would fail, and change nothing: ", cli_member(change, "refused"));
    if (cli_change_has_diff(change))
        all = add_diff(s, &out, cli_member(change, "diff"), whole);
    if (whole && number(change, "left_out") > 0)
        cli_buf_addf(&out, "  [%lld more lines: they are in the call]\n",
            (long long) number(change, "left_out"));
    if (out.n > 0)
        cli_screen_put(s, &out);
    cli_buf_free(&out);
    return all && !hocket_json_bool(hocket_json_get(change, "cut"), false)
           && !*cli_member(change, "refused");
}
