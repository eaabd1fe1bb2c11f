/* One ignore file, as gitignore(5) has it. Rules keep their place in one text and are asked
 * from the last to the first, since the last that matches decides. Most are plain names or
 * "*.suffix", which need no wildmatch. */
#include "os/search/ignore.h"

#include <string.h>

#include "os/search/wild.h"

#define MAX_RULES 10000

/* ---- Reading ------------------------------------------------------------------- */

/* Blanks at the end do not count, unless a backslash is before them. */
static size_t trim(const char *p, size_t n)
{
    size_t end = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\\' && i + 1 < n)
            end = ++i + 1;
        else if (p[i] != ' ')
            end = i + 1;
    }
    return end;
}

static bool is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

static bool has_special(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_special(p[i]))
            return true;
    return false;
}

static int add_rule(struct hocket__ignore *ig, const char *p, size_t n)
{
    struct hocket__ignore_rule r = { 0 };
    if (n > 0 && p[0] == '!') {
        r.negated = true;
        p++;
        n--;
    }
    if (n > 0 && p[n - 1] == '/') {
        r.dir_only = true;
        n--;
    }
    /* a slash anywhere but at the end ties a pattern to its folder */
    r.anchored = memchr(p, '/', n) != NULL;
    if (n > 0 && p[0] == '/') {
        p++;
        n--;
    }
    r.plain = !has_special(p, n);
    r.suffix = !r.anchored && n > 1 && p[0] == '*' && !has_special(p + 1, n - 1);
    r.at = ig->text.len;
    r.n = n;
    if (hocket__buf_add(&ig->text, p, n) < 0 || hocket__buf_addc(&ig->text, 0) < 0)
        return HOCKET_ENOMEM;
    int rc = hocket__grow(ig->text.a, &ig->rules, &ig->cap, ig->count + 1, sizeof(r));
    if (rc == 0)
        ig->rules[ig->count++] = r;
    return rc;
}

int hocket__ignore_init(
    struct hocket__ignore *ig, const struct hocket_allocator *a, struct hocket__str text)
{
    *ig = (struct hocket__ignore){ 0 };
    hocket__buf_init(&ig->text, a, 0);
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        text = hocket__str(text.p + 3, text.n - 3);
    while (text.n > 0 && ig->count < MAX_RULES) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t line = end ? (size_t) (end - text.p) : text.n, n = line;
        if (n > 0 && text.p[n - 1] == '\r')
            n--;
        if (n > 0 && text.p[0] != '#' && !memchr(text.p, 0, n)) {
            n = trim(text.p, n);
            int rc = n > 0 ? add_rule(ig, text.p, n) : 0;
            if (rc < 0)
                return rc;
        }
        text = hocket__str(text.p + line + (end != NULL), text.n - line - (end != NULL));
    }
    return 0;
}

void hocket__ignore_deinit(struct hocket__ignore *ig)
{
    if (ig->rules)
        hocket__free(ig->text.a, ig->rules, ig->cap * sizeof(*ig->rules));
    hocket__buf_deinit(&ig->text);
    ig->rules = NULL;
    ig->count = ig->cap = 0;
}

/* ---- Asking ----------------------------------------------------------------------- */

static bool matches(const struct hocket__ignore *ig, const struct hocket__ignore_rule *r,
    const char *path, const char *name, size_t name_n)
{
    const char *pattern = ig->text.data + r->at;
    if (r->anchored)
        return r->plain ? strcmp(pattern, path) == 0 : hocket__wildmatch(pattern, path);
    if (r->plain)
        return strcmp(pattern, name) == 0;
    if (r->suffix)
        return name_n >= r->n - 1 && memcmp(name + name_n - (r->n - 1), pattern + 1, r->n - 1) == 0;
    return hocket__wildmatch(pattern, name);
}

enum hocket__ignore_verdict hocket__ignore_match(
    const struct hocket__ignore *ig, const char *path, bool is_dir)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t name_n = strlen(name);
    for (size_t i = ig->count; i-- > 0;) {
        const struct hocket__ignore_rule *r = &ig->rules[i];
        if ((!r->dir_only || is_dir) && matches(ig, r, path, name, name_n))
            return r->negated ? HOCKET__KEPT : HOCKET__IGNORED;
    }
    return HOCKET__UNKNOWN;
}
