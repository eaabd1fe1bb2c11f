/* Text for the program. Out of memory ends it, so that no caller has to look; the library's
 * own buffer (base/buf.h) never does that. */
#include "cli/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void cli_nomem(void)
{
    fputs("hocket: out of memory\n", stderr);
    exit(1);
}

static void reserve(struct cli_buf *b, size_t more)
{
    if (more > (size_t) -1 / 4 - b->n)
        cli_nomem();
    size_t need = b->n + more + 1, cap = b->cap ? b->cap : 128;
    while (cap < need)
        cap *= 2;
    if (cap == b->cap)
        return;
    char *p = realloc(b->p, cap);
    if (!p)
        cli_nomem();
    b->p = p;
    b->cap = cap;
}

void cli_buf_add(struct cli_buf *b, const char *p, size_t n)
{
    reserve(b, n);
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

void cli_buf_adds(struct cli_buf *b, const char *text)
{
    cli_buf_add(b, text, strlen(text));
}

void cli_buf_addv(struct cli_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        reserve(b, (size_t) n);
        vsnprintf(b->p + b->n, (size_t) n + 1, fmt, again);
        b->n += (size_t) n;
    }
    va_end(again);
}

void cli_buf_addf(struct cli_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_buf_addv(b, fmt, ap);
    va_end(ap);
}

void cli_buf_reset(struct cli_buf *b)
{
    b->n = 0;
    if (b->p)
        b->p[0] = 0;
}

void cli_buf_free(struct cli_buf *b)
{
    free(b->p);
    *b = (struct cli_buf){ 0 };
}

const char *cli_buf_text(const struct cli_buf *b)
{
    return b->p ? b->p : "";
}

static void add_escaped(struct cli_buf *b, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = c ? strchr(plain, c) : NULL;
    if (at)
        cli_buf_addf(b, "\\%c", letters[at - plain]);
    else
        cli_buf_addf(b, "\\u%04x", c);
}

void cli_buf_json(struct cli_buf *b, const char *p, size_t n)
{
    cli_buf_adds(b, "\"");
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char) p[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        cli_buf_add(b, p + from, i - from);
        add_escaped(b, c);
        from = i + 1;
    }
    cli_buf_add(b, p + from, n - from);
    cli_buf_adds(b, "\"");
}

void cli_buf_key(struct cli_buf *b, const char *name)
{
    char last = b->n > 0 ? b->p[b->n - 1] : '{';
    if (last != '{' && last != '[')
        cli_buf_adds(b, ",");
    cli_buf_json(b, name, strlen(name));
    cli_buf_adds(b, ":");
}

void cli_buf_member(struct cli_buf *b, const char *name, const char *text)
{
    if (!text)
        return;
    cli_buf_key(b, name);
    cli_buf_json(b, text, strlen(text));
}
