/* Memory comes from one allocator per host, in the shape of lua_Alloc: sizes
 * are exact on every call, so that an engine's sized allocator can be used. */
#pragma once

#include <hocket/hocket.h>
#include <string.h>

/* malloc/realloc/free behind the interface. */
extern const struct hocket_allocator hocket__malloc;

/* All return NULL when memory is out; a size of 0 is not allowed in new/zero. */
void *hocket__new(const struct hocket_allocator *a, size_t size);
void *hocket__zero(const struct hocket_allocator *a, size_t size);
void *hocket__resize(const struct hocket_allocator *a, void *p, size_t old_size, size_t new_size);
void hocket__free(const struct hocket_allocator *a, void *p, size_t size); /* NULL is fine */

/* A NUL-terminated copy of n bytes; free with hocket__strfree (which takes the
 * length from the text: only for text without NUL inside). */
char *hocket__strdup(const struct hocket_allocator *a, const char *s, size_t n);
void hocket__strfree(const struct hocket_allocator *a, char *s);

/* Grows an array to hold `need` elements, doubling: returns 0 or HOCKET_ENOMEM, with the
 * array as it was. `array_ptr` is the address of the array's pointer; *cap counts
 * elements; free with *cap * element_size. */
int hocket__grow(const struct hocket_allocator *a, void *array_ptr, size_t *cap, size_t need,
    size_t element_size);
