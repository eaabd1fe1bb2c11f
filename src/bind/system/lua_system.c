/* hocket.yaml, and hocket.internal.core.system: variables through the host, compiled-in files, clocks,
 * randomness.
 *
 * Clocks and randomness are those of the run whose code runs, where it is kept: a script that asks the time gets
 * the same in a replay. */

#include <stdio.h>

#include "base/bytes.h"
#include "base/num/num.h"
#include "base/hash/hash.h"
#include "base/protected.h"
#include "base/utf8.h"
#include "base/yaml/yaml.h"
#include "bind/fiber/fiber.h"
#include "bind/cassette/cassette.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/assets.h"
#include "bind/runtime.h"
#include "bind/open.h"
#include "bind/util.h"
#include "core/run_id.h"
#include "core/run_state.h"
#include "core/text.h"
#include "os/fs.h"
#include "os/process.h"

/* ---- hocket.yaml ------------------------------------------------------------------ */

static int push_both(lua_State *L, const struct hocket__buf *json, const struct hocket__buf *places,
    bool as_text, bool ordered, struct hocket_error *err)
{
    if ((ordered ? hocket__json_push_ordered : hocket__json_push)(L, hocket__buf_str(json), err)
        < 0)
        return hocket__fail(L, err);
    if (as_text)
        hocket__push_str(L, hocket__buf_str(places));
    else if (hocket__json_push(L, hocket__buf_str(places), err) < 0)
        return hocket__fail(L, err);
    return 2;
}

struct buffers {
    struct hocket__buf json, places;
};

static int buffers_gc(lua_State *L)
{
    struct buffers *b = hocket__gc_userdata(L, buffers_gc);
    if (!b)
        return 0;
    hocket__buf_deinit(&b->json);
    hocket__buf_deinit(&b->places);
    return 0;
}

/* decode(text, first_line?, places_as_json?, ordered?) -> value, places | nil, error (see base/yaml.h) */
static int l_decode(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str text = hocket__check_str(L, 1);
    int line = (int) luaL_optinteger(L, 2, 1);
    bool as_text = lua_toboolean(L, 3), ordered = lua_toboolean(L, 4);
    struct hocket_error err;
    struct buffers *b = lua_newuserdatauv(L, sizeof(*b), 0);
    hocket__buf_init(&b->json, rt->alloc, 0);
    hocket__buf_init(&b->places, rt->alloc, 0);
    if (luaL_newmetatable(L, "hocket.yaml.buffers")) {
        lua_pushcfunction(L, buffers_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    if (hocket__yaml_to_json(text, line, &b->json, &b->places, &err) < 0)
        return hocket__fail(L, &err);
    return push_both(L, &b->json, &b->places, as_text, ordered, &err);
}

static const luaL_Reg yaml_functions[] = { { "decode", l_decode }, { NULL, NULL } };

int hocket__open_yaml(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, yaml_functions);
    return 1;
}

/* ---- hocket.internal.core.system --------------------------------------------------------------- */

/* Windows has no HOME of its own: the folder of the person, with "/" alone. */
static void push_profile(lua_State *L)
{
    const char *home = hocket__runtime_getenv(hocket__runtime(L), "USERPROFILE");
    if (home)
        luaL_gsub(L, home, "\\", "/");
    else
        lua_pushnil(L);
}

/* getenv(name) -> text or nil, as the host wants it seen */
static int l_getenv(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    const char *value = hocket__runtime_getenv(hocket__runtime(L), name);
    if (!value && hocket__fs_has_drives() && strcmp(name, "HOME") == 0)
        push_profile(L);
    else
        lua_pushstring(L, value);
    return 1;
}

/* A list: the shell, what stands before its command line, and that where there is one. */
static void set_shell(
    lua_State *L, const char *field, const struct hocket__programs *p, const char *line)
{
    lua_Integer n = 1;
    lua_newtable(L);
    lua_pushstring(L, p->program);
    lua_rawseti(L, -2, n);
    for (const char *const *word = p->shell; *word; word++) {
        lua_pushstring(L, *word);
        lua_rawseti(L, -2, ++n);
    }
    lua_pushstring(L, line);
    lua_rawseti(L, -2, ++n);
    lua_setfield(L, -2, field);
}

/* programs() -> how they are started here (lua/hocket/internal/tools/programs.lua); nil: as on every POSIX */
static int l_programs(lua_State *L)
{
    struct hocket__programs p;
    if (!hocket__programs_get(&p))
        return 0;
    lua_newtable(L);
    set_shell(L, "shell", &p, NULL);
    set_shell(L, "nothing", &p, p.nothing);
    hocket__set_cstr(L, "path", p.path);
    hocket__set_cstr(L, "first", "");
    hocket__set_cstr(L, "folder", p.folder);
    hocket__set_cstr(L, "between", p.between);
    hocket__set_cstr(L, "suffix", p.suffix);
    hocket__set_cstr(L, "temp", p.temp);
    hocket__set_cstr(L, "top", p.temp);
    hocket__set_cstr(L, "note", p.note);
    return 1;
}

/* secret(name) -> what stands for a key of that name, for a provider, or nil: the host knows none
 */
static int l_secret(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    const char *name = luaL_checkstring(L, 1);
    if (!hocket__runtime_secret(rt, name))
        return 0;
    lua_pushfstring(L, HOCKET__SECRET_MARK "%s", name);
    return 1;
}

#define N_PACKS 4

/* NULL: this process has no such pack. */
static const struct hocket__pack *pack_at(const struct hocket__runtime *rt, size_t i)
{
    const struct hocket__pack *all[N_PACKS] = { &hocket__pack_library, &hocket__pack_bytecode,
        rt->pack, &hocket__pack_topics };
    return all[i];
}

/* asset(name) -> the text of a compiled-in file, or nil */
static int l_asset(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    const char *name = luaL_checkstring(L, 1);
    for (size_t i = 0; i < N_PACKS; i++) {
        const struct hocket__pack *pack = pack_at(rt, i);
        const struct hocket__asset *a = pack ? hocket__asset_find(pack, name) : NULL;
        if (a) {
            hocket__asset_push(L, pack, a);
            return 1;
        }
    }
    return 0;
}

/* assets(prefix) -> names that begin with it */
static int l_assets(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str prefix = hocket__check_str(L, 1);
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t i = 0; i < N_PACKS; i++) {
        const struct hocket__pack *pack = pack_at(rt, i);
        for (const struct hocket__asset *a = pack ? pack->files : NULL; a && a->name; a++)
            if (strncmp(a->name, prefix.p, prefix.n) == 0) {
                lua_pushstring(L, a->name);
                lua_rawseti(L, -2, ++n);
            }
    }
    return 1;
}

/* wall() -> seconds since 1970, UTC */
static int l_wall(lua_State *L)
{
    lua_pushnumber(L, (double) hocket__script_wall_ms(hocket__runtime(L)) / 1000);
    return 1;
}

/* What a word is for, where that matters: the arguments from `first` on, with blanks between. On top of
 * the stack, which keeps it. */
static struct hocket__str push_about(lua_State *L, int first)
{
    int last = lua_gettop(L);
    if (first > last)
        return HOCKET__STR("");
    for (int i = first; i <= last; i++) {
        if (i > first)
            lua_pushliteral(L, " ");
        lua_pushvalue(L, i);
    }
    lua_concat(L, 2 * (last - first) + 1);
    return hocket__check_str(L, -1);
}

/* Of the run that is kept, else from the kernel's generator; where something is recorded or replayed, from the recording and
 * from what the word is for, which the arguments from `first` on say. */
static void fill_random(lua_State *L, int first, unsigned char *out, size_t n)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__cassette *c = hocket__cassette_here(L, rt);
    struct hocket__str about = c || hocket__kept_here(rt) ? push_about(L, first) : HOCKET__STR("");
    if (!c) {
        if (hocket__random_here(rt, about, out, n) < 0)
            luaL_error(L, "the system gives no random numbers");
        return;
    }
    uint64_t state[2] = { hocket__cassette_random(c, about), 0 };
    for (; state[1] < n; state[1]++)
        out[state[1]] =
            (unsigned char) hocket__cassette_random(c, hocket__str((char *) state, sizeof(state)));
}

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* n random characters; what they are for stands on the stack from `first` on. */
static void random_word(lua_State *L, int first, char *out, size_t n)
{
    unsigned char raw[64];
    fill_random(L, first, raw, n);
    for (size_t i = 0; i < n; i++)
        out[i] = alphabet[raw[i] % (sizeof(alphabet) - 1)];
}

/* token(n, about…?) -> n random characters of [a-z0-9]. In a run that is recorded or replayed they are
 * always the same for the same `about`: texts and numbers. */
static int l_token(lua_State *L)
{
    char out[64];
    lua_Integer n = luaL_optinteger(L, 1, 8);
    luaL_argcheck(L, n >= 1 && n <= 64, 1, "1 to 64");
    random_word(L, 2, out, (size_t) n);
    lua_pushlstring(L, out, (size_t) n);
    return 1;
}

/* run_id() -> the id of a run that begins now (core/run_id.h) */
static int l_run_id(lua_State *L)
{
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    char id[HOCKET__RUN_ID_LEN + 1];
    fill_random(L, 1, random, sizeof(random));
    hocket__run_id(hocket__script_wall_ms(hocket__runtime(L)), random, id);
    lua_pushlstring(L, id, HOCKET__RUN_ID_LEN);
    return 1;
}

/* base64(bytes) -> RFC 4648 */
static int l_base64(lua_State *L)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n, out = 0;
    const unsigned char *s = (const unsigned char *) luaL_checklstring(L, 1, &n);
    luaL_Buffer b;
    char *p = luaL_buffinitsize(L, &b, (n + 2) / 3 * 4);
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned) s[i] << 16 | (i + 1 < n ? (unsigned) s[i + 1] << 8 : 0)
                        | (i + 2 < n ? s[i + 2] : 0);
        p[out++] = digits[bits >> 18];
        p[out++] = digits[bits >> 12 & 63];
        p[out++] = i + 1 < n ? digits[bits >> 6 & 63] : '=';
        p[out++] = i + 2 < n ? digits[bits & 63] : '=';
    }
    luaL_pushresultsize(&b, out);
    return 1;
}

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* unbase64(text) -> bytes, or nil: it is none, or not padded */
static int l_unbase64(lua_State *L)
{
    size_t n, out = 0;
    const char *s = luaL_checklstring(L, 1, &n);
    if (n % 4 != 0)
        return 0;
    for (int pads = 0; n > 0 && s[n - 1] == '=' && pads < 2; pads++)
        n--;
    luaL_Buffer b;
    char *p = luaL_buffinitsize(L, &b, n / 4 * 3 + 3);
    unsigned bits = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = digit_of(s[i]);
        if (digit < 0)
            return 0;
        bits = bits << 6 | (unsigned) digit;
        if (i % 4 != 0)
            p[out++] = (char) (bits >> (6 - i % 4 * 2));
    }
    if (n % 4 == 1)
        return 0;
    luaL_pushresultsize(&b, out);
    return 1;
}

/* error(table) -> the same, which reads "code: message" from now on */
static int l_error(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__mark_error(L);
    return 1;
}

/* failure(code, message, …) -> nil, an error; values that follow are put into the message as string.format does */
static int l_failure(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TSTRING);
    int values = lua_gettop(L) - 2;
    if (values > 0) {
        lua_getfield(L, 2, "format");
        lua_insert(L, 2);
        lua_call(L, 1 + values, 1);
    }
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "code");
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "message");
    hocket__mark_error(L);
    return 2;
}

/* below(path, folder) -> the path from the folder on, "" for the folder itself | nil: it lies elsewhere. Texts are compared:
 * the paths are plain ones, and have no links where that counts. */
static int l_below(lua_State *L)
{
    struct hocket__str path = hocket__check_str(L, 1), folder = hocket__check_str(L, 2);
    while (folder.n > 0 && folder.p[folder.n - 1] == '/')
        folder.n--;
    bool lies = path.n >= folder.n && memcmp(path.p, folder.p, folder.n) == 0;
    size_t from = folder.n + (path.n > folder.n);
    if (!lies || (path.n > folder.n && path.p[folder.n] != '/'))
        lua_pushnil(L);
    else
        lua_pushlstring(L, path.p + from, path.n - from);
    return 1;
}

/* numbered(letter, n) -> "o17": what many things of a kind are called */
static int l_numbered(lua_State *L)
{
    char text[1 + HOCKET__NUM_MAX];
    struct hocket__str letter = hocket__check_str(L, 1);
    luaL_argcheck(L, letter.n == 1, 1, "one letter expected");
    text[0] = letter.p[0];
    lua_pushlstring(L, text, 1 + hocket__num_print_int(luaL_checkinteger(L, 2), text + 1));
    return 1;
}

/* ---- Frames ------------------------------------------------------------------------------ */

#define WORD  12  /* characters of a frame's word */
#define LABEL 200 /* bytes of what a frame says of its text */

static bool is_odd(char c)
{
    return (unsigned char) c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '"';
}

/* What the frame says of its text comes from outside as well: one line, without quotes and angles. */
static size_t clean_label(struct hocket__str label, char out[LABEL + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < label.n && n <= LABEL; i++)
        if (!is_odd(label.p[i]))
            out[n++] = label.p[i];
        else if (i == 0 || !is_odd(label.p[i - 1]))
            out[n++] = ' ';
    return hocket__text_cut(hocket__str(out, n), LABEL).n;
}

/* A word that does not occur in the text, which is at 3. */
static void find_word(lua_State *L, struct hocket__str text, char word[WORD])
{
    lua_Integer n = 0;
    do {
        lua_settop(L, 3);
        lua_pushinteger(L, ++n);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 3);
        random_word(L, 4, word, WORD);
    } while (hocket__find(text.p, text.n, word, WORD));
    lua_settop(L, 3);
}

static void put_name(struct hocket__buf *b, struct hocket__str kind, const char word[WORD])
{
    hocket__buf_addstr(b, kind);
    hocket__buf_addc(b, '-');
    hocket__buf_add(b, word, WORD);
}

/* frame(kind, label, text, named?) -> the text between <kind-word of="label"> and </kind-word>; when
 * it is asked for, also "kind-word". The word is random, and does not occur in the text. In a run
 * that is recorded or replayed it is always the same. */
static int l_frame(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1), label = hocket__check_str(L, 2);
    struct hocket__str text = hocket__check_str(L, 3);
    char word[WORD], shown[LABEL + 1];
    struct hocket__buf *b = &hocket__runtime(L)->scratch;
    bool named = lua_toboolean(L, 4);
    find_word(L, text, word);
    struct hocket__str cleaned = hocket__str(shown, clean_label(label, shown));
    hocket__buf_reset(b);
    hocket__buf_reserve(b, text.n + cleaned.n + 2 * (kind.n + WORD) + 16);
    hocket__buf_addc(b, '<');
    put_name(b, kind, word);
    hocket__buf_lit(b, " of=\"");
    hocket__buf_addstr(b, cleaned);
    hocket__buf_lit(b, "\">\n");
    hocket__buf_addstr(b, text);
    hocket__buf_lit(b, "\n</");
    put_name(b, kind, word);
    hocket__buf_addc(b, '>');
    if (b->status < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(b));
    if (named)
        lua_pushlstring(L, b->data + 1, kind.n + 1 + WORD);
    return named ? 2 : 1;
}

/* hash(text) -> 16 hexadecimal digits: the same for the same text, in every process */
static int l_hash(lua_State *L)
{
    static const uint64_t key[2] = { 0, 0 };
    char out[17];
    snprintf(out, sizeof(out), "%016llx",
        (unsigned long long) hocket__siphash(key, hocket__check_str(L, 1)));
    lua_pushstring(L, out);
    return 1;
}

/* is_credential(path) -> whether a part of it is the name of what holds keys */
static int l_is_credential(lua_State *L)
{
    lua_pushboolean(L, hocket__credential_path(hocket__check_str(L, 1)));
    return 1;
}

/* digest(text) -> 64 hexadecimal digits, SHA-256: nobody can make another text with the same */
static int l_digest(lua_State *L)
{
    uint8_t digest[HOCKET__SHA256];
    char out[2 * HOCKET__SHA256 + 1];
    hocket__sha256(hocket__check_str(L, 1), digest);
    for (int i = 0; i < HOCKET__SHA256; i++)
        snprintf(out + (ptrdiff_t) 2 * i, 3, "%02x", digest[i]);
    lua_pushstring(L, out);
    return 1;
}

/* bad_byte(text) -> the first byte, from 1, of what is no UTF-8, or nil */
static int l_bad_byte(lua_State *L)
{
    struct hocket__str text = hocket__check_str(L, 1);
    size_t valid = hocket__utf8_valid(text.p, text.n);
    if (valid == text.n)
        return 0;
    lua_pushinteger(L, (lua_Integer) valid + 1);
    return 1;
}

/* log(level, text): "error", "warn", "info", "debug" */
static int l_log(lua_State *L)
{
    static const char *const levels[] = { "error", "warn", "info", "debug", NULL };
    int level = luaL_checkoption(L, 1, NULL, levels);
    hocket__runtime_log(
        hocket__runtime(L), (enum hocket_log_level) level, "%s", luaL_checkstring(L, 2));
    return 0;
}

/* open() -> {fibers, requests, timers, handles, steps}: what has not ended yet, handles being
 * programs, servers, watches and jobs on files; and how often a fiber has gone on so far. For tests
 * and for `-v`. */
static int l_open(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    lua_Integer handles = 0;
    for (struct hocket__list *l = rt->closers.next; l != &rt->closers; l = l->next)
        handles++;
    lua_createtable(L, 0, 5);
    hocket__set_int(L, "fibers", (lua_Integer) rt->fibers.count);
    hocket__set_int(L, "requests", hocket__runtime_requests(rt));
    hocket__set_int(L, "timers", (lua_Integer) rt->deadlines.len);
    hocket__set_int(L, "handles", handles);
    hocket__set_int(L, "steps", (lua_Integer) rt->steps);
    return 1;
}

/* output(text): what a script has printed goes to the host, where that wants it at once */
static int l_output(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str text = hocket__check_str(L, 1);
    if (rt->output_cb)
        rt->output_cb(text.p, text.n, rt->output_ud);
    return 0;
}

static int l_version(lua_State *L)
{
    lua_pushstring(L, HOCKET_VERSION);
    return 1;
}

/* edition() -> integer: of the built-in prompts and tool sets, that of runs that begin now */
static int l_edition(lua_State *L)
{
    lua_pushinteger(L, HOCKET__EDITION);
    return 1;
}

static const luaL_Reg functions[] = {
    { "getenv", l_getenv },
    { "programs", l_programs },
    { "secret", l_secret },
    { "asset", l_asset },
    { "assets", l_assets },
    { "wall", l_wall },
    { "hash", l_hash },
    { "digest", l_digest },
    { "is_credential", l_is_credential },
    { "bad_byte", l_bad_byte },
    { "frame", l_frame },
    { "error", l_error },
    { "failure", l_failure },
    { "below", l_below },
    { "base64", l_base64 },
    { "unbase64", l_unbase64 },
    { "numbered", l_numbered },
    { "token", l_token },
    { "run_id", l_run_id },
    { "log", l_log },
    { "open", l_open },
    { "output", l_output },
    { "version", l_version },
    { "edition", l_edition },
    { NULL, NULL },
};

int hocket__open_system(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
