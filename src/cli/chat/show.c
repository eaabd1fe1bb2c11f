/* Shows the events of a chat: text as it streams, the speaker, tools at work, answers, errors, and
 * the cost of a turn. The text of agents that other agents have called is not shown: it is for
 * their callers, and only a short row shows them at work. */
#include "cli/chat/chat_impl.h"

#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/out.h"
#include "cli/text.h"

/* An answer on a terminal while it streams: complete lines are formatted, the rest is shown as it
 * came, until it is complete and replaced.
 *
 * Lines that are complete are written once and never touched; the tail is erased and written again.
 * A tail that no longer fits the screen stays as it came: lines that have scrolled away cannot be erased. */

/* The tail is on the screen without its last line end, so that the cursor is in the middle of a
 * line until something else is written. */
static bool is_below(const struct cli_chat *c)
{
    return c->stream.shown > 0 && c->screen.mid_line;
}

static void forget_tail(struct cli_chat *c)
{
    c->stream.shown = c->stream.row = c->stream.column = 0;
}

/* What has scrolled away stays as it came. */
static void erase_tail(struct cli_chat *c)
{
    struct cli_buf b = { 0 };
    size_t most = c->screen.lines > 1 ? c->screen.lines - 1 : 0,
           up = c->stream.row < most ? c->stream.row : most;
    if (is_below(c)) {
        cli_buf_adds(&b, "\r");
        if (up > 0)
            cli_buf_addf(&b, "\033[%zuA", up);
        cli_buf_adds(&b, "\033[J");
        cli_out_styled(b.p, b.n);
        cli_buf_free(&b);
        c->screen.mid_line = false;
    }
    forget_tail(c);
}

/* As a terminal does, which breaks a line when the next character has no room in it. */
static void advance(struct cli_chat *c, const char *p, size_t n)
{
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        unsigned code;
        len = cli_utf8_next(p + i, n - i, &code);
        size_t width = cli_text_width(p + i, len ? len : 1);
        if (p[i] == '\t')
            width = 8 - c->stream.column % 8;
        if (p[i] == '\n' || c->stream.column + width > c->screen.columns) {
            c->stream.row++;
            c->stream.column = 0;
        }
        c->stream.column += p[i] == '\n' ? 0 : width;
    }
}

static void add(struct cli_chat *c, struct cli_buf *out, const char *p, size_t n)
{
    advance(c, p, n);
    cli_buf_add(out, p, n);
}

/* A word that has no room in its line begins the next one. */
static void add_words(struct cli_chat *c, struct cli_buf *out, const char *p, size_t n)
{
    size_t columns = c->screen.columns;
    for (size_t i = 0, end; i < n;) {
        for (end = i; end < n && p[end] != ' ' && p[end] != '\n';)
            end++;
        size_t width = cli_text_width(p + i, end - i);
        if (width <= columns && c->stream.column > 0 && c->stream.column + width > columns)
            add(c, out, "\n", 1);
        add(c, out, p + i, end - i);
        for (i = end; i < n && (p[i] == ' ' || p[i] == '\n'); i++)
            if (p[i] == '\n' || c->stream.column < columns)
                add(c, out, p + i, 1);
    }
}

/* How much of the tail can be shown: whole words, so that none is cut at the end of a line. A word wider than the
 * screen is cut anyway. */
static size_t whole_words(const struct cli_chat *c)
{
    const struct cli_buf *tail = &c->stream.markdown.tail;
    size_t end = tail->n, shown = c->stream.shown;
    while (end > shown && tail->p[end - 1] == '\n')
        end--;
    size_t whole = end;
    while (whole > shown && tail->p[whole - 1] != ' ' && tail->p[whole - 1] != '\n')
        whole--;
    return end - whole < c->screen.columns ? whole : end;
}

static void show_tail(struct cli_chat *c)
{
    const struct cli_buf *tail = &c->stream.markdown.tail;
    struct cli_buf text = { 0 }, shown = { 0 };
    size_t end = whole_words(c);
    if (end <= c->stream.shown)
        return;
    cli_text_show(&text, tail->p + c->stream.shown, end - c->stream.shown, true);
    add_words(c, &shown, cli_buf_text(&text), text.n);
    cli_out_styled(shown.p, shown.n);
    cli_buf_free(&text);
    cli_buf_free(&shown);
    c->stream.shown = end;
    c->screen.mid_line = true;
}

static void write_lines(struct cli_chat *c, struct cli_buf *lines)
{
    if (lines->n > 0)
        erase_tail(c);
    cli_out_styled(lines->p, lines->n);
    cli_buf_free(lines);
}

/* Takes text; it is over. Only for a terminal that obeys escapes. */
static void stream_add(struct cli_chat *c, const char *p, size_t n)
{
    struct cli_markdown *m = &c->stream.markdown;
    struct cli_buf lines = { 0 };
    cli_screen_measure(&c->screen);
    m->columns = c->screen.columns;
    m->color = c->screen.color;
    m->unicode = c->screen.unicode;
    if (c->stream.shown > 0 && !c->screen.mid_line)
        forget_tail(c); /* something else was written below it: it is written again */
    cli_markdown_feed(m, p, n, &lines);
    write_lines(c, &lines);
    show_tail(c);
}

static void stream_end(struct cli_chat *c)
{
    struct cli_buf lines = { 0 };
    if (c->stream.markdown.tail.n == 0) {
        forget_tail(c);
        return;
    }
    cli_markdown_end(&c->stream.markdown, &lines);
    erase_tail(c);
    write_lines(c, &lines);
}

/* Columns of a call's arguments and of its result. */
#define BRIEF 60

/* ---- Text as it comes ---------------------------------------------------- */

/* Only where a person looks on: in a pipe an answer comes whole, or not at all. */
static bool streams(const struct cli_chat *c)
{
    return cli_out_is_terminal() && !c->events_on_stdout;
}

static void end_line(struct cli_chat *c)
{
    stream_end(c);
    if (c->screen.mid_line)
        cli_out_text("\n", 1);
    c->screen.mid_line = false;
}

static void on_agent(struct cli_chat *c, const hocket_json *event)
{
    cli_voice_agent_started(&c->voice, event);
}

static void on_agent_end(struct cli_chat *c, const hocket_json *event)
{
    cli_voice_agent_finished(&c->voice, event);
}

static void on_delta(struct cli_chat *c, const hocket_json *event)
{
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    if (!streams(c) || c->again || c->input_id[0] || c->screen.held)
        return;
    enum cli_heard heard = cli_voice_model_delta(&c->voice, event);
    if (heard == CLI_HEARD_NOTHING)
        return;
    if (heard == CLI_HEARD_NEW)
        end_line(c);
    if (!c->screen.mid_line) {
        cli_feed_flush(&c->feed);
        cli_screen_erase(&c->screen);
    }
    if (c->screen.terminal) {
        stream_add(c, text, n);
    } else {
        cli_out_text(text, n);
        c->screen.mid_line = text[n - 1] != '\n';
    }
    c->screen.in_text = true;
}

/* The same agent is called again: its next text is another one. */
static void on_request(struct cli_chat *c, const hocket_json *event)
{
    snprintf(c->model, sizeof(c->model), "%s", cli_member(event, "model"));
    if (!cli_voice_is_muted(&c->voice, cli_member(event, "op")))
        snprintf(c->speaker, sizeof(c->speaker), "%s", cli_member(event, "agent"));
    if (cli_voice_model_request(&c->voice, event))
        end_line(c);
}

/* The end of its text comes before the lines of its calls. */
static void on_reply(struct cli_chat *c, const hocket_json *event)
{
    if (cli_voice_model_reply(&c->voice, event))
        end_line(c);
}

/* Remembers streamed text until the answer comes, which then is not shown a second time. */
static bool was_streamed(const struct cli_chat *c, const char *text, size_t n)
{
    return n > 0 && n == c->voice.text.n && memcmp(text, c->voice.text.p, n) == 0;
}

/* Text that an agent wrote beside its calls was already shown. */
static bool is_heard(struct cli_chat *c, const hocket_json *event)
{
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(event, "content"), "", &n);
    return was_streamed(c, text, n);
}

/* ---- Tools --------------------------------------------------------------- */

static void add_brief(struct cli_buf *out, const hocket_json *event, const char *name)
{
    struct cli_buf shown = { 0 };
    const char *text = cli_member(event, name);
    cli_text_show(&shown, text, strlen(text), false);
    cli_text_cut(out, cli_buf_text(&shown), shown.n, BRIEF);
    cli_buf_free(&shown);
}

static void on_tool(struct cli_chat *c, const hocket_json *event)
{
    struct cli_buf b = { 0 };
    const char *agent = cli_member(event, "agent");
    bool failed = cli_is(event, "error");
    if ((c->args.flags & CLI_QUIET) || c->again)
        return;
    cli_buf_addf(&b, "%s ", c->screen.unicode ? "▸" : ">");
    add_brief(&b, event, "tool");
    cli_buf_adds(&b, " ");
    add_brief(&b, event, "arguments");
    cli_buf_adds(&b, c->screen.unicode ? " → " : " -> ");
    add_brief(&b, event, failed && !*cli_member(event, "result") ? "error" : "result");
    cli_feed_flush(&c->feed);
    cli_screen_line(&c->screen, CLI_DIM, strcmp(agent, c->speaker) ? agent : NULL, b.p);
    cli_buf_free(&b);
}

/* ---- Turns --------------------------------------------------------------- */

static void add_to_transcript(struct cli_chat *c, const char *who, const char *text, size_t n)
{
    cli_buf_addf(&c->transcript, "%s## %s\n\n", c->transcript.n ? "\n" : "", who);
    cli_buf_add(&c->transcript, text, n);
    cli_buf_adds(&c->transcript, "\n");
}

static void on_input(struct cli_chat *c, const hocket_json *event)
{
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    if (strcmp(cli_member(event, "id"), c->input_id) == 0)
        c->input_id[0] = 0; /* somebody else has answered */
    add_to_transcript(c, "You", text, n);
    cli_buf_reset(&c->said);
    cli_buf_add(&c->said, text, n);
}

static void count(struct cli_chat *c, const hocket_json *event)
{
    const hocket_json *usage = hocket_json_get(event, "usage"),
                      *cost = hocket_json_get(usage, "cost");
    c->turns++;
    c->calls += cli_int(usage, "calls");
    c->input += cli_int(usage, "input");
    c->output += cli_int(usage, "output");
    c->seconds += cli_number(event, "seconds");
    c->cost += hocket_json_number(cost, 0);
    c->cost_known = c->cost_known && cost;
}

static void show_answer(struct cli_chat *c, const char *text, size_t n)
{
    if (c->again) {
        cli_buf_reset(&c->answered);
        cli_buf_add(&c->answered, text, n);
    } else {
        end_line(c);
        cli_feed_flush(&c->feed);
        if (!was_streamed(c, text, n) && !c->events_on_stdout) {
            cli_screen_erase(&c->screen);
            cli_answer(&c->screen, text, n);
        }
    }
    if (n > 0)
        add_to_transcript(c, c->speaker[0] ? c->speaker : "Answer", text, n);
}

static int status_of(const char *code)
{
    for (int s = HOCKET_ENOMEM; s > -64; s--)
        if (strcmp(hocket_status_word(s), code) == 0)
            return s;
    return HOCKET_ELUA;
}

static void show_failure(struct cli_chat *c, const hocket_json *error)
{
    struct cli_buf b = { 0 };
    const char *code = cli_member(error, "code");
    bool stopped = strcmp(code, "cancelled") == 0;
    c->status = status_of(code);
    cli_buf_addf(&b, stopped ? "(interrupted)" : "error: %s", cli_member(error, "message"));
    if (!c->again)
        cli_screen_erase(&c->screen); /* for good: nobody is at work any more */
    if (!c->again)
        cli_screen_say(&c->screen, stopped ? CLI_DIM : CLI_BAD, b.p);
    add_to_transcript(c, stopped ? "(interrupted)" : "(error)", b.p, b.n);
    cli_buf_free(&b);
}

static void on_turn(struct cli_chat *c, const hocket_json *event)
{
    size_t n = 0;
    const hocket_json *content = hocket_json_get(event, "content"),
                      *error = hocket_json_get(event, "error");
    const char *text = hocket_json_text(content, "", &n);
    c->status = 0;
    count(c, event);
    if (error)
        show_failure(c, error);
    else
        show_answer(c, text, n);
    if (c->terminal && streams(c) && !c->again)
        cli_out_text("\n", 1);
    cli_voice_forget(&c->voice);
    cli_voice_rest(&c->voice);
    c->screen.in_text = false;
    c->interrupted = false;
}

static void on_prompt(struct cli_chat *c, const hocket_json *event)
{
    snprintf(c->input_id, sizeof(c->input_id), "%s", cli_member(event, "id"));
}

/* ---- Its beginning, and changes -------------------------------------------- */

static void on_started(struct cli_chat *c, const hocket_json *event)
{
    struct cli_buf b = { 0 };
    const hocket_json *agents = hocket_json_get(event, "agents");
    size_t n = hocket_json_count(agents);
    if (!c->terminal || (c->args.flags & CLI_QUIET))
        return;
    cli_buf_addf(&b, "%s", cli_member(event, "target"));
    if (n > 1)
        cli_buf_addf(&b, ", %zu agents", n);
    cli_buf_adds(&b, ". /help lists the commands, Ctrl-D leaves.");
    cli_screen_say(&c->screen, CLI_DIM, b.p);
    cli_buf_free(&b);
}

static void add_names(struct cli_buf *out, const hocket_json *event, const char *list)
{
    const hocket_json *names = hocket_json_get(event, list);
    for (size_t i = 0; i < hocket_json_count(names); i++)
        cli_buf_addf(out, "%s%s", i ? ", " : out->n ? "; " : "", i ? "" : list);
    for (size_t i = 0; i < hocket_json_count(names); i++)
        cli_buf_addf(
            out, "%s%s", i ? ", " : ": ", hocket_json_text(hocket_json_at(names, i), "", NULL));
}

static void has_done(struct cli_chat *c, enum cli_chat_work work)
{
    if (c->working == work)
        c->working = CLI_CHAT_IDLE;
}

static void on_reloaded(struct cli_chat *c, const hocket_json *event)
{
    struct cli_buf b = { 0 };
    add_names(&b, event, "changed");
    add_names(&b, event, "added");
    add_names(&b, event, "removed");
    if (!c->again)
        cli_screen_say(&c->screen, CLI_GOOD, b.n ? b.p : "nothing has changed");
    cli_buf_free(&b);
    has_done(c, CLI_CHAT_RELOADS);
}

static void on_not_reloaded(struct cli_chat *c, const hocket_json *event)
{
    struct cli_buf b = { 0 };
    cli_buf_addf(&b, "not reloaded, all stays as it was: %s", cli_member(event, "message"));
    if (!c->again)
        cli_screen_say(&c->screen, CLI_BAD, b.p);
    cli_buf_free(&b);
    has_done(c, CLI_CHAT_RELOADS);
}

static void on_cleared(struct cli_chat *c, const hocket_json *event)
{
    (void) event;
    if (!c->again)
        cli_screen_say(&c->screen, CLI_GOOD, "what was said so far is forgotten");
    has_done(c, CLI_CHAT_CHANGES);
}

static void on_compacted(struct cli_chat *c, const hocket_json *event)
{
    if (!hocket_json_bool(hocket_json_get(event, "anything"), true) && !c->again)
        cli_screen_say(&c->screen, CLI_GOOD, "nothing was said yet");
    has_done(c, CLI_CHAT_CHANGES);
}

/* Says how the turn ended, in the same words as a run. */
static void on_changed(struct cli_chat *c, const hocket_json *event)
{
    (void) event;
    has_done(c, CLI_CHAT_CHANGES);
}

/* A script's prints appear among the answers. */
static void on_output(struct cli_chat *c, const hocket_json *event)
{
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    if (c->events_on_stdout || c->again)
        return;
    end_line(c);
    cli_feed_flush(&c->feed);
    cli_screen_erase(&c->screen);
    cli_out_text(text, n);
    cli_out_text("\n", 1);
}

/* ---- Events -------------------------------------------------------------- */

struct handler {
    const char *type;
    void (*take)(struct cli_chat *c, const hocket_json *event);
    bool also_told; /* to what shows runs */
    bool past;      /* also used when a resumed conversation reports it again */
};

static const struct handler *handler_of(const char *type)
{
    static const struct handler table[] = {
        { "model_delta", on_delta, false, false },
        { "model_request", on_request, true, true },
        { "model_reply", on_reply, true, false },
        { "agent_started", on_agent, true, true },
        { "agent_finished", on_agent_end, true, true },
        { "tool_call", on_tool, true, false },
        { "conversation_started", on_started, false, true },
        { "input_requested", on_prompt, false, true },
        { "input_received", on_input, false, true },
        { "turn_finished", on_turn, true, true },
        { "agent_reloaded", on_reloaded, false, true },
        { "agent_reload_failed", on_not_reloaded, false, true },
        { "conversation_cleared", on_cleared, false, true },
        { "file_attached", on_changed, true, true },
        { "conversation_compacted", on_compacted, false, true },
        { "warning", on_changed, true, true },
        { "output", on_output, false, false },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].type, type) == 0)
            return &table[i];
    return NULL;
}

static bool is_also_told(const struct handler *h, const char *type)
{
    return h ? h->also_told : strcmp(type, "error") != 0;
}

/* Whether the view of runs gets it as well. */
static bool take(
    struct cli_chat *c, const struct handler *h, const char *type, const hocket_json *event)
{
    if (h)
        h->take(c, event);
    else if (strstr(type, "_message") && is_heard(c, event))
        return false;
    return is_also_told(h, type);
}

/* What ends while somebody types the answer to a question from the background is shown after it. */
void cli_chat_late(struct cli_chat *c)
{
    if (!c->late)
        return;
    on_turn(c, c->late);
    hocket_json_free(c->late);
    c->late = NULL;
}

/* A resumed conversation is shown from its last turn on. */
void cli_chat_left_off(struct cli_chat *c)
{
    struct cli_buf b = { 0 };
    if (c->terminal && !(c->args.flags & CLI_QUIET) && c->answered.n > 0) {
        cli_buf_adds(&b, "you> ");
        cli_text_show(&b, cli_buf_text(&c->said), c->said.n, true);
        cli_screen_say(&c->screen, CLI_DIM, b.p);
        if (!c->events_on_stdout)
            cli_answer(&c->screen, c->answered.p, c->answered.n);
        cli_out_text("\n", streams(c));
    }
    cli_buf_reset(&c->answered);
    cli_buf_free(&b);
}

/* Half of the events of a long resumed conversation need not be read here. */
void cli_chat_event(struct cli_chat *c, const struct hocket_event *e)
{
    const struct handler *h = handler_of(e->type);
    if (e->again && !(h && h->past)) {
        if (is_also_told(h, e->type))
            cli_feed_event(&c->feed, e);
        return;
    }
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    c->again = e->again;
    bool late = event && c->screen.held && strcmp(e->type, "turn_finished") == 0;
    if (event && (late || take(c, h, e->type, event)))
        cli_feed_event(&c->feed, e);
    if (late) {
        c->late = event;
    } else if (strcmp(e->type, "conversation_started") == 0
               || strcmp(e->type, "agent_reloaded") == 0) {
        hocket_json_free(c->started);
        c->started = event;
    } else {
        hocket_json_free(event);
    }
}
