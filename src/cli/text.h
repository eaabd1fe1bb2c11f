/* Text for terminals: what a model, a file or a server wrote is shown, never obeyed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include <hocket/hocket.h>

#include "cli/buf.h"

/* The bytes of the character at p (n > 0), and its code point; 0 when it is not valid UTF-8. */
size_t cli_utf8_next(const char *p, size_t n, unsigned *code);
bool cli_text_is_utf8(const char *p, size_t n);

/* Appends text with control characters made visible: ESC becomes ^[, bytes that are not UTF-8
 * U+FFFD. With `lines` line ends and tabs stay; otherwise every run of white space becomes one
 * space. */
void cli_text_show(struct cli_buf *out, const char *p, size_t n, bool lines);

/* The same, on one line, as a word of a shell's: in quotes where it is not one by itself. */
void cli_text_word(struct cli_buf *out, const char *p, size_t n);

/* Appends JSON with what a terminal would obey, or turn the direction by, written as \u escapes: controls of eight
 * bits, line separators, direction marks. The same value: they can only stand in texts. */
void cli_text_json(struct cli_buf *out, const char *p, size_t n);

/* Whether what reads our output shows more than ASCII, as the locale and the terminal say. */
bool cli_text_shows_unicode(void);
/* Appends text with the signs of our own words (dashes, quotes, arrows, ellipses) as ASCII. Letters stay as they are. */
void cli_text_ascii(struct cli_buf *out, const char *p, size_t n);

/* A list ends with a NULL. */
bool cli_is_one_of(const char *word, const char *const *list);
bool cli_text_ends(const char *text, const char *tail);

/* Columns that a shown text takes. */
size_t cli_text_width(const char *p, size_t n);

/* Bytes of the longest beginning of p that fits into `columns`; at least one character. */
size_t cli_text_fit(const char *p, size_t n, size_t columns);

/* Appends as much of a shown text as fits into `columns`, with an ellipsis when it was cut. */
void cli_text_cut(struct cli_buf *out, const char *p, size_t n, size_t columns);

/* Bytes of the longest beginning of p that fits into `columns`, broken at a space where there is
 * one; at least one character. */
size_t cli_text_break(const char *p, size_t n, size_t columns);

/* "4.2 s", "2 min 05 s", "1 h 02 min"; "850", "12.3k", "1.2M"; "3 agents", "1 agent". */
void cli_text_seconds(struct cli_buf *out, double seconds);
void cli_text_elapsed(struct cli_buf *out, double seconds); /* without tenths: "4 s" */
void cli_text_count(struct cli_buf *out, long long n);

/* " (1.2k cached)": tokens of the input that the provider had in its cache; nothing for none. */
void cli_text_cached(struct cli_buf *out, long long n);
void cli_text_plural(struct cli_buf *out, long long n, const char *word);
/* A moment (seconds since 1970) by this machine's clock and zone, for strftime(3). False where it has none. */
bool cli_text_moment(time_t t, struct tm *out);

/* ---- Members of a JSON object: of one that has none, or another kind of value, "", 0, false ---------- */

static inline const char *cli_member(const hocket_json *object, const char *name)
{
    return hocket_json_text(hocket_json_get(object, name), "", NULL);
}

static inline long long cli_int(const hocket_json *object, const char *name)
{
    return hocket_json_int(hocket_json_get(object, name), 0);
}

static inline double cli_number(const hocket_json *object, const char *name)
{
    return hocket_json_number(hocket_json_get(object, name), 0);
}

static inline bool cli_is(const hocket_json *object, const char *name)
{
    return hocket_json_bool(hocket_json_get(object, name), false);
}
