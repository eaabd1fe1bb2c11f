/* Chunks of text, and an index of the lines in them. The index is an array with a head that
 * moves, not a ring: lines are asked for by number, and a ring would cost a division each
 * time. */
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

static void free_chunk(struct hocket__lines *l, struct hocket__lines_chunk *c)
{
    if (c)
        hocket__free(l->a, c, sizeof(*c) + c->size);
}

void hocket__lines_deinit(struct hocket__lines *l)
{
    while (l->count > 0)
        hocket__lines_drop(l);
    free_chunk(l, l->oldest);
    free_chunk(l, l->spare);
    hocket__free(l->a, l->index, l->cap * sizeof(*l->index));
    hocket__lines_init(l, l->a);
}

/* Room for one more behind the last, and for those that may not fail. The array slides down when half of it lies empty in front, so
 * that each line is moved at most a few times. */
static int make_room(struct hocket__lines *l)
{
    size_t last = l->spare ? HOCKET__LINES_LAST : 0;
    if (l->head + l->count + last < l->cap)
        return 0;
    if (l->head <= l->cap / 2)
        return hocket__grow(l->a, &l->index, &l->cap, l->cap + 1, sizeof(*l->index));
    memmove(l->index, l->index + l->head, l->count * sizeof(*l->index));
    l->head = 0;
    return 0;
}

static size_t next_size(const struct hocket__lines *l, size_t need)
{
    /* a quarter of what is held: a journal of few lines has little room to spare, and one of
     * many makes few chunks */
    size_t size = l->held / 4 > SMALLEST ? l->held / 4 : SMALLEST;
#ifdef __SANITIZE_ADDRESS__ /* which is to see each line by itself */
    size = need;
#endif
    size = size < LARGEST ? size : LARGEST;
    return size > need ? size : need;
}

static struct hocket__lines_chunk *new_chunk(struct hocket__lines *l, size_t size)
{
    struct hocket__lines_chunk *c = hocket__new(l->a, sizeof(*c) + size);
    if (c)
        *c = (struct hocket__lines_chunk){ .size = size };
    return c;
}

static void append(struct hocket__lines *l, struct hocket__lines_chunk *c)
{
    if (l->newest)
        l->newest->next = c;
    else
        l->oldest = c;
    l->newest = c;
    l->held += c->size;
}

static bool fits(const struct hocket__lines *l, struct hocket__str text)
{
    return l->newest && l->newest->size - l->newest->used > text.n;
}

static void put(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    struct hocket__lines_chunk *c = l->newest;
    char *at = c->text + c->used;
    memcpy(at, text.p, text.n);
    at[text.n] = 0;
    c->used += text.n + 1;
    c->lines++;
    l->index[l->head + l->count++] = (struct hocket__kept_line){ at, (uint32_t) text.n, mark };
}

int hocket__lines_add(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    if (make_room(l) < 0)
        return HOCKET_ENOMEM;
    if (!fits(l, text)) {
        struct hocket__lines_chunk *c = new_chunk(l, next_size(l, text.n + 1));
        if (!c)
            return HOCKET_ENOMEM;
        append(l, c);
    }
    put(l, text, mark);
    return 0;
}

int hocket__lines_reserve_last(struct hocket__lines *l, size_t size)
{
    if (hocket__grow(l->a, &l->index, &l->cap, HOCKET__LINES_LAST + 1, sizeof(*l->index)) < 0)
        return HOCKET_ENOMEM;
    l->spare = new_chunk(l, size);
    return l->spare ? 0 : HOCKET_ENOMEM;
}

void hocket__lines_add_last(struct hocket__lines *l, struct hocket__str text, uint32_t mark)
{
    if (!fits(l, text) && l->spare) {
        append(l, l->spare);
        l->spare = NULL;
    }
    put(l, text, mark);
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
    free_empty(l); /* where all were dropped before, the newest has stayed in front */
    l->oldest->lines--;
    l->count--;
    l->head = l->count > 0 ? l->head + 1 : 0;
    free_empty(l);
}
