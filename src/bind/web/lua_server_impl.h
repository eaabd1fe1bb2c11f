/* What the files of hocket.internal.core.server share.
 *
 *   lua_server.c      opening, closing, and what is asked of it
 *   server_requests.c requests as they come, and who accepts them
 *   server_answers.c  answers, and the wait for a client that does not read
 */
#pragma once

#include "base/map.h"
#include "bind/fiber/fiber.h"
#include "bind/life.h"
#include "bind/util.h"
#include "serve/server.h"

#define HOCKET__SERVER_META "hocket.server"

/* A request that waits to be accepted, with its texts in one block behind it; or the end of one. */
struct hocket__pending {
    struct hocket__list link;
    uint64_t id;
    size_t size;
    bool gone;
    struct hocket__str method, path, body;
    size_t n_headers;
    struct hocket__server_header headers[];
};

struct hocket__lua_server {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__server *server;
    struct hocket__list queue;
    size_t n_queued;
    uint64_t fiber;            /* in accept */
    struct hocket__map drains; /* request -> its wait for the client to read on */
    int self_ref;              /* keeps this userdata until the server is closed */
};

/* The one at 1, which has to be open. */
struct hocket__lua_server *hocket__check_server(lua_State *L);
/* The number of a request, at 2. */
uint64_t hocket__server_check_id(lua_State *L);

/* server_requests.c */
extern const struct hocket__server_handler
    hocket__server_handlers[2]; /* 1: ends are reported as well */
void hocket__server_drop_queue(struct hocket__lua_server *s);
int hocket__server_l_accept(lua_State *L);
int hocket__server_l_give_up(lua_State *L);
int hocket__server_l_answer(lua_State *L);

/* server_answers.c */
void hocket__server_wake_drain(struct hocket__lua_server *s, uint64_t id);
void hocket__server_wake_drains(struct hocket__lua_server *s); /* all of them, for good */
int hocket__server_l_respond(lua_State *L);
int hocket__server_l_begin(lua_State *L);
int hocket__server_l_write(lua_State *L);
int hocket__server_l_raw(lua_State *L);
int hocket__server_l_finish(lua_State *L);
int hocket__server_l_drain(lua_State *L);
int hocket__server_l_abort(lua_State *L);
