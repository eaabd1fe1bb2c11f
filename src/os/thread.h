/* Threads of ours in somebody else's program; locks and conditions are libuv's. */
#pragma once

#include <uv.h>

/* Starts one with all signals blocked: the program's handlers run on the program's threads. `stack`: bytes. Returns 0 or
 * an errno. uv_thread_join waits for its end. */
int hocket__thread_start(uv_thread_t *thread, size_t stack, void *(*work)(void *), void *arg);
