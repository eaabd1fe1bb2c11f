/* Reading a journal record back into a change: a strict JSON reader whose
 * strings are decoded into one arena, with one sticky status to look at. */
#pragma once

#include "base/json/json.h"

/* Whether the record's "type" is this one. */
bool hocket__replay_is(struct hocket__str record, const char *type);

struct hocket__replay {
    struct hocket__json r;
    struct hocket__buf arena; /* decoded text is never longer than the record, so it never moves */
    int status;               /* 0, EPARSE or ENOMEM */
};

/* Opens the record, which has to be an object; its keys come next. */
void hocket__replay_init(
    struct hocket__replay *p, const struct hocket_allocator *a, struct hocket__str record);
/* Frees the arena, with all strings that were read. */
void hocket__replay_deinit(struct hocket__replay *p);

/* The next key of the object, the next element of the array; false at the end and on errors. */
bool hocket__replay_key(struct hocket__replay *p);
bool hocket__replay_element(struct hocket__replay *p);
bool hocket__replay_at(const struct hocket__replay *p, const char *key);

/* The value after a key. Another type of value sets EPARSE and gives an empty one. */
struct hocket__str hocket__replay_string(struct hocket__replay *p);
int64_t hocket__replay_int(struct hocket__replay *p);
struct hocket__str hocket__replay_raw(struct hocket__replay *p); /* any value, as its text */
void hocket__replay_array(struct hocket__replay *p);             /* its elements come next */

void hocket__replay_bad(struct hocket__replay *p);

/* The whole record has been read: 0, or what went wrong. */
int hocket__replay_end(struct hocket__replay *p, struct hocket_error *err);
