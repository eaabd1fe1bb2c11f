/* The rows below the log: who is at work, and the totals. Made anew for each frame as text,
 * with no state but what progress knows; the screen draws them.
 *
 * A frame is as wide as the terminal is now, and has as many rows as it may: agents past that are
 * counted in one row. */
#include "cli/view/frame.h"

#include <string.h>

#include "cli/text.h"

/* Rows do not grow with the terminal beyond this: the eye has to find the end of a row. */
#define MAX_WIDTH  88
#define BAR_WIDTH  24
#define MAX_AGENTS 14

/* A row under construction: text and the columns that it has taken. */
struct row {
    struct cli_rows *rows;
    size_t width, room;
    bool unicode;
};

static struct row begin(const struct cli_screen *s, struct cli_rows *rows)
{
    size_t room = s->columns > 1 ? s->columns - 1 : 1;
    if (rows->count > 0)
        cli_buf_adds(&rows->text, "\n");
    return (struct row){ rows, 0, room < MAX_WIDTH ? room : MAX_WIDTH, s->unicode };
}

static void end(struct row *r)
{
    r->rows->width[r->rows->count++] = r->width;
}

/* As cli_text_cut, with the mark of a cut in ASCII. */
static void cut_plain(struct cli_buf *out, const char *text, size_t n, size_t columns)
{
    static const char mark[] = "...";
    size_t dots = columns < sizeof(mark) - 1 ? columns : sizeof(mark) - 1;
    if (cli_text_width(text, n) <= columns) {
        cli_buf_add(out, text, n);
        return;
    }
    if (columns > dots)
        cli_buf_add(out, text, cli_text_fit(text, n, columns - dots));
    cli_buf_add(out, mark, dots);
}

static void add(struct row *r, const char *text, size_t most)
{
    size_t left = r->room - r->width, n = strlen(text), before = r->rows->text.n;
    (r->unicode ? cli_text_cut : cut_plain)(&r->rows->text, text, n, most < left ? most : left);
    r->width += cli_text_width(r->rows->text.p + before, r->rows->text.n - before);
}

static void pad(struct row *r, size_t to)
{
    while (r->width < to && r->width < r->room) {
        cli_buf_adds(&r->rows->text, " ");
        r->width++;
    }
}

static void escape(struct row *r, const char *sequence)
{
    cli_buf_adds(&r->rows->text, sequence);
}

/* ---- Agents ------------------------------------------------------------ */

static const char *spinner(const struct cli_screen *s)
{
    static const char *const fine[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
    static const char *const plain[] = { "-", "\\", "|", "/" };
    return s->unicode ? fine[s->frame % 10] : plain[s->frame % 4];
}

static void add_agent(const struct cli_screen *s, const struct cli_progress *p,
    const struct cli_voice *voice, const struct cli_agent *agent, double now, struct cli_rows *rows)
{
    struct cli_buf doing = { 0 }, shown = { 0 }, took = { 0 }, name = { 0 };
    struct row r = begin(s, rows);
    if (voice->speaks && strcmp(agent->op, voice->op) == 0)
        cli_buf_adds(&doing, "writing");
    else
        cli_progress_activity(p, agent, &doing);
    cli_text_show(&shown, cli_buf_text(&doing), doing.n, false);
    cli_text_show(&name, agent->name, strlen(agent->name), false);
    cli_text_elapsed(&took, now - agent->since);
    escape(&r, s->color ? "\033[36m" : "");
    add(&r, spinner(s), 1);
    escape(&r, cli_screen_plain(s));
    pad(&r, 2);
    add(&r, cli_buf_text(&name), s->name_width);
    pad(&r, s->name_width + 4);
    size_t tail = cli_text_width(took.p, took.n) + 2;
    add(&r, cli_buf_text(&shown), r.room > r.width + tail ? r.room - r.width - tail : 0);
    pad(&r, r.room - tail + 2);
    escape(&r, cli_screen_tone(s, CLI_DIM));
    add(&r, took.p, r.room);
    escape(&r, cli_screen_plain(s));
    end(&r);
    cli_buf_free(&name);
    cli_buf_free(&doing);
    cli_buf_free(&shown);
    cli_buf_free(&took);
}

static void add_more(const struct cli_screen *s, size_t more, struct cli_rows *rows)
{
    struct cli_buf text = { 0 };
    struct row r = begin(s, rows);
    cli_buf_addf(&text, "  and %zu more", more);
    escape(&r, cli_screen_tone(s, CLI_DIM));
    add(&r, text.p, r.room);
    escape(&r, cli_screen_plain(s));
    end(&r);
    cli_buf_free(&text);
}

/* ---- The answer as it comes ------------------------------------------------ */

/* Bytes at the end of a text that are laid out. */
#define LAID_OUT ((size_t) 1 << 16)
#define INDENT   2

struct piece {
    const char *p;
    size_t n;
};

/* The last `most` rows of a shown text, in a ring that begins at *first. */
static size_t last_rows(
    const struct cli_buf *shown, size_t room, size_t most, struct piece *ring, size_t *first)
{
    size_t count = 0;
    const char *p = cli_buf_text(shown), *end = p + shown->n;
    while (p < end) {
        const char *line_end = memchr(p, '\n', (size_t) (end - p));
        size_t left = (size_t) ((line_end ? line_end : end) - p);
        do {
            size_t taken = cli_text_break(p, left, room);
            ring[count++ % most] = (struct piece){ p, taken };
            p += taken;
            left -= taken;
            for (; left > 0 && *p == ' '; left--) /* where it is broken */
                p++;
        } while (left > 0);
        p += line_end != NULL;
    }
    *first = count > most ? count % most : 0;
    return count < most ? count : most;
}

static void add_speech(
    const struct cli_screen *s, const struct cli_buf *text, size_t most, struct cli_rows *rows)
{
    struct piece ring[CLI_MAX_ROWS];
    struct cli_buf shown = { 0 };
    size_t n = text->n, from = n > LAID_OUT ? n - LAID_OUT : 0, first,
           room = (s->columns - 1 < MAX_WIDTH ? s->columns - 1 : MAX_WIDTH) - INDENT;
    while (n > from && (text->p[n - 1] == '\n' || text->p[n - 1] == ' '))
        n--;
    cli_text_show(&shown, cli_buf_text(text) + from, n - from, true);
    size_t count = last_rows(&shown, room, most, ring, &first);
    for (size_t i = 0; i < count; i++) {
        struct row r = begin(s, rows);
        struct piece one = ring[(first + i) % most];
        pad(&r, INDENT);
        cli_buf_add(&rows->text, one.p, one.n);
        r.width += cli_text_width(one.p, one.n);
        end(&r);
    }
    cli_buf_free(&shown);
}

/* ---- The last row ------------------------------------------------------ */

static void add_bar(const struct cli_screen *s, const struct cli_progress *p, struct row *r)
{
    size_t size = r->room > 60 ? BAR_WIDTH : r->room / 4;
    size_t full = p->done_tasks * size / p->n_tasks;
    escape(r, s->color ? "\033[36m" : "");
    for (size_t i = 0; i < size; i++) {
        if (i == full) {
            escape(r, cli_screen_plain(s));
            escape(r, cli_screen_tone(s, CLI_DIM));
        }
        add(r, s->unicode ? (i < full ? "━" : "─") : (i < full ? "#" : "."), 1);
    }
    escape(r, cli_screen_plain(s));
    add(r, "  ", 2);
}

static void add_totals(const struct cli_screen *s, const struct cli_progress *p,
    const struct cli_speech *speech, double seconds, struct cli_rows *rows)
{
    struct cli_buf text = { 0 };
    struct row r = begin(s, rows);
    const char *dot = s->unicode ? " · " : ", ";
    add(&r, "  ", 2);
    if (p->n_tasks > 0) {
        add_bar(s, p, &r);
        cli_buf_addf(&text, "%zu/%zu tasks", p->done_tasks, p->n_tasks);
        if (p->undone_tasks > 0)
            cli_buf_addf(&text, ", %zu failed", p->undone_tasks);
        cli_buf_adds(&text, dot);
    }
    if (p->calls > 0) {
        cli_text_count(&text, p->input);
        cli_buf_adds(&text, " tokens in, ");
        cli_text_count(&text, p->output);
        cli_buf_addf(&text, " out%s", dot);
    }
    cli_text_elapsed(&text, seconds);
    cli_speech_pace(speech, dot, &text);
    escape(&r, cli_screen_tone(s, CLI_DIM));
    add(&r, text.p, r.room);
    escape(&r, cli_screen_plain(s));
    end(&r);
    cli_buf_free(&text);
}

void cli_view_compose(const struct cli_screen *s, const struct cli_progress *p,
    const struct cli_speech *speech, double now, double began, struct cli_rows *out)
{
    size_t most = s->lines > 6 ? s->lines / 2 : 2;
    most = most < MAX_AGENTS ? most : MAX_AGENTS;
    size_t shown = p->n_agents <= most ? p->n_agents : most - 1;
    size_t taken = shown + 3; /* a row for the others, the totals, and where the cursor is */
    size_t left = s->lines > taken ? s->lines - taken : 0, rows = CLI_MAX_ROWS - taken;
    *out = (struct cli_rows){ 0 };
    if (s->lines >= 4 && left > 0 && s->columns > 8)
        add_speech(s, &speech->voice.text, left < rows ? left : rows, out);
    if (s->lines < 4) /* no room for more than the totals */
        return add_totals(s, p, speech, now - began, out);
    for (size_t i = 0; i < shown; i++)
        add_agent(s, p, &speech->voice, &p->agents[i], now, out);
    if (shown < p->n_agents)
        add_more(s, p->n_agents - shown, out);
    add_totals(s, p, speech, now - began, out);
}
