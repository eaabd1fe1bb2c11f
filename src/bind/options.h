/* Option tables of Lua: a row says what the field of a table becomes, and where.
 *
 *     static const struct hocket__opt rows[] = {
 *         { HOCKET__OPT_INT("port", struct server, port, 0, 65535) },
 *         { HOCKET__OPT_OWN("headers") },
 *         { 0 },
 *     };
 *     struct server s = { .port = 80 };
 *     hocket__opt_read(L, 1, rows, &s);
 *
 * A field that is absent stays what it was. The compiler checks that a field has the type of its row. */
#pragma once

#include "base/private.h"
#include "base/str.h"

#include <lua.h>

enum hocket__opt_kind {
    HOCKET__OPT_KIND_INT,     /* an integer in a range: any integer type of 4 or 8 bytes */
    HOCKET__OPT_KIND_NUMBER,  /* double */
    HOCKET__OPT_KIND_SECONDS, /* int, in milliseconds: hocket__seconds_to_ms */
    HOCKET__OPT_KIND_BOOL,    /* bool */
    HOCKET__OPT_KIND_NOT,     /* bool, the opposite of what is given */
    HOCKET__OPT_KIND_TEXT,    /* struct hocket__str; its text stays while the table holds it */
    HOCKET__OPT_KIND_WORD,    /* const char *, likewise */
    HOCKET__OPT_KIND_OWN,     /* is known, and read by the caller itself */
};

/* A row of a table; made by the macros below. */
struct hocket__opt {
    const char *name; /* first; NULL ends the table */
    enum hocket__opt_kind kind;
    unsigned size; /* of the field: HOCKET__OPT_KIND_INT */
    size_t at;     /* where the field is */
    lua_Integer low, high;
};

#define HOCKET__OPT_AT(s, field, type)                                                             \
    .at = offsetof(s, field) + 0 * sizeof(&((s *) NULL)->field == (type *) NULL)
#define HOCKET__OPT_INT(word, s, field, from, to)                                                  \
    .name = word, .kind = HOCKET__OPT_KIND_INT, .low = from, .high = to, .at = offsetof(s, field), \
    .size = sizeof(((s *) NULL)->field)                                                            \
            * _Generic(((s *) NULL)->field, int : 1, unsigned : 1, long : 1, unsigned long : 1,    \
                long long : 1, unsigned long long : 1)
#define HOCKET__OPT_NUMBER(word, s, field)                                                         \
    .name = word, .kind = HOCKET__OPT_KIND_NUMBER, HOCKET__OPT_AT(s, field, double)
#define HOCKET__OPT_SECONDS(word, s, field)                                                        \
    .name = word, .kind = HOCKET__OPT_KIND_SECONDS, HOCKET__OPT_AT(s, field, int)
#define HOCKET__OPT_BOOL(word, s, field)                                                           \
    .name = word, .kind = HOCKET__OPT_KIND_BOOL, HOCKET__OPT_AT(s, field, bool)
#define HOCKET__OPT_NOT(word, s, field)                                                            \
    .name = word, .kind = HOCKET__OPT_KIND_NOT, HOCKET__OPT_AT(s, field, bool)
#define HOCKET__OPT_TEXT(word, s, field)                                                           \
    .name = word, .kind = HOCKET__OPT_KIND_TEXT, HOCKET__OPT_AT(s, field, struct hocket__str)
#define HOCKET__OPT_WORD(word, s, field)                                                           \
    .name = word, .kind = HOCKET__OPT_KIND_WORD, HOCKET__OPT_AT(s, field, const char *)
#define HOCKET__OPT_OWN(word) .name = word, .kind = HOCKET__OPT_KIND_OWN

/* Reads the table at idx, which may be nil or none, into *out. Raises "unknown option 'x' (there are: …)" and
 * "bad option 'name' (integer expected, got string)". */
HOCKET__PRIVATE void hocket__opt_read(
    lua_State *L, int idx, const struct hocket__opt rows[], void *out);
/* The same for a table that may have other fields, too. */
void hocket__opt_fields(lua_State *L, int idx, const struct hocket__opt rows[], void *out);

/* Rounded down, but not to 0, which stands for none, as anything below it does; 20 days at most. */
int hocket__seconds_to_ms(double seconds);
