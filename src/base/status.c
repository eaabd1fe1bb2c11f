/* Status codes, their words and texts, and how an error is filled. The table comes from the one
 * list in the public header, so that a code cannot be without a word. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    int status;
    const char *word, *text;
} table[] = {
#define ROW(name, value, word, text) { HOCKET_##name, word, text },
    HOCKET_STATUS_MAP(ROW)
#undef ROW
};

#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

/* The codes are -1, -2, … without gaps, so a code is an index. */
static size_t row_of(int status)
{
    int64_t i = -(int64_t) status - 1;
    return i >= 0 && i < (int64_t) TABLE_SIZE ? (size_t) i : TABLE_SIZE;
}

const char *hocket_status_word(int status)
{
    size_t i = row_of(status);
    return status >= 0 ? "ok" : i < TABLE_SIZE ? table[i].word : "unknown";
}

const char *hocket_status_text(int status)
{
    size_t i = row_of(status);
    return status >= 0 ? "no error" : i < TABLE_SIZE ? table[i].text : "unknown error";
}

int hocket__status_from_word(const char *word)
{
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (strcmp(table[i].word, word) == 0)
            return table[i].status;
    return HOCKET_EINVAL;
}

/* By the code alone; whoever knows more (an answer's status, a provider's advice) sets it
 * afterwards. */
static bool is_retryable(int status)
{
    return status == HOCKET_ECONNECT || status == HOCKET_ETIMEOUT || status == HOCKET_ETRUNCATED;
}

/* By way of a copy, because the old message may be among the arguments. */
__attribute__((format(printf, 2, 0))) static void format(
    struct hocket_error *err, const char *fmt, va_list ap)
{
    char text[sizeof(err->message)];
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    size_t len = n < 0 ? 0 : (size_t) n;
    if (len >= sizeof(text))
        len = hocket__utf8_cut(text, sizeof(text) - 1);
    memcpy(err->message, text, len);
    err->message[len] = 0;
}

int hocket__error(struct hocket_error *err, int status, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        format(err, fmt, ap);
        va_end(ap);
        err->status = status;
        err->http_status = 0;
        err->retry_after_ms = -1;
        err->retryable = is_retryable(status);
    }
    return status;
}

int hocket__error_because(
    struct hocket_error *err, const struct hocket_error *cause, const char *fmt, ...)
{
    struct hocket_error context, is = *cause;
    va_list ap;
    va_start(ap, fmt);
    format(&context, fmt, ap);
    va_end(ap);
    hocket__error(&context, is.status, "%s: %s", context.message, is.message);
    memcpy(is.message, context.message, sizeof(is.message));
    if (err)
        *err = is;
    return is.status;
}

int hocket__error_nomem(struct hocket_error *err)
{
    return hocket__error(err, HOCKET_ENOMEM, "out of memory");
}
