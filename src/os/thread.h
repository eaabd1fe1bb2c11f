/* Threads of ours in somebody else's program; locks and conditions are libuv's. */
#pragma once

#include <stdbool.h>
#include <uv.h>

/* Starts one with all signals blocked: the program's handlers run on the program's threads. `stack`: bytes. Returns 0 or
 * an errno. uv_thread_join waits for its end. */
int hocket__thread_start(uv_thread_t *thread, size_t stack, void *(*work)(void *), void *arg);

/* ---- Wakes a thread that waits for a socket ------------------------------------------------ */

#define HOCKET__WOKEN (UV_DISCONNECT << 8) /* besides what a socket may have */

/* What is woken: closed by hocket__waker_close; -1: there is no descriptor left. */
int hocket__waker_open(void);
void hocket__waker_close(int waker);

/* From any thread. Once is as good as often. */
void hocket__waker_wake(int waker);
/* Whether it was woken since this was asked last. */
bool hocket__waker_take(int waker);
/* Waits for a socket (-1: for none) to have one of `events` (UV_READABLE, UV_WRITABLE), or to be woken, ms at most.
 * 0: the time is over; else UV_READABLE when the socket has anything, and HOCKET__WOKEN. */
int hocket__waker_wait(int waker, int socket, int events, int ms);
