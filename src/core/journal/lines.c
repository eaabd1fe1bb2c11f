#include "core/journal/lines.h"

#define SMALLEST 1000 /* bytes of text in a chunk, unless one line has more */
#define LARGEST  65000

struct hocket__lines_chunk {
    struct hocket__lines_chunk *next;
    size_t size, used; /* bytes of text */
    size_t lines;      /* that are kept */
    char text[];
};

void hocket__lines_init(struct hocket__lines *l, const struct hocket_allocator *a)
{
    *l = (struct hocket__lines){ .a = a };
}

void hocket__lines_deinit(struct hocket__lines *l)
{
    while (l->count > 0)
        hocket__lines_drop(l);
    if (l->oldest)
        hocket__free(l->a, l->oldest, sizeof(*l->oldest) + l->oldest->size);
    hocket__free(l->a, l->index, l->cap * sizeof(*l->index));
    hocket__lines_init(l, l->a);
}

/* Room for one more behind the last. The array slides down when half of it lies empty in front, so
 * that each line is moved at most a few times. */
static int make_room(struct hocket__lines *l)
{
    if (l->head + l->count < l->cap)
        return 0;
    if (l->head <= l->cap / 2)
        return hocket__grow(l->a, &l->index, &l->cap, l->cap + 1, sizeof(*l->index));
    memmove(l->index, l->index + l->head, l->count * sizeof(*l->index));
    l->head = 0;
    return 0;
}

static size_t next_size(const struct hocket__lines *l, size_t need)
{
    size_t size = l->held / 4 > SMALLEST ? l->held / 4 : SMALLEST;
#ifdef __SANITIZE_ADDRESS__ /* which is to see each line by itself */
    size = need;
#endif
    size = size < LARGEST ? size : LARGEST;
    return size > need ? size : need;
}

static int add_chunk(struct hocket__lines *l, size_t need)
{
    size_t size = next_size(l, need);
    struct hocket__lines_chunk *c = hocket__new(l->a, sizeof(*c) + size);
    if (!c)
        return HOCKET_ENOMEM;
    *c = (struct hocket__lines_chunk){ .size = size };
    if (l->newest)
        l->newest->next = c;
    else
        l->oldest = c;
    l->newest = c;
    l->held += size;
    return 0;
}

int hocket__lines_add(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    struct hocket__lines_chunk *c = l->newest;
    bool fits = c && c->size - c->used > text.n;
    if (make_room(l) < 0 || (!fits && add_chunk(l, text.n + 1) < 0))
        return HOCKET_ENOMEM;
    c = l->newest;
    char *at = c->text + c->used;
    memcpy(at, text.p, text.n);
    at[text.n] = 0;
    c->used += text.n + 1;
    c->lines++;
    l->index[l->head + l->count++] = (struct hocket__kept_line){ at, (uint32_t) text.n, mark };
    return 0;
}

/* Chunks without a line in front of the newest, which may have room for more. */
static void free_empty(struct hocket__lines *l)
{
    while (l->oldest->lines == 0 && l->oldest != l->newest) {
        struct hocket__lines_chunk *c = l->oldest;
        l->oldest = c->next;
        l->held -= c->size;
        hocket__free(l->a, c, sizeof(*c) + c->size);
    }
}

void hocket__lines_drop(struct hocket__lines *l)
{
    l->oldest->lines--;
    l->count--;
    l->head = l->count > 0 ? l->head + 1 : 0;
    free_empty(l);
}
