/* hocket.internal.core.broker (lua_broker.c). */
#pragma once

#include <lua.h>

int hocket__open_broker(lua_State *L);

/* A job at `arg`; raises when it is none. It lives as long as its object in Lua does. */
struct hocket__lua_job;
struct hocket__lua_job *hocket__check_job(lua_State *L, int arg);
/* The job makes progress, and so do the jobs that wait for it. */
void hocket__job_touch(struct hocket__lua_job *j);
