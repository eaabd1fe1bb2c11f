#include "cli/buf.h"
#include "cli/story/story.h"

static void say_one(const struct cli_how *h, const char *what, const char *words, const char *more,
    cli_how_cb say, void *ud)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "hocket %s %s %s%s%s%s", h->signal ? "signal" : "answer", h->run,
        h->signal ? h->signal : h->id, words, h->where, more);
    say(ud, what, cli_buf_text(&line));
    cli_buf_free(&line);
}

/* Few lines, for people who read them at night; each is a command as it stands, with a comment of the shell. */
void cli_how_to_answer(const struct cli_how *h, cli_how_cb say, void *ud)
{
    bool is_decision = h->leave || h->plan;
    if (h->signal)
        say_one(h, "send:", " [VALUE]", "", say, ud);
    if (is_decision) {
        say_one(h, "allow:", " --allow", h->always ? "  # or --always" : "", say, ud);
        say_one(h, "deny:", " --deny", "", say, ud);
    }
    if (!h->signal && !h->leave)
        say_one(h, h->plan ? "change:" : "answer:", " TEXT", "", say, ud);
}
