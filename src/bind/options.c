/* Each kind of row is read by the function that reads such a field anywhere (bind/util.h), so that their
 * mistakes read alike. */
#include "bind/options.h"

#include <math.h>

#include "bind/util.h"

int hocket__seconds_to_ms(double s)
{
    return !(s > 0) ? 0 : s > 86400 * 20 ? INT32_MAX : s < 0.001 ? 1 : (int) (s * 1000);
}

/* What is absent gives what the field is already. */
static void read_int(lua_State *L, int idx, const struct hocket__opt *o, void *field)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    if (o->size == sizeof(wide)) {
        memcpy(&wide, field, sizeof(wide));
        wide = hocket__opt_int(L, idx, o->name, wide, o->low, o->high);
        memcpy(field, &wide, sizeof(wide));
    } else {
        memcpy(&narrow, field, sizeof(narrow));
        narrow = (int32_t) hocket__opt_int(L, idx, o->name, narrow, o->low, o->high);
        memcpy(field, &narrow, sizeof(narrow));
    }
}

static void read_seconds(lua_State *L, int idx, const struct hocket__opt *o, int *field)
{
    double s = hocket__opt_number(L, idx, o->name, NAN);
    if (!isnan(s))
        *field = hocket__seconds_to_ms(s);
}

static void read_text(lua_State *L, int idx, const struct hocket__opt *o, void *field)
{
    struct hocket__str s = hocket__opt_str(L, idx, o->name);
    if (s.p && o->kind == HOCKET__OPT_KIND_TEXT)
        *(struct hocket__str *) field = s;
    else if (s.p)
        *(const char **) field = s.p;
}

static void read_bool(lua_State *L, int idx, const struct hocket__opt *o, bool *field)
{
    bool opposite = o->kind == HOCKET__OPT_KIND_NOT;
    *field = hocket__opt_bool(L, idx, o->name, *field != opposite) != opposite;
}

static void read_row(lua_State *L, int idx, const struct hocket__opt *o, void *field)
{
    switch (o->kind) {
    case HOCKET__OPT_KIND_INT: read_int(L, idx, o, field); break;
    case HOCKET__OPT_KIND_NUMBER:
        *(double *) field = hocket__opt_number(L, idx, o->name, *(double *) field);
        break;
    case HOCKET__OPT_KIND_SECONDS: read_seconds(L, idx, o, field); break;
    case HOCKET__OPT_KIND_BOOL:
    case HOCKET__OPT_KIND_NOT: read_bool(L, idx, o, field); break;
    case HOCKET__OPT_KIND_TEXT:
    case HOCKET__OPT_KIND_WORD: read_text(L, idx, o, field); break;
    case HOCKET__OPT_KIND_OWN: break;
    }
}

void hocket__opt_fields(lua_State *L, int idx, const struct hocket__opt rows[], void *out)
{
    for (const struct hocket__opt *o = rows; o->name; o++)
        read_row(L, idx, o, (char *) out + o->at);
}

void hocket__opt_read(lua_State *L, int idx, const struct hocket__opt rows[], void *out)
{
    hocket__opt_only_of(L, idx, &rows->name, sizeof(*rows));
    hocket__opt_fields(L, idx, rows, out);
}
