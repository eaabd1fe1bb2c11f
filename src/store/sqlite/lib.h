/* libsqlite3 as a table of functions, loaded with dlopen by the first store of the process: whoever keeps
 * no runs does not pay for it. With HOCKET_LINK_SQLITE, and under the sanitizers, the table holds the
 * linked functions. It is made once and never unloaded. */
#pragma once

#include "base/status.h"

#include <sqlite3.h>

#define HOCKET__SQLITE_MAP(X)                                                                      \
    X(bind_blob64)                                                                                 \
    X(bind_int64)                                                                                  \
    X(bind_null)                                                                                   \
    X(bind_text64)                                                                                 \
    X(busy_timeout)                                                                                \
    X(changes)                                                                                     \
    X(close_v2)                                                                                    \
    X(column_blob)                                                                                 \
    X(column_bytes)                                                                                \
    X(column_int64)                                                                                \
    X(column_type)                                                                                 \
    X(db_config)                                                                                   \
    X(errmsg)                                                                                      \
    X(exec)                                                                                        \
    X(extended_errcode)                                                                            \
    X(file_control)                                                                                \
    X(finalize)                                                                                    \
    X(get_autocommit)                                                                              \
    X(last_insert_rowid)                                                                           \
    X(libversion)                                                                                  \
    X(libversion_number)                                                                           \
    X(open_v2)                                                                                     \
    X(prepare_v3)                                                                                  \
    X(reset)                                                                                       \
    X(step)                                                                                        \
    X(system_errno)                                                                                \
    X(threadsafe)

struct hocket__sqlite {
#define HOCKET__SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
    HOCKET__SQLITE_MAP(HOCKET__SQLITE_MEMBER)
#undef HOCKET__SQLITE_MEMBER
};

/* The table; safe from any thread. NULL, and *err with EUNSUPPORTED, when there is no library, or
 * only one too old. The outcome of the first call stays. */
const struct hocket__sqlite *hocket__sqlite_load(struct hocket_error *err);
