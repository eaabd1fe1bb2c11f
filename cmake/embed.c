/* Turns files into one C source, as rows of struct hocket__asset (src/bind/assets.h), sorted by
 * name and packed (src/base/unpack.h). A program of the build, not of the product.
 *
 *   hocket_embed LIST OUT      LIST: lines "name|path" or "*name|path"
 *
 * Of Lua the lines that are comments and the indentation are left out; lines keep their numbers. A
 * file with a long bracket, or with a string that goes on in the next line, stays as it is: only a
 * Lua parser could tell there what is a comment.
 *
 * A script whose name has a star before it is compiled as well: its bytecode stands behind it, as
 * "hocket/flow.luac". It is for the release of Lua that made it, which is said beside.
 *
 * The dictionary that all files are packed against is made of the largest scripts: what is in it
 * costs next to nothing as a file of its own. Of all ways to write a file down the shortest is
 * taken, found from its end. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#define MAX_FILES  1024
#define DICTIONARY 32768
#define MAX_OFFSET 65535
#define MIN_MATCH  4
#define HASH_BITS  15
#define TRIES      512 /* earlier places that are looked at for the longest match */

struct file {
    char name[256], path[1024];
    unsigned char *data, *packed;
    size_t n, n_packed;
};

static struct file files[MAX_FILES];
static size_t n_files, n_dictionary;
static unsigned char dictionary[DICTIONARY];

/* Of the Lua that this program has: its release. NULL where it does not say. */
extern const char lua_ident[] __attribute__((weak));

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *must(void *p)
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

/* Where what is no comment could look like one. */
static bool is_lean_safe(const char *text)
{
    if (strstr(text, "\\\n") || strstr(text, "\\\r"))
        return false;
    for (const char *p = strchr(text, '['); p; p = strchr(p + 1, '['))
        if (p[1 + strspn(p + 1, "=")] == '[')
            return false;
    return true;
}

static void make_lean(struct file *f)
{
    char *from = (char *) f->data, *to = from;
    while (*from) {
        from += strspn(from, " \t");
        size_t n = strcspn(from, "\n");
        if (strncmp(from, "--", 2) == 0)
            from += n;
        n = strcspn(from, "\n");
        n += from[n] == '\n';
        memmove(to, from, n);
        to += n;
        from += n;
    }
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

/* With all that errors and tracebacks say: as if it had been loaded from its text. */
static void compile(const struct file *script, struct file *f)
{
    char chunk[300];
    lua_State *L = must(luaL_newstate());
    snprintf(chunk, sizeof(chunk), "@%s", script->name);
    snprintf(f->name, sizeof(f->name), "%.250sc", script->name);
    if (luaL_loadbufferx(L, (char *) script->data, script->n, chunk, "t") != LUA_OK) {
        fprintf(stderr, "embed: %s\n", lua_tostring(L, -1));
        exit(1);
    }
    lua_dump(L, add_bytes, f, 0);
    lua_close(L);
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
        if (ends(f->name, ".lua") && strlen((char *) f->data) == f->n
            && is_lean_safe((char *) f->data))
            make_lean(f);
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
    qsort(files, n_files, sizeof(files[0]), by_size);
    for (size_t i = 0; i < n_files; i++) {
        size_t room = DICTIONARY - n_dictionary, n = files[i].n < room ? files[i].n : room;
        if (!ends(files[i].name, ".lua"))
            continue;
        memcpy(dictionary + n_dictionary, files[i].data, n);
        n_dictionary += n;
    }
    qsort(files, n_files, sizeof(files[0]), by_name);
}

struct packer {
    const unsigned char *text; /* the dictionary, and behind it the file */
    size_t n;
    int head[1 << HASH_BITS], *before; /* the last place that began alike */
    struct step *steps;
    unsigned char *out;
};

/* The cheapest way on from a place: `match` bytes from `from`, or a literal when it is 0. */
struct step {
    size_t cost; /* in bytes, to the end */
    size_t literals, match, from;
};

static unsigned hash(const unsigned char *p)
{
    unsigned v;
    memcpy(&v, p, sizeof(v));
    return v * 2654435761u >> (32 - HASH_BITS);
}

static void note(struct packer *k, size_t at)
{
    if (at + MIN_MATCH > k->n)
        return;
    unsigned h = hash(k->text + at);
    k->before[at] = k->head[h];
    k->head[h] = (int) at;
}

static size_t longest(const struct packer *k, size_t at, size_t *from)
{
    size_t best = 0;
    int tries = TRIES;
    for (int p = k->before[at]; p >= 0 && tries-- > 0; p = k->before[p]) {
        size_t n = 0;
        if (at - (size_t) p > MAX_OFFSET)
            break;
        while (at + n < k->n && k->text[(size_t) p + n] == k->text[at + n])
            n++;
        if (n > best) {
            best = n;
            *from = (size_t) p;
        }
    }
    return best >= MIN_MATCH ? best : 0;
}

/* Bytes that a length needs beside its four bits in the token. */
static size_t more(size_t n)
{
    return n < 15 ? 0 : (n - 15) / 255 + 1;
}

/* What follows is known: each part of a match is a match too, and may be the better one. */
static void find_step(struct packer *k, size_t at)
{
    struct step *s = &k->steps[at], *next = s + 1;
    size_t from = 0, longest_match = longest(k, at, &from);
    *s = (struct step){ .literals = next->match ? 1 : next->literals + 1 };
    s->cost = next->cost + 1 + more(s->literals) - more(s->literals - 1);
    for (size_t n = MIN_MATCH; n <= longest_match; n++) {
        size_t cost = 3 + more(n - MIN_MATCH) + s[n].cost;
        if (cost < s->cost)
            *s = (struct step){ .cost = cost, .match = n, .from = from };
    }
}

static void put_more(struct packer *k, size_t n)
{
    for (; n >= 255; n -= 255)
        *k->out++ = 255;
    *k->out++ = (unsigned char) n;
}

/* Literals, and then a match unless `match` is 0, which is the end. */
static void put(struct packer *k, size_t from, size_t n, size_t match, size_t offset)
{
    size_t rest = match ? match - MIN_MATCH : 0;
    *k->out++ = (unsigned char) ((n < 15 ? n : 15) << 4 | (rest < 15 ? rest : 15));
    if (n >= 15)
        put_more(k, n - 15);
    memcpy(k->out, k->text + from, n);
    k->out += n;
    if (!match)
        return;
    *k->out++ = (unsigned char) (offset & 255);
    *k->out++ = (unsigned char) (offset >> 8);
    if (rest >= 15)
        put_more(k, rest - 15);
}

static void put_all(struct packer *k, size_t at)
{
    size_t pending = at;
    for (const struct step *s; at < k->n; at += s->match ? s->match : 1) {
        s = &k->steps[at];
        if (!s->match)
            continue;
        put(k, pending, at - pending, s->match, at - s->from);
        pending = at + s->match;
    }
    put(k, pending, at - pending, 0, 0);
}

static void pack(struct file *f)
{
    struct packer *k = must(calloc(1, sizeof(*k)));
    unsigned char *text = must(malloc(n_dictionary + f->n + 1));
    memcpy(text, dictionary, n_dictionary);
    memcpy(text + n_dictionary, f->data, f->n);
    k->text = text;
    k->n = n_dictionary + f->n;
    k->before = must(malloc((k->n + 1) * sizeof(int)));
    memset(k->before, -1, (k->n + 1) * sizeof(int));
    memset(k->head, -1, sizeof(k->head));
    k->steps = must(calloc(k->n + 1, sizeof(*k->steps)));
    for (size_t i = 0; i < k->n; i++)
        note(k, i);
    for (size_t at = k->n; at-- > n_dictionary;)
        find_step(k, at);
    f->packed = k->out = must(malloc(f->n * 2 + 16));
    put_all(k, n_dictionary);
    f->n_packed = (size_t) (k->out - f->packed);
    free(k->steps);
    free(k->before);
    free(text);
    free(k);
}

/* ---- Writing ---- */

static void write_bytes(FILE *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%u,", p[i]);
    fputs("\n", out);
}

/* One array for all: each of its own would be padded. */
static void write_packed(FILE *out)
{
    fputs("static const unsigned char packed[] = {\n", out);
    for (size_t i = 0; i < n_files; i++)
        write_bytes(out, files[i].packed, files[i].n_packed);
    fputs("};\n", out);
}

static void write_all(const char *path)
{
    size_t at = 0;
    FILE *out = fopen(path, "w");
    if (!out)
        die(path);
    fputs("/* Made by hocket_embed. */\n#include \"bind/assets.h\"\n\n", out);
    fputs("const unsigned char hocket__asset_dictionary[] = {\n", out);
    write_bytes(out, dictionary, n_dictionary);
    fputs("0};\n", out);
    fprintf(out, "const size_t hocket__asset_dictionary_len = %zu;\n", n_dictionary);
    fprintf(out, "const char hocket__asset_lua[] = \"%s\";\n", lua_ident ? lua_ident : "");
    write_packed(out);
    fputs("\nconst struct hocket__asset hocket__assets[] = {\n", out);
    for (size_t i = 0; i < n_files; at += files[i++].n_packed)
        fprintf(out, "    { \"%s\", packed + %zu, %zu, %zu },\n", files[i].name, at,
            files[i].n_packed, files[i].n);
    fputs("    { NULL, NULL, 0, 0 },\n};\n", out);
    if (fclose(out) != 0)
        die(path);
}

int main(int argc, char **argv)
{
    size_t before = 0, after = 0;
    if (argc != 3) {
        fputs("usage: hocket_embed LIST OUT\n", stderr);
        return 2;
    }
    read_list(argv[1]);
    make_dictionary();
    for (size_t i = 0; i < n_files; i++) {
        pack(&files[i]);
        before += files[i].n;
        after += files[i].n_packed;
    }
    write_all(argv[2]);
    if (getenv("HOCKET_EMBED_SIZES"))
        printf("%zu bytes in %zu, with the dictionary's %zu\n", before, after + n_dictionary,
            n_dictionary);
    return 0;
}
