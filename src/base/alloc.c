/* All memory of the library comes from an allocator that is handed in, with sizes both ways:
 * an embedder can count, limit or pool without a header of its own at each block.
 *
 * The allocator of libc is the default and nothing more: no function here keeps anything between
 * two calls. Sizes of nothing give NULL, which every function takes back, so that empty things need
 * no case of their own. */
#include "base/alloc.h"

#include <stdlib.h>

static void *malloc_cb(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    (void) ud;
    (void) old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

const struct hocket_allocator hocket__malloc = { malloc_cb, NULL };

void *hocket__new(const struct hocket_allocator *a, size_t size)
{
    return a->realloc_cb(a->ud, NULL, 0, size);
}

void *hocket__zero(const struct hocket_allocator *a, size_t size)
{
    void *p = hocket__new(a, size);
    if (p)
        memset(p, 0, size);
    return p;
}

void *hocket__resize(const struct hocket_allocator *a, void *p, size_t old_size, size_t new_size)
{
    return a->realloc_cb(a->ud, p, old_size, new_size);
}

void hocket__free(const struct hocket_allocator *a, void *p, size_t size)
{
    if (p)
        a->realloc_cb(a->ud, p, size, 0);
}

char *hocket__strdup(const struct hocket_allocator *a, const char *s, size_t n)
{
    char *p = hocket__new(a, n + 1);
    if (p) {
        memcpy(p, s, n);
        p[n] = 0;
    }
    return p;
}

void hocket__strfree(const struct hocket_allocator *a, char *s)
{
    if (s)
        hocket__free(a, s, strlen(s) + 1);
}

int hocket__grow(const struct hocket_allocator *a, void *array_ptr, size_t *cap, size_t need,
    size_t element_size)
{
    void *array;
    if (need <= *cap)
        return 0;
    if (need > SIZE_MAX / 2 / element_size)
        return HOCKET_ENOMEM;
    size_t want = *cap ? *cap : 4;
    while (want < need)
        want *= 2;
    if (want > SIZE_MAX / element_size)
        want = need;
    memcpy(&array, array_ptr, sizeof(array)); /* a T *, seen as a void * */
    array = hocket__resize(a, array, *cap * element_size, want * element_size);
    if (!array)
        return HOCKET_ENOMEM;
    memcpy(array_ptr, &array, sizeof(array));
    *cap = want;
    return 0;
}
