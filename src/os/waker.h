/* Wakes a thread that waits for a socket. */
#pragma once

#include <stdbool.h>
#include <uv.h>

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
