/* Texts that must not be written down: keys. Masking keeps a text's length, so that what is
 * known of places in it stays true. */
#pragma once

#include "base/buf.h"

struct hocket__secrets {
    struct hocket__buf list;  /* each ended by a NUL */
    size_t shortest, longest; /* bytes of one; 0: there is none */
    uint64_t begin[16];       /* the first two bytes of each, as a set of hashes */
};

void hocket__secrets_init(struct hocket__secrets *s, const struct hocket_allocator *a);
void hocket__secrets_deinit(struct hocket__secrets *s);

/* Takes a copy of the key, and of how it stands in JSON, in a URL and in base64, also inside of a
 * longer text. Shorter than six bytes it is none: the words that local servers are given for a key.
 * 0 or ENOMEM. */
int hocket__secrets_add(struct hocket__secrets *s, struct hocket__str key);
/* Whether a header or parameter of this name holds one, going by how it ends. */
bool hocket__secrets_named(struct hocket__str name);

/* Puts stars in the place of every secret, also where several overlap. The only function that masks
 * keys. It reads the text once and never what it has written, so that it ends whatever a key consists of. */
void hocket__secrets_mask(const struct hocket__secrets *s, char *text, size_t n);
/* How many bytes at the end of the text may be the beginning of a secret. */
size_t hocket__secrets_begun(const struct hocket__secrets *s, struct hocket__str text);
/* The same, and for the values of a URL's password and of its query's members that are named
 * like a secret (key, token, password, signature …). */
void hocket__secrets_mask_url(const struct hocket__secrets *s, char *url, size_t n);
