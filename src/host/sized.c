/* Copies structures of the public interface in and out by the size that they say (sized.h). A
 * program that was built with an older header gives a shorter one, whose missing members are zero. A
 * newer program may give a longer one, if it sets nothing that this library does not know. So members are only ever added at the end. */
#include "host/sized.h"

#include <string.h>

/* No structure comes near it; what is not a size mostly does. */
#define MAX_SIZE 4096

/* Catches the structure that was not initialised: what lies on a stack is hardly ever a small
 * multiple of a pointer's size. */
static bool is_size(size_t n)
{
    return n > sizeof(size_t) && n <= MAX_SIZE && n % sizeof(void *) == 0;
}

static size_t size_of(const void *theirs)
{
    size_t n;
    memcpy(&n, theirs, sizeof(n));
    return n;
}

static bool is_zero(const unsigned char *p, const unsigned char *end)
{
    while (p < end && !*p)
        p++;
    return p == end;
}

int hocket__sized_take(
    void *ours, size_t size, const void *theirs, const char *name, struct hocket_error *err)
{
    size_t n = size_of(theirs), known = n < size ? n : size;
    const unsigned char *bytes = theirs;
    if (!is_size(n))
        return hocket__error(err, HOCKET_EINVAL,
            "the size of this struct %s is %zu: set its member 'size' to sizeof(struct %s), and "
            "all "
            "that you do not use to zero",
            name, n, name);
    if (n > size && !is_zero(bytes + size, bytes + n))
        return hocket__error(err, HOCKET_EINVAL,
            "the program was built with a newer hocket and sets a member of struct %s that this "
            "library, " HOCKET_VERSION ", does not know",
            name);
    memset(ours, 0, size);
    memcpy(ours, theirs, known);
    memcpy(ours, &size, sizeof(size));
    return 0;
}

int hocket__sized_give(void *theirs, const void *ours, size_t size)
{
    size_t n = size_of(theirs), known = n < size ? n : size;
    if (!is_size(n))
        return HOCKET_EINVAL;
    memset(theirs, 0, n);
    memcpy(theirs, ours, known);
    memcpy(theirs, &known, sizeof(known));
    return 0;
}
