#include "floor_bodies.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (!p) {
        fputs("floor: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t n = 0, room = 0, got;
    if (!f) {
        perror(path);
        exit(1);
    }
    do {
        room = room ? room * 2 : 65536;
        text = must(realloc(text, room + 1));
        got = fread(text + n, 1, room - n, f);
        n += got;
    } while (n == room);
    fclose(f);
    text[n] = '\0';
    *size = n;
    return text;
}

static struct talk *find_talk(struct bodies *b, const char *model, size_t n)
{
    for (size_t i = 0; i < b->n_talks; i++) {
        if (b->talks[i].n_model == n && memcmp(b->talks[i].model, model, n) == 0)
            return &b->talks[i];
    }
    b->talks = must(realloc(b->talks, (b->n_talks + 1) * sizeof(*b->talks)));
    b->talks[b->n_talks] = (struct talk){ .model = model, .n_model = n };
    return &b->talks[b->n_talks++];
}

static void add(struct bodies *b, const char *line, size_t size)
{
    static const char key[] = "\"model\":\"";
    const char *model = memmem(line, size, key, sizeof(key) - 1);
    model = model ? model + sizeof(key) - 1 : "";
    struct talk *t = find_talk(b, model, strcspn(model, "\""));
    if (t != b->talks && b->fork == 0)
        b->fork = b->talks[0].n;
    t->bodies = must(realloc(t->bodies, (t->n + 1) * sizeof(*t->bodies)));
    t->bodies[t->n++] = (struct body){ line, size };
}

struct bodies bodies_read(const char *path)
{
    struct bodies b = { 0 };
    size_t size;
    b.text = read_all(path, &size);
    for (char *line = b.text, *stop; (stop = memchr(line, '\n', size - (size_t) (line - b.text)));
         line = stop + 1)
        add(&b, line, (size_t) (stop - line));
    if (b.n_talks == 0) {
        fprintf(stderr, "floor: %s: no bodies\n", path);
        exit(1);
    }
    if (b.n_talks == 1)
        b.fork = b.talks[0].n;
    return b;
}

void bodies_free(struct bodies *b)
{
    for (size_t i = 0; i < b->n_talks; i++)
        free(b->talks[i].bodies);
    free(b->talks);
    free(b->text);
}
