/* The head of an HTTP/1 request (RFC 9112), read strictly: lines end with CRLF, nothing
 * is folded, no field may decide the framing twice. What could be read in two ways is
 * refused, so that nothing in front of the server can be made to see other requests
 * than it does. No I/O.
 *
 * Functions answer 0, a HOCKET_E… code, or the HTTP status (400 and up) to refuse with. */
#pragma once

#include "serve/server.h"

#define HOCKET__HEAD_MAX_HEADERS 128

/* Finds the end of a head in input that grows. Zeroed at the start. */
struct hocket__head_scan {
    size_t start; /* where the head begins: behind empty lines that came before it */
    size_t at;    /* bytes looked at; when found, where the head ends */
    size_t line;  /* where the current line begins */
    bool cr;
};

/* 1: `start` to `at` is a whole head; 0: more is needed; or an HTTP status, as soon as a
 * byte cannot belong to a head of at most `max` bytes. */
int hocket__head_find(struct hocket__head_scan *scan, struct hocket__str in, size_t max);

struct hocket__head {
    struct hocket__str method, path;
    struct hocket__str authority; /* of CONNECT and of "http://authority/path"; else p is NULL */
    struct hocket__server_header *headers;
    size_t n_headers, cap_headers;
    uint64_t length; /* of the body, when not chunked */
    int minor;       /* HTTP/1.minor: 0 or 1 */
    bool chunked, keep_alive, expect_continue;
};

/* Reads a head that hocket__head_find found; the slices point into `text`. `head` is
 * zeroed or was used before (its array is used again). */
int hocket__head_parse(
    struct hocket__head *head, const struct hocket_allocator *a, struct hocket__str text);
void hocket__head_deinit(struct hocket__head *head, const struct hocket_allocator *a);

/* May `c` stand in a method or a header's name? */
bool hocket__head_is_token(char c);
/* A header that may be sent: a name of token characters, a value without controls. */
bool hocket__head_is_field(struct hocket__str name, struct hocket__str value);
/* Equal but for the case of ASCII letters. */
bool hocket__head_same(struct hocket__str a, const char *name);
