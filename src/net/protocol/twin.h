/* Twins: a stream's chunks are mostly the chunk before with another text in it.
 *
 *   {"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"}}]}     read, and kept
 *   {"id":"c1","choices":[{"index":0,"delta":{"content":"lo \n"}}]}   compared, and taken
 *   └────────── same bytes ───────────────────────────┘└text┘└─ same ─┘
 *
 * When everything that a chunk did was to append one text, and it can be read again without
 * doing anything else, then a chunk of the same bytes around another valid JSON string does
 * just that with it: two comparisons and a scan in place of a parse. Strictness is not
 * lost: the bytes around were parsed, and the string is checked.
 *
 * What is passed over and differs in each chunk is a hole as well: a string that only hides how long
 * the text is (OpenAI's "obfuscation"), a number that counts the events. It is checked as the text is.
 *
 * Where the bytes that frame an event ("data: ", the blank line) are known, too, they are compared
 * with it, and the framing needs not be read either. */
#pragma once

#include "net/protocol/protocol_impl.h"

/* Reads an event of a protocol: 0 or a negative status. */
typedef int (*hocket__event_read)(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err);
/* Skips the reader if the event is a twin of the stored one. Otherwise reads it, and stores it with its
 * frame if the reader has one. An event of more than 64 KiB is not stored. Returns what `read` returned,
 * or ENOMEM. */
int hocket__twin_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    hocket__event_read read, struct hocket_error *err);
/* Takes all twins with their frames that stand one behind the other from p on: the bytes of them.
 * Adds to *count how many they are. */
size_t hocket__twin_take_frames(struct hocket__reader *r, const char *p, size_t n, uint64_t *count);

/* While an event is read, whatever appends a text says so, and whatever else is done that must not
 * be skipped says hocket__twin_give_up. */
void hocket__twin_piece(struct hocket__reader *r, enum hocket__delta_kind kind, size_t call,
    const struct hocket__piece *p);
/* The value that was just read, a string or a whole number, says nothing and may be another. */
void hocket__twin_hole(struct hocket__reader *r, const struct hocket__json *j);
/* The text was added to r->state as well, as it stood; or (not `its`) something else was done there. */
void hocket__twin_state(struct hocket__reader *r, bool its);
void hocket__twin_give_up(struct hocket__reader *r);

/* Heads: what a stream's chunks begin with is mostly the same in all of them, also where the rest
 * is not. A head is kept at a key of the outermost object, when what stands before it need not be
 * read again. 0 or ENOMEM; one of more than 4 KiB is not kept. */
int hocket__head_keep(struct hocket__reader *r, const struct hocket__json *j);
/* At the beginning of a chunk's object: goes to the value behind that key when the chunk begins
 * like the one whose head is kept. */
bool hocket__head_jump(struct hocket__reader *r, struct hocket__json *j);
