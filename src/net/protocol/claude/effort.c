/* How a request asks Claude to think, whoever offers it. The beginning of a model's name says what it accepts;
 * what it does not accept is written in another way instead of sent and refused. */
#include "net/protocol/claude/claude.h"

#define MIN_BUDGET 1024

/* Claude 3 and the models called 4.0, 4.1 and 4.5. Their names end with the version or continue with a
 * date: claude-3-7-sonnet-…, claude-sonnet-4-20250514, claude-opus-4-1, claude-haiku-4-5-… */
bool hocket__claude_only_budgets(const char *model)
{
    static const char *const old[] = { "claude-3", "-4-0", "-4-1", "-4-2", "-4-5", "-4@2" };
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        if (strstr(model, old[i]))
            return true;
    return false;
}

bool hocket__claude_forced(const struct hocket__llm_request *q)
{
    const char *c = q->tool_choice;
    return c && strcmp(c, "auto") != 0 && strcmp(c, "none") != 0;
}

int64_t hocket__claude_budget(const struct hocket__llm_request *q)
{
    static const struct {
        const char *word;
        int64_t tokens;
    } map[] = { { "minimal", MIN_BUDGET }, { "low", 4096 }, { "medium", 16384 } };
    int64_t tokens = hocket__proto_reasoning_tokens(q);
    for (size_t i = 0; tokens < 0 && i < sizeof(map) / sizeof(map[0]); i++)
        if (strcmp(q->reasoning, map[i].word) == 0)
            tokens = map[i].tokens;
    return tokens < 0 ? 32768 : tokens < MIN_BUDGET ? MIN_BUDGET : tokens;
}

int64_t hocket__claude_max_tokens(const struct hocket__llm_request *q, int64_t n)
{
    int64_t budget = hocket__claude_budget(q);
    return n > budget ? n : n > INT64_MAX - budget ? INT64_MAX : n + budget;
}

const char *hocket__claude_effort(const struct hocket__llm_request *q)
{
    const char *word = hocket__proto_reasoning_word(q);
    return strcmp(word, "minimal") == 0 ? "low" : word;
}
