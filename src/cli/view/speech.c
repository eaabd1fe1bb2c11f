#include "cli/view/speech.h"

#include <stdio.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/text.h"

#define BYTES_A_TOKEN 4.0  /* until the reply says how many there were */
#define SHORTEST      0.05 /* seconds in which a pace can be seen */

static void on_request(struct cli_speech *s, const hocket_json *event, double now)
{
    const char *op = cli_member(event, "op");
    cli_voice_model_request(&s->voice, event);
    if (s->voice.speaks || cli_voice_is_muted(&s->voice, op))
        return;
    snprintf(s->asked_op, sizeof(s->asked_op), "%s", op);
    s->asked = now;
    s->first = s->wait = s->rate = 0;
    s->bytes = 0;
}

static bool is_asked(const struct cli_speech *s, const hocket_json *event)
{
    return s->asked > 0 && strcmp(cli_member(event, "op"), s->asked_op) == 0;
}

static void set_rate(struct cli_speech *s, double tokens, double seconds)
{
    if (tokens > 0 && seconds >= SHORTEST)
        s->rate = tokens / seconds;
}

static void on_delta(struct cli_speech *s, const hocket_json *event, double now)
{
    size_t n = 0;
    hocket_json_text(hocket_json_get(event, "text"), "", &n);
    cli_voice_model_delta(&s->voice, event);
    if (!is_asked(s, event) || n == 0)
        return;
    if (s->first == 0) {
        s->first = now;
        s->wait = now - s->asked;
    }
    s->bytes += n;
    set_rate(s, (double) s->bytes / BYTES_A_TOKEN, now - s->first);
}

static void on_reply(struct cli_speech *s, const hocket_json *event, double now)
{
    cli_voice_model_reply(&s->voice, event);
    if (!is_asked(s, event) || s->first == 0)
        return;
    set_rate(s, hocket_json_number(hocket_json_get(hocket_json_get(event, "usage"), "output"), 0),
        now - s->first);
    s->asked = 0;
}

static void on_said(struct cli_speech *s, const hocket_json *event)
{
    if (strcmp(cli_member(event, "op"), s->voice.op) == 0)
        cli_voice_forget(&s->voice);
}

void cli_speech_take(struct cli_speech *s, const char *type, const hocket_json *event, double now)
{
    if (strcmp(type, "model_delta") == 0)
        on_delta(s, event, now);
    else if (strcmp(type, "model_request") == 0)
        on_request(s, event, now);
    else if (strcmp(type, "model_reply") == 0)
        on_reply(s, event, now);
    else if (strcmp(type, "agent_started") == 0)
        cli_voice_agent_started(&s->voice, event);
    else if (strcmp(type, "agent_finished") == 0)
        cli_voice_agent_finished(&s->voice, event);
    else if (strcmp(type, "facilitator_message") == 0) /* a line that stays says it */
        on_said(s, event);
}

void cli_speech_pace(const struct cli_speech *s, const char *comma, struct cli_buf *out)
{
    if (s->wait > 0) {
        cli_buf_addf(out, "%sfirst token after ", comma);
        cli_text_seconds(out, s->wait);
    }
    if (s->rate > 0)
        cli_buf_addf(out, "%s%.*f tokens/s", comma, s->rate < 10 ? 1 : 0, s->rate);
}

void cli_speech_free(struct cli_speech *s)
{
    cli_voice_free(&s->voice);
    *s = (struct cli_speech){ 0 };
}
