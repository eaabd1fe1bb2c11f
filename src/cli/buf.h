/* A growing text, and JSON written into it. The command line ends when memory is out: there is
 * nothing to give back to, so nothing here can fail. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct cli_buf {
    char *p; /* ends with a NUL behind n bytes; NULL while it is empty */
    size_t n, cap;
};

/* Says that memory is out, and exits. */
_Noreturn void cli_nomem(void);

void cli_buf_add(struct cli_buf *b, const char *p, size_t n);
void cli_buf_adds(struct cli_buf *b, const char *text);
void cli_buf_addf(struct cli_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_buf_addv(struct cli_buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
void cli_buf_reset(struct cli_buf *b); /* empty; keeps the memory */
void cli_buf_free(struct cli_buf *b);
const char *cli_buf_text(const struct cli_buf *b); /* never NULL */

/* A JSON string with its quotes. The text has to be UTF-8 (see cli_text_is_utf8). */
void cli_buf_json(struct cli_buf *b, const char *p, size_t n);

/* `"name":` with a comma in front unless it is the first member. */
void cli_buf_key(struct cli_buf *b, const char *name);
/* A member whose value is a text; NULL: it has none. */
void cli_buf_member(struct cli_buf *b, const char *name, const char *text);
