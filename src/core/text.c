/* Texts that core objects keep: copied, valid UTF-8, of a bounded size, and with names that
 * fit into a line of JSON or a log. */
#include "core/text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"

#define SHOWN_MAX 60
#define SAID_TAIL 32 /* room kept for " and N more" */

int hocket__text_copy(
    const struct hocket_allocator *a, struct hocket__str in, struct hocket__str *out)
{
    *out = hocket__str("", 0);
    if (in.n == 0)
        return 0;
    char *p = hocket__strdup(a, in.p, in.n);
    if (!p)
        return HOCKET_ENOMEM;
    *out = hocket__str(p, in.n);
    return 0;
}

void hocket__text_free(const struct hocket_allocator *a, struct hocket__str *s)
{
    if (s->n > 0)
        hocket__free(a, (void *) s->p, s->n + 1);
    *s = hocket__str("", 0);
}

/* A text that is whole is not copied: `s` points into scratch only when it had to be repaired, and
 * is good until scratch is used again. */
int hocket__text_repair(struct hocket__buf *scratch, struct hocket__str *s)
{
    if (hocket__utf8_valid(s->p, s->n) == s->n)
        return 0;
    hocket__buf_reset(scratch);
    int status = hocket__utf8_repair(scratch, s->p, s->n);
    if (status == 0)
        *s = hocket__buf_str(scratch);
    return status;
}

/* Repairing may make it longer, so it is cut before (for the work) and after. */
int hocket__text_repaired_copy(
    const struct hocket_allocator *a, struct hocket__str in, size_t max, struct hocket__str *out)
{
    struct hocket__buf scratch = hocket__buf(a, 0);
    in = hocket__text_cut(in, max);
    *out = hocket__str("", 0);
    int status = hocket__text_repair(&scratch, &in);
    if (status == 0)
        status = hocket__text_copy(a, hocket__text_cut(in, max), out);
    hocket__buf_deinit(&scratch);
    return status;
}

struct hocket__str hocket__text_cut(struct hocket__str s, size_t max)
{
    return s.n <= max ? s : hocket__str(s.p, hocket__utf8_cut(s.p, max));
}

struct hocket__str hocket__text_trim(struct hocket__str s)
{
    while (s.n > 0 && hocket__is_space(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && hocket__is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    return s;
}

/* Square brackets stand around names in renderings ("[food] …"), and control characters would end a
 * line of a log: a name with them could pass for something else. */
static bool has_bad_name_byte(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if (c < 0x20 || c == 0x7f || c == '[' || c == ']')
            return true;
    }
    return false;
}

int hocket__text_name(struct hocket__str name, const char *what, struct hocket_error *err)
{
    if (name.n == 0)
        return hocket__error(err, HOCKET_EINVAL, "%s: a name is missing", what);
    if (name.n > HOCKET__NAME_MAX)
        return hocket__error(err, HOCKET_EINVAL,
            "%s: the name is %zu bytes long, at most %d are allowed", what, name.n,
            HOCKET__NAME_MAX);
    if (hocket__utf8_valid(name.p, name.n) != name.n)
        return hocket__error(err, HOCKET_EINVAL, "%s: the name is not valid UTF-8", what);
    if (has_bad_name_byte(name))
        return hocket__error(err, HOCKET_EINVAL,
            "%s: the name \"%.*s\" has a control character or a square bracket", what,
            HOCKET__SHOWN(name));
    return 0;
}

int hocket__text_shown(struct hocket__str s)
{
    return (int) hocket__text_cut(s, SHOWN_MAX).n;
}

/* A word and its comma have to leave the tail's room free, so that " and 12 more" fits whatever
 * comes. */
void hocket__said_add(struct hocket__said *list, struct hocket__str word)
{
    word = hocket__text_cut(word, SHOWN_MAX);
    size_t room = sizeof(list->text) - SAID_TAIL - list->len;
    /* once one was left out all others are: a list with holes would be read as the whole */
    if (list->left_out > 0 || word.n + 2 >= room) {
        list->left_out++;
        return;
    }
    if (list->len > 0) {
        memcpy(list->text + list->len, ", ", 2);
        list->len += 2;
    }
    memcpy(list->text + list->len, word.p, word.n);
    list->len += word.n;
}

void hocket__said_add_int(struct hocket__said *list, int64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRId64, value);
    hocket__said_add(list, hocket__str(digits, (size_t) n));
}

const char *hocket__said(struct hocket__said *list)
{
    if (list->left_out > 0)
        snprintf(list->text + list->len, SAID_TAIL, " and %zu more", list->left_out);
    else
        list->text[list->len] = 0;
    return list->text;
}
