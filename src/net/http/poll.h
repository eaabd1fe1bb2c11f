/* Sockets between libcurl and the loop (os/socket_set.h).
 *
 * A connection is in the set as long as its descriptor is there, from libcurl's
 * OPENSOCKETFUNCTION to its CLOSESOCKETFUNCTION. While it lies idle it goes on being
 * watched for reading: the next request on it then needs no epoll_ctl at all. A word
 * from the server in that time (mostly its close) ends the watch; libcurl finds out
 * when it wants to use the connection.
 *
 * Descriptors that libcurl makes without asking (the pipe from its resolver
 * threads) are watched only as long as it says so. */
#pragma once

#include "net/curl.h"

struct hocket__http;
struct hocket__shard;

/* Opens a socket for a connection of this shard; CURL_SOCKET_BAD when that fails. */
curl_socket_t hocket__poll_open(struct hocket__shard *shard, const struct curl_sockaddr *to);

/* Callbacks for libcurl: CLOSESOCKETFUNCTION, with the actor, and
 * CURLMOPT_SOCKETFUNCTION, with the shard. */
int hocket__poll_close(void *http, curl_socket_t fd);
int hocket__poll_want(CURL *easy, curl_socket_t fd, int what, void *shard, void *unused);

/* Closes what is left when all shards are gone. */
void hocket__poll_close_all(struct hocket__http *http);
