/* PCRE2 for searches in files, loaded at the first pattern (pcre.h). Patterns are a model's: steps,
 * depth and memory of a match have limits, and reaching one is an error of that pattern and not an
 * answer. core/regex is linear, but knows no back-references, which people use in searches. */
#include "os/search/pcre.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <uv.h>
#include <stdlib.h>
#include <string.h>

#include "os/library.h"

#define LIBRARY       HOCKET__LIBRARY("pcre2-8", "0")
#define MAX_PATTERN   4096
#define MATCH_LIMIT   5000000
#define DEPTH_LIMIT   10000
#define HEAP_LIMIT_KB 20000
#define JIT_STACK     ((size_t) 1 << 20)

#define FUNCTIONS(X)                                                                               \
    X(code_free)                                                                                   \
    X(compile)                                                                                     \
    X(get_error_message)                                                                           \
    X(get_ovector_pointer)                                                                         \
    X(jit_compile)                                                                                 \
    X(jit_stack_assign)                                                                            \
    X(jit_stack_create)                                                                            \
    X(jit_stack_free)                                                                              \
    X(match)                                                                                       \
    X(match_context_create)                                                                        \
    X(match_context_free)                                                                          \
    X(match_data_create)                                                                           \
    X(match_data_free)                                                                             \
    X(set_depth_limit)                                                                             \
    X(set_heap_limit)                                                                              \
    X(set_match_limit)

/* The names are macros that add the width; they stand here behind an own prefix. */
#define CONCAT(a, b) a##b
#define REAL(name)   CONCAT(pcre2_, name##_8)

struct table {
#define MEMBER(name) __typeof__(REAL(name)) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

/* The process's one copy, never unloaded. */
static struct {
    uv_once_t once;
    int status;
    struct table table;
    struct hocket_error error;
} loaded = { .once = UV_ONCE_INIT };

static int open_library(const char *library, struct table *t, struct hocket_error *err)
{
#define NAME(name) "pcre2_" #name "_8\0"
    const char *why;
    switch (hocket__library_load(library, FUNCTIONS(NAME), t, &why)) {
    case HOCKET__LIBRARY_LOADED: return 0;
    case HOCKET__LIBRARY_ABSENT:
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "regular expressions need PCRE2 (Debian package libpcre2-8-0): %s", why);
    case HOCKET__LIBRARY_OTHER: break;
    }
#undef NAME
    return hocket__error(
        err, HOCKET_EUNSUPPORTED, "%s is no PCRE2 that can be used: it has no %s", library, why);
}

int hocket__pcre_open(const char *library, struct hocket_error *err)
{
    struct table t;
    return open_library(library, &t, err);
}

static void load_once(void)
{
#if HOCKET_STATIC
#define TAKE(name) loaded.table.name = REAL(name);
    FUNCTIONS(TAKE)
#undef TAKE
#else
    loaded.status = open_library(LIBRARY, &loaded.table, &loaded.error);
#endif
}

static const struct table *load(struct hocket_error *err)
{
    uv_once(&loaded.once, load_once);
    if (loaded.status == 0)
        return &loaded.table;
    if (err)
        *err = loaded.error;
    return NULL;
}

/* ---- Patterns -------------------------------------------------------------------- */

struct hocket__pcre {
    const struct table *t;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

void hocket__pcre_free(struct hocket__pcre *re)
{
    if (!re)
        return;
    re->t->match_data_free(re->data);
    re->t->match_context_free(re->context);
    re->t->jit_stack_free(re->stack);
    re->t->code_free(re->code);
    free(re);
}

static int compile(
    struct hocket__pcre *re, struct hocket__str pattern, uint32_t options, struct hocket_error *err)
{
    int code;
    PCRE2_SIZE at;
    re->code = re->t->compile((PCRE2_SPTR) pattern.p, pattern.n, options, &code, &at, NULL);
    if (re->code)
        return 0;
    PCRE2_UCHAR message[200] = "";
    re->t->get_error_message(code, message, sizeof(message));
    return hocket__error(err, HOCKET_EPARSE, "the regular expression is wrong at character %zu: %s",
        (size_t) at + 1, (const char *) message);
}

static int limit(struct hocket__pcre *re)
{
    const struct table *t = re->t;
    re->data = t->match_data_create(1, NULL);
    re->context = t->match_context_create(NULL);
    if (!re->data || !re->context)
        return HOCKET_ENOMEM;
    t->set_match_limit(re->context, MATCH_LIMIT);
    t->set_depth_limit(re->context, DEPTH_LIMIT);
    t->set_heap_limit(re->context, HEAP_LIMIT_KB);
    if (t->jit_compile(re->code, PCRE2_JIT_COMPLETE) < 0)
        return 0; /* no executable memory here: it is interpreted */
    re->stack = t->jit_stack_create(32 * 1024, JIT_STACK, NULL);
    if (re->stack)
        t->jit_stack_assign(re->context, NULL, re->stack);
    return 0;
}

int hocket__pcre_new(struct hocket__str pattern, bool ignore_case, bool literal,
    struct hocket__pcre **out, struct hocket_error *err)
{
    const struct table *t = load(err);
    if (!t)
        return HOCKET_EUNSUPPORTED;
    if (pattern.n > MAX_PATTERN)
        return hocket__error(
            err, HOCKET_ELIMIT, "a regular expression has at most %d bytes", MAX_PATTERN);
    struct hocket__pcre *re = calloc(1, sizeof(*re));
    if (!re)
        return hocket__error_nomem(err);
    re->t = t;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF
                       | (literal ? PCRE2_LITERAL : PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C);
    int rc = compile(re, pattern, options | (ignore_case ? PCRE2_CASELESS : 0), err);
    if (rc == 0 && (rc = limit(re)) < 0)
        hocket__error_nomem(err);
    if (rc < 0) {
        hocket__pcre_free(re);
        return rc;
    }
    *out = re;
    return 0;
}

int hocket__pcre_find(
    struct hocket__pcre *re, struct hocket__str text, size_t at, size_t *start, size_t *end)
{
    int rc = re->t->match(re->code, (PCRE2_SPTR) text.p, text.n, at, 0, re->data, re->context);
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return HOCKET_ELIMIT;
    const PCRE2_SIZE *v = re->t->get_ovector_pointer(re->data);
    *start = v[0];
    *end = v[1] > v[0] ? v[1] : v[0]; /* \K can turn them round */
    return 1;
}
