/* libpq as a table of functions, loaded with dlopen by the first store in PostgreSQL of the process. It is made
 * once and never unloaded. */
#pragma once

#include "base/status.h"

#include <libpq-fe.h>

#define HOCKET__LIBPQ_MAP(X)                                                                       \
    X(PQbackendPID)                                                                                \
    X(PQclear)                                                                                     \
    X(PQcmdTuples)                                                                                 \
    X(PQconnectPoll)                                                                               \
    X(PQconnectStartParams)                                                                        \
    X(PQconninfoFree)                                                                              \
    X(PQconninfoParse)                                                                             \
    X(PQconsumeInput)                                                                              \
    X(PQenterPipelineMode)                                                                         \
    X(PQerrorMessage)                                                                              \
    X(PQexitPipelineMode)                                                                          \
    X(PQfinish)                                                                                    \
    X(PQflush)                                                                                     \
    X(PQfreemem)                                                                                   \
    X(PQgetResult)                                                                                 \
    X(PQgetisnull)                                                                                 \
    X(PQgetlength)                                                                                 \
    X(PQgetvalue)                                                                                  \
    X(PQisBusy)                                                                                    \
    X(PQlibVersion)                                                                                \
    X(PQnfields)                                                                                   \
    X(PQnotifies)                                                                                  \
    X(PQntuples)                                                                                   \
    X(PQpingParams)                                                                                \
    X(PQparameterStatus)                                                                           \
    X(PQpipelineSync)                                                                              \
    X(PQresultErrorField)                                                                          \
    X(PQresultStatus)                                                                              \
    X(PQsendPrepare)                                                                               \
    X(PQsendQuery)                                                                                 \
    X(PQsendQueryPrepared)                                                                         \
    X(PQserverVersion)                                                                             \
    X(PQsetErrorVerbosity)                                                                         \
    X(PQsetNoticeProcessor)                                                                        \
    X(PQsetnonblocking)                                                                            \
    X(PQsocket)                                                                                    \
    X(PQstatus)

struct hocket__libpq {
#define HOCKET__LIBPQ_MEMBER(name) __typeof__(name) *name;
    HOCKET__LIBPQ_MAP(HOCKET__LIBPQ_MEMBER)
#undef HOCKET__LIBPQ_MEMBER
};

/* The table; safe from any thread. NULL, and *err with EUNSUPPORTED, when there is no library, or only one too
 * old. The outcome of the first call stays. */
const struct hocket__libpq *hocket__libpq_load(struct hocket_error *err);
