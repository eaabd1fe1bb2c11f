/* Turns files into one C source, hocket__pack_NAME (src/bind/assets.h): rows sorted by name, and
 * packed (src/base/unpack.h). A program of the build, not of the product.
 *
 *   hocket_embed NAME LIST OUT [BYTECODE]      LIST: lines "name|path" or "*name|path"
 *   hocket_embed --lua SCRIPT [ARGUMENT…]      runs a script of the build: not every builder has a Lua of its own
 *
 * Of Lua the comments and the indentation are left out; lines keep their numbers. The build checks that what is left
 * compiles to the same bytecode.
 *
 * A script whose name has a star before it is compiled as well: its bytecode goes to the C source BYTECODE,
 * hocket__pack_bytecode, as "hocket/flow.luac". It is for the release of Lua that made it, which is said beside.
 *
 * The dictionary that all files are packed against is made of the largest scripts: what is in it
 * costs next to nothing as a file of its own. It is packed itself. Bytecode is not packed, so that a start
 * does not unpack it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "embed.h"

#define MAX_FILES  1024
#define DICTIONARY 163840
#define ROUNDS     4 /* then what is chosen changes no more */

static struct file files[MAX_FILES];
static size_t n_files;
static struct file dictionary;

struct set {
    struct file *files[MAX_FILES + 1];
    size_t n;
    struct codes codes;
};

/* Of the Lua that this program has: its release. NULL where it does not say. */
extern const char lua_ident[] __attribute__((weak));

void die(const char *what)
{
    perror(what);
    exit(1);
}

void *must(void *p)
{
    if (!p)
        die("embed");
    return p;
}

/* ---- Reading ---- */

static void read_whole(struct file *f)
{
    FILE *in = fopen(f->path, "rb");
    if (!in || fseek(in, 0, SEEK_END) < 0)
        die(f->path);
    f->n = (size_t) ftell(in);
    rewind(in);
    f->data = must(calloc(1, f->n + 1));
    if (fread(f->data, 1, f->n, in) != f->n)
        die(f->path);
    fclose(in);
}

static bool ends(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && strcmp(s + n - m, tail) == 0;
}

/* ---- Comments ---- */

/* How long the bracket is that begins a long string here: 2 for `[[`; 0: none does. */
static size_t long_bracket(const char *p)
{
    size_t n = *p == '[' ? 1 + strspn(p + 1, "=") : 0;
    return n && p[n] == '[' ? n + 1 : 0;
}

/* Behind the bracket that ends it. */
static const char *end_of_long(const char *p, size_t bracket)
{
    for (p += bracket; *p; p++)
        if (*p == ']' && strspn(p + 1, "=") == bracket - 2 && p[bracket - 1] == ']')
            return p + bracket;
    return p;
}

static const char *end_of_quoted(const char *p)
{
    char quote = *p++;
    while (*p && *p != quote)
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

/* A string or comment that is kept as it is; p: none begins here. */
static const char *end_of_whole(const char *p)
{
    bool is_comment = p[0] == '-' && p[1] == '-';
    size_t bracket = long_bracket(is_comment ? p + 2 : p);
    if (bracket)
        return end_of_long(is_comment ? p + 2 : p, bracket);
    return *p == '"' || *p == '\'' ? end_of_quoted(p) : p;
}

/* Up to the end of a line of code, without a comment behind it. Strings may hold further lines. */
static const char *copy_line(const char *from, char **to)
{
    char *begin = *to;
    while (*from && *from != '\n') {
        const char *end = end_of_whole(from);
        if (end == from && from[0] == '-' && from[1] == '-') {
            from += strcspn(from, "\n");
            while (*to > begin && ((*to)[-1] == ' ' || (*to)[-1] == '\t'))
                --*to;
            break;
        }
        size_t n = end == from ? 1 : (size_t) (end - from);
        memmove(*to, from, n);
        *to += n;
        from += n;
    }
    if (*from)
        *(*to)++ = *from++;
    return from;
}

static void make_lean(struct file *f)
{
    const char *from = (char *) f->data;
    char *to = (char *) f->data;
    while (*from) {
        from += strspn(from, " \t");
        from = copy_line(from, &to);
    }
    *to = 0;
    f->n = (size_t) (to - (char *) f->data);
}

/* ---- Compiling ---- */

static int add_bytes(lua_State *L, const void *p, size_t n, void *ud)
{
    struct file *f = ud;
    (void) L;
    f->data = must(realloc(f->data, f->n + n + 1));
    memcpy(f->data + f->n, p, n);
    f->n += n;
    return 0;
}

static void load(lua_State *L, const char *chunk, const struct file *f)
{
    if (luaL_loadbufferx(L, (char *) f->data, f->n, chunk, NULL) != LUA_OK) {
        fprintf(stderr, "embed: %s\n", lua_tostring(L, -1));
        exit(1);
    }
}

/* Trimming must change nothing but what a debugger sees: without all of that, both are the same. */
static void check_trimmed(lua_State *L, const char *chunk, const struct file *f)
{
    struct file before = { 0 }, after = { 0 };
    lua_dump(L, add_bytes, &before, 1);
    load(L, chunk, f);
    lua_dump(L, add_bytes, &after, 1);
    if (before.n != after.n || memcmp(before.data, after.data, after.n) != 0) {
        fprintf(stderr, "embed: %s: trimmed bytecode differs\n", chunk);
        exit(1);
    }
    free(before.data);
    free(after.data);
}

/* With the lines that errors and tracebacks say, as if it had been loaded from its text. */
static void compile(const struct file *script, struct file *f)
{
    char chunk[300];
    lua_State *L = must(luaL_newstate());
    snprintf(chunk, sizeof(chunk), "@%s", script->name);
    snprintf(f->name, sizeof(f->name), "%.250sc", script->name);
    load(L, chunk, script);
    lua_dump(L, add_bytes, f, 0);
    trim(f);
    check_trimmed(L, chunk, f);
    lua_close(L);
    f->packed = f->data;
    f->n_packed = f->n;
}

/* What is left compiles to the same, its lines included. */
static void make_checked_lean(struct file *f)
{
    struct file before = { 0 }, after = { 0 };
    lua_State *L = must(luaL_newstate());
    load(L, "=lean", f);
    lua_dump(L, add_bytes, &before, 0);
    make_lean(f);
    load(L, "=lean", f);
    lua_dump(L, add_bytes, &after, 0);
    lua_close(L);
    if (before.n != after.n || memcmp(before.data, after.data, after.n) != 0) {
        fprintf(stderr, "embed: %s: without its comments it is another script\n", f->name);
        exit(1);
    }
    free(before.data);
    free(after.data);
}

/* ---- The list ---- */

static void read_list(const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in)
        die(path);
    char name[256];
    for (struct file *f; n_files < MAX_FILES - 1; n_files++) {
        f = &files[n_files];
        if (fscanf(in, " %255[^|]|%1023[^\n]", name, f->path) != 2)
            break;
        strcpy(f->name, name + (name[0] == '*'));
        read_whole(f);
        if (ends(f->name, ".lua"))
            make_checked_lean(f);
        if (name[0] == '*')
            compile(f, &files[++n_files]);
    }
    if (n_files >= MAX_FILES - 1) {
        fputs("embed: too many files\n", stderr);
        exit(1);
    }
    fclose(in);
}

/* ---- Packing ---- */

static int by_size(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return x->n == y->n ? strcmp(x->name, y->name) : x->n < y->n ? 1 : -1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct file *) a)->name, ((const struct file *) b)->name);
}

static void make_dictionary(void)
{
    dictionary.data = must(malloc(DICTIONARY));
    qsort(files, n_files, sizeof(files[0]), by_size);
    for (size_t i = 0; i < n_files; i++) {
        size_t room = DICTIONARY - dictionary.n, n = files[i].n < room ? files[i].n : room;
        if (!ends(files[i].name, ".lua"))
            continue;
        memcpy(dictionary.data + dictionary.n, files[i].data, n);
        dictionary.n += n;
    }
    qsort(files, n_files, sizeof(files[0]), by_name);
}

static void pack_all(struct set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct file *f = set->files[i];
        bool first = f == &dictionary;
        f->matches = find_matches(dictionary.data, first ? 0 : dictionary.n, f->data, f->n);
    }
    set->codes = codes_new();
    for (int round = 0; round < ROUNDS; round++) {
        struct codes counts = codes_new();
        for (size_t i = 0; i < set->n; i++)
            choose(set->files[i], &set->codes, &counts);
        codes_make(&counts);
        set->codes = counts;
    }
    for (size_t i = 0; i < set->n; i++)
        pack(set->files[i], &set->codes);
}

/* ---- Writing ---- */

static void write_numbers(FILE *out, const uint16_t *p, size_t n)
{
    fputs("{ ", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%u,", p[i]);
    fputs(" },\n", out);
}

static void write_codes(FILE *out, const struct codes *codes)
{
    uint16_t symbols[1 << SYMBOL_BITS], distances[1 << DISTANCE_BITS];
    code_table(&codes->symbols, symbols);
    code_table(&codes->distances, distances);
    fputs("{\n", out);
    write_numbers(out, symbols, 1 << SYMBOL_BITS);
    write_numbers(out, distances, 1 << DISTANCE_BITS);
    fputs("}\n", out);
}

/* One array for all: each of its own would be padded. */
static void write_bytes(FILE *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%u,", p[i]);
    fputs("\n", out);
}

static void write_row(FILE *out, const struct file *f, size_t at)
{
    fprintf(out, "{ \"%s\", %zu, %zu, %zu }", f->name, at, f->n_packed, f->n);
}

/* Behind the dictionary, where there is one. */
static void write_rows(FILE *out, const struct set *set)
{
    size_t at = 0;
    fputs("static const struct hocket__asset files[] = {\n", out);
    for (size_t i = 0; i < set->n; at += set->files[i++]->n_packed) {
        if (set->files[i] == &dictionary)
            continue;
        write_row(out, set->files[i], at);
        fputs(",\n", out);
    }
    fputs("{ NULL, 0, 0, 0 },\n};\n", out);
}

static FILE *begin_source(const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        die(path);
    fputs("/* Made by hocket_embed. */\n#include \"bind/assets.h\"\n\n", out);
    return out;
}

static void write_files(FILE *out, const struct set *set)
{
    fputs("static const unsigned char bytes[] = {\n", out);
    for (size_t i = 0; i < set->n; i++)
        write_bytes(out, set->files[i]->packed, set->files[i]->n_packed);
    fputs("};\n", out);
    write_rows(out, set);
}

static void write_texts(const char *path, const char *name, const struct set *set)
{
    FILE *out = begin_source(path);
    fputs("static const struct hocket__unpack_code code =\n", out);
    write_codes(out, &set->codes);
    fputs(";\n", out);
    write_files(out, set);
    fprintf(out, "const struct hocket__pack hocket__pack_%s = { files, bytes, &code, ", name);
    write_row(out, &dictionary, 0);
    fputs(", \"\" };\n", out);
    if (fclose(out) != 0)
        die(path);
}

static void write_bytecode(const char *path, const struct set *set)
{
    FILE *out = begin_source(path);
    write_files(out, set);
    fputs("const struct hocket__pack hocket__pack_bytecode = { files, bytes, NULL, { NULL, 0, 0, 0 "
          "}, ",
        out);
    fprintf(out, "\"%s\" };\n", lua_ident ? lua_ident : "");
    if (fclose(out) != 0)
        die(path);
}

static void put_into(struct set *set, struct file *f)
{
    set->files[set->n++] = f;
}

static void say_sizes(const struct set *set, const char *what)
{
    size_t before = 0, after = 0;
    for (size_t i = 0; i < set->n; i++) {
        before += set->files[i]->n;
        after += set->files[i]->n_packed;
    }
    printf("%s: %zu bytes in %zu\n", what, before, after);
}

/* The arguments are what the script has in `...`. */
static int run_script(char **argv)
{
    lua_State *L = must(luaL_newstate());
    int n = 0;
    luaL_openlibs(L);
    int status = luaL_loadfile(L, argv[0]);
    while (status == LUA_OK && argv[++n])
        lua_pushstring(L, argv[n]);
    if (status != LUA_OK || lua_pcall(L, n - 1, 0, 0) != LUA_OK) {
        fprintf(stderr, "embed: %s\n", lua_tostring(L, -1));
        return 1;
    }
    lua_close(L);
    return 0;
}

int main(int argc, char **argv)
{
    static struct set text, bytecode;
    if (argc > 2 && strcmp(argv[1], "--lua") == 0)
        return run_script(argv + 2);
    if (argc < 4 || argc > 5) {
        fputs("usage: hocket_embed NAME LIST OUT [BYTECODE] | --lua SCRIPT [ARGUMENT…]\n", stderr);
        return 2;
    }
    read_list(argv[2]);
    make_dictionary();
    put_into(&text, &dictionary);
    for (size_t i = 0; i < n_files; i++)
        put_into(ends(files[i].name, ".luac") ? &bytecode : &text, &files[i]);
    pack_all(&text);
    write_texts(argv[3], argv[1], &text);
    if (argc == 5)
        write_bytecode(argv[4], &bytecode);
    if (getenv("HOCKET_EMBED_SIZES")) {
        say_sizes(&text, "texts and their dictionary");
        say_sizes(&bytecode, "bytecode");
    }
    return 0;
}
