/* Checksums of rows. They find what a disk or a bad memory has altered; whoever alters a row on purpose can make one anew. A change of
 * any eight bytes in a row is sure to change its checksum.
 *
 * What goes into each is fixed: databases hold them. A column that is new later is in none. */
#pragma once

#include "store/row.h"

int64_t hocket__store_sum_entry(const struct hocket__store_entry *e);
int64_t hocket__store_sum_record(const struct hocket__store_record *r);
int64_t hocket__store_sum_message(const struct hocket__store_message *m);
/* A checksum of the part of a run that never changes: the fields of its first put, without its parent and the
 * fields that an update may set. */
int64_t hocket__store_sum_run(const struct hocket__store_run *r);

/* Of what updates set: 12 bits for each HOCKET__STORE_SET_… but the state, which is a word that no other is like. *mask: which bits are
 * those of `set`. */
int64_t hocket__store_sum_set(const struct hocket__store_run *r, unsigned set, int64_t *mask);
