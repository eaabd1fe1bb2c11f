/* Threads of ours in somebody else's program. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts one with all signals blocked: the program's handlers run on the program's threads. `stack`: bytes. Returns 0 or
 * an errno. */
int hocket__thread_start(pthread_t *thread, size_t stack, void *(*work)(void *), void *arg);
