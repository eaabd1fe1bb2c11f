/* The texts of a reply and its calls, in one list for everything that handles each of them. */
#pragma once

#include "net/protocol/reply/reply.h"

/* Without `found`, which replies that were kept before it have not. */
#define HOCKET__REPLY_OLD_TEXTS(X, r)                                                              \
    X(&(r)->text)                                                                                  \
    X(&(r)->reasoning)                                                                             \
    X(&(r)->refusal)                                                                               \
    X(&(r)->replay)                                                                                \
    X(&(r)->server_items)                                                                          \
    X(&(r)->finish_raw)                                                                            \
    X(&(r)->usage_raw)                                                                             \
    X(&(r)->id)                                                                                    \
    X(&(r)->model)

#define HOCKET__REPLY_TEXTS(X, r)                                                                  \
    HOCKET__REPLY_OLD_TEXTS(X, r)                                                                  \
    X(&(r)->found)

#define HOCKET__CALL_TEXTS(X, c)                                                                   \
    X(&(c)->id)                                                                                    \
    X(&(c)->name)                                                                                  \
    X(&(c)->arguments)                                                                             \
    X(&(c)->extra)
