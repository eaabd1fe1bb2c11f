/* libcurl as a table of functions.
 *
 * Loading libcurl and the OpenSSL behind it costs some 4 ms and 10 MB of address
 * space, which a process that only prints its version, or an engine that makes no
 * request, should not pay. So the library is not linked: the first actor loads it
 * with dlopen, and everybody calls through this table. With HOCKET_LINK_CURL, and
 * under the sanitizers (which want to see every library from the beginning), the
 * same table holds the linked functions.
 *
 * The table is made once per process, whatever the number of threads and hosts,
 * and is never unloaded: libcurl's global state cannot be taken down safely while
 * other users of the process may hold it. */
#pragma once

#include "base/status.h"

#include <curl/curl.h>

/* All of libcurl that is used here, without the prefix curl_. */
#define HOCKET__CURL_MAP(X)                                                                        \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_pause)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(free)                                                                                        \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_socket_action)                                                                         \
    X(multi_strerror)                                                                              \
    X(share_cleanup)                                                                               \
    X(share_init)                                                                                  \
    X(share_setopt)                                                                                \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(url)                                                                                         \
    X(url_cleanup)                                                                                 \
    X(url_get)                                                                                     \
    X(url_set)                                                                                     \
    X(version_info)

/* The members have the types of the functions. Several of the names are macros with arguments in
 * curl's headers. Here no parenthesis follows them, so they are not expanded. */
struct hocket__curl {
#define HOCKET__CURL_MEMBER(name) __typeof__(curl_##name) *name;
    HOCKET__CURL_MAP(HOCKET__CURL_MEMBER)
#undef HOCKET__CURL_MEMBER
};

/* The table, with libcurl initialised; safe from any thread. NULL, and *err with
 * EUNSUPPORTED, when there is no library, or only one too old. The outcome of the first call
 * stays. */
const struct hocket__curl *hocket__curl_load(struct hocket_error *err);

/* Fills *curl from the shared library of that name: 0 or EUNSUPPORTED. */
int hocket__curl_open(const char *library, struct hocket__curl *curl, struct hocket_error *err);

/* Whether this libcurl will do: 0, or EUNSUPPORTED with what it lacks (its version, TLS, HTTP/2). */
int hocket__curl_check(const curl_version_info_data *version, struct hocket_error *err);
