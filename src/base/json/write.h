/* Writing JSON into a buffer, as compact as it goes. Commas are ours to place; nesting is the
 * caller's. The buffer's sticky status says at the end whether all went in.
 *
 *     hocket__jw_open(b, '{');
 *     hocket__jw_key_int(b, "id", 3);
 *     hocket__jw_key_string(b, "text", s);
 *     hocket__jw_close(b, '}');
 *
 * A comma goes in front of a value or key when the buffer is not empty and the byte
 * before it is none of [ { : , and no white space: so no state is kept, and JSON may
 * follow a "data: " or a line. */
#pragma once

#include "base/buf.h"

void hocket__jw_open(struct hocket__buf *b, char bracket);
void hocket__jw_close(struct hocket__buf *b, char bracket);
void hocket__jw_key(struct hocket__buf *b, const char *name);
void hocket__jw_keystr(struct hocket__buf *b, struct hocket__str name);
/* Escapes " \ and control characters, nothing else; bytes that are not UTF-8
 * become U+FFFD. U+2028 and U+2029 are written as they are. */
void hocket__jw_string(struct hocket__buf *b, struct hocket__str s);
void hocket__jw_cstring(struct hocket__buf *b, const char *s);
void hocket__jw_int(struct hocket__buf *b, int64_t v);
void hocket__jw_double(struct hocket__buf *b, double v); /* NaN and infinities: null */
void hocket__jw_bool(struct hocket__buf *b, bool v);
void hocket__jw_null(struct hocket__buf *b);
/* One value that is JSON already; white space around it is left away. Not checked. */
void hocket__jw_raw(struct hocket__buf *b, struct hocket__str json);
/* The string's inside alone, escaped, without quotes or comma. */
void hocket__jw_escape(struct hocket__buf *b, struct hocket__str s);

/* A key and its value. */
void hocket__jw_key_open(struct hocket__buf *b, const char *name, char bracket);
void hocket__jw_key_string(struct hocket__buf *b, const char *name, struct hocket__str s);
void hocket__jw_key_cstring(struct hocket__buf *b, const char *name, const char *s);
void hocket__jw_key_int(struct hocket__buf *b, const char *name, int64_t v);
void hocket__jw_key_bool(struct hocket__buf *b, const char *name, bool v);
void hocket__jw_key_raw(struct hocket__buf *b, const char *name, struct hocket__str json);
