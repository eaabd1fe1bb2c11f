#include "base/bytes.h"

#include <strings.h>

#ifdef _WIN32
void *hocket__find(const void *bytes, size_t n, const void *what, size_t m)
{
    const char *from = bytes, *end = from + n;
    if (m == 0)
        return (void *) (uintptr_t) bytes;
    while ((size_t) (end - from) >= m) {
        char *at = memchr(from, *(const char *) what, (size_t) (end - from) - m + 1);
        if (!at || memcmp(at, what, m) == 0)
            return at;
        from = at + 1;
    }
    return NULL;
}
#endif

const char *hocket__find_last(const char *p, char c, size_t n)
{
    while (n > 0)
        if (p[--n] == c)
            return p + n;
    return NULL;
}

bool hocket__has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return n == 0;
}

/* The compiler does not know what `clear` will be. */
void hocket__wipe(void *p, size_t n)
{
    static void *(*const volatile clear)(void *, int, size_t) = memset;
    clear(p, 0, n);
}
