#include "cli/view/voice.h"

#include <stdio.h>
#include <string.h>

#include "cli/progress.h"

bool cli_voice_is_muted(const struct cli_voice *v, const char *op)
{
    char word[32];
    snprintf(word, sizeof(word), " %s ", op);
    return *op && strstr(cli_buf_text(&v->muted), word) != NULL;
}

/* Who was sent by another speaks to that one; who was handed the work, to whom that other one spoke. */
void cli_voice_agent_started(struct cli_voice *v, const hocket_json *event)
{
    static const char *const speak[] = { "handoff", "route", "direct" };
    const char *trigger = cli_member(event, "trigger");
    for (size_t i = 0; i < sizeof(speak) / sizeof(speak[0]); i++)
        if (strcmp(trigger, speak[i]) == 0 && !cli_voice_is_muted(v, cli_member(event, "caller")))
            return;
    cli_buf_addf(&v->muted, " %s ", cli_member(event, "op"));
    v->sent++;
}

void cli_voice_agent_finished(struct cli_voice *v, const hocket_json *event)
{
    v->sent -= cli_voice_is_muted(v, cli_member(event, "op"));
}

void cli_voice_forget(struct cli_voice *v)
{
    cli_buf_reset(&v->text);
    v->op[0] = 0;
    v->speaks = false;
}

void cli_voice_rest(struct cli_voice *v)
{
    if (v->sent == 0)
        cli_buf_reset(&v->muted);
}

bool cli_voice_model_request(struct cli_voice *v, const hocket_json *event)
{
    if (strcmp(cli_member(event, "op"), v->op) != 0)
        return false;
    cli_voice_forget(v);
    return true;
}

bool cli_voice_model_reply(struct cli_voice *v, const hocket_json *event)
{
    bool own = strcmp(cli_member(event, "op"), v->op) == 0;
    v->speaks = v->speaks && !own;
    return own;
}

enum cli_heard cli_voice_model_delta(struct cli_voice *v, const hocket_json *event)
{
    size_t n = 0;
    const char *op = cli_member(event, "op"),
               *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    bool is_text = strcmp(cli_member(event, "kind"), "text") == 0, same = strcmp(op, v->op) == 0;
    if (!is_text || n == 0 || cli_voice_is_muted(v, op) || (v->op[0] && !same && v->speaks))
        return CLI_HEARD_NOTHING;
    if (!same) {
        cli_voice_forget(v);
        snprintf(v->op, sizeof(v->op), "%s", op);
    }
    v->speaks = true;
    cli_buf_add(&v->text, text, n);
    return same ? CLI_HEARD_MORE : CLI_HEARD_NEW;
}

void cli_voice_free(struct cli_voice *v)
{
    cli_buf_free(&v->text);
    cli_buf_free(&v->muted);
    *v = (struct cli_voice){ 0 };
}
