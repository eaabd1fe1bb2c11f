/* Leaves the names of locals and upvalues out of a dump of Lua 5.4: a fifth of it, which only an error inside of such a script
 * would show ("local 'x'"). Lines and the script's name stay, so that errors and tracebacks say where they are.
 *
 *     dump      header, count of upvalues, function
 *     function  name, lines, sizes, code, constants, upvalues, functions, lines of the code, locals, names of upvalues
 *
 * A dump that is read otherwise ends the build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

#define HEADER 32 /* with the count of upvalues behind it */

struct trimmer {
    const unsigned char *p, *end;
    unsigned char *out; /* what is kept; never longer than what was read */
    bool keeps;
};

static void die_of(const char *why)
{
    fprintf(stderr, "embed: %s\n", why);
    exit(1);
}

static void take(struct trimmer *t, size_t n)
{
    if (n > (size_t) (t->end - t->p))
        die_of("a dump of Lua that ends too soon");
    if (t->keeps) {
        memmove(t->out, t->p, n);
        t->out += n;
    }
    t->p += n;
}

/* Seven bits a byte, high ones first; the last one has the eighth. */
static size_t take_number(struct trimmer *t)
{
    size_t v = 0;
    do {
        take(t, 1);
        v = v << 7 | (t->p[-1] & 0x7f);
    } while (!(t->p[-1] & 0x80));
    return v;
}

static void take_text(struct trimmer *t)
{
    size_t n = take_number(t); /* one more than its length; 0: none */
    take(t, n ? n - 1 : 0);
}

static void take_constant(struct trimmer *t)
{
    take(t, 1);
    switch (t->p[-1]) {
    case 0x00: /* nil, false, true */
    case 0x01:
    case 0x11: break;
    case 0x03: /* an integer, a number */
    case 0x13: take(t, 8); break;
    case 0x04: /* a short text, a long one */
    case 0x14: take_text(t); break;
    default: die_of("a dump of Lua with a constant that is not known");
    }
}

static void leave_out_names(struct trimmer *t)
{
    t->keeps = false;
    for (size_t n = take_number(t); n > 0; n--) { /* locals, and where they live */
        take_text(t);
        take_number(t);
        take_number(t);
    }
    for (size_t n = take_number(t); n > 0; n--)
        take_text(t);
    t->keeps = true;
    *t->out++ = 0x80; /* none, and none */
    *t->out++ = 0x80;
}

static void take_function(struct trimmer *t)
{
    take_text(t);
    take_number(t);
    take_number(t);
    take(t, 3);
    take(t, take_number(t) * 4);
    for (size_t n = take_number(t); n > 0; n--)
        take_constant(t);
    take(t, take_number(t) * 3);
    for (size_t n = take_number(t); n > 0; n--)
        take_function(t);
    take(t, take_number(t)); /* lines: a difference for each instruction, and some in full */
    for (size_t n = take_number(t); n > 0; n--) {
        take_number(t);
        take_number(t);
    }
    leave_out_names(t);
}

void trim(struct file *f)
{
    static const unsigned char sizes[] = { 4, 8, 8 }; /* of instructions, integers, numbers */
    struct trimmer t = { f->data, f->data + f->n, f->data, true };
    if (f->n < HEADER || memcmp(f->data, "\x1bLua\x54\x00", 6) != 0
        || memcmp(f->data + 12, sizes, sizeof(sizes)) != 0)
        return;
    take(&t, HEADER);
    take_function(&t);
    if (t.p != t.end)
        die_of("a dump of Lua with something behind it");
    f->n = (size_t) (t.out - f->data);
}
