/* What the parts of the front share. */
#pragma once

#include "store/store_impl.h"

/* The loop is kept alive while somebody waits, and at no other time. */
void hocket__front_hold(struct hocket__store *s);

/* ---- waits.c ---- */

/* False: it was reported before, and r is gone. */
bool hocket__front_refuse(struct hocket__store *s, struct hocket__store_refused *r);
bool hocket__front_is_refused(struct hocket__store *s, const char *id);
/* The run was claimed anew: what was refused under an older claim is settled. */
void hocket__front_forgive(struct hocket__store *s, const char *id);
void hocket__front_forgive_all(struct hocket__store *s);

/* Tells the backend the strongest need of the waits. */
void hocket__front_want(struct hocket__store *s);
/* Ends the waits that are due. */
void hocket__front_finish_waits(struct hocket__store *s);
/* All of them, with the store's error. */
void hocket__front_end_waits(struct hocket__store *s);

/* ---- calls.c ---- */

/* Takes the calls made up to now out of the store's list. */
void hocket__front_take_calls(struct hocket__store *s, struct hocket__list *given);
void hocket__front_give_calls(struct hocket__store *s, struct hocket__list *given);
/* Puts them back, before the calls made since. */
void hocket__front_put_back_calls(struct hocket__store *s, struct hocket__list *given);
/* Ends the calls that no backend has seen, with the store's error. */
void hocket__front_end_calls(struct hocket__store *s);
