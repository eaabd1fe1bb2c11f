/* What libuv needs of descriptors, which it aborts without: that there are some left for its pipes, that they can be
 * watched, and that none of its own is 0, 1 or 2. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HOCKET__DESCRIPTORS_MAX 16

/* Whether `n` more could be opened now (at most HOCKET__DESCRIPTORS_MAX), and one of them be watched by an
 * epoll set (-1: that is not looked at). 0, or the errno that says why not. Other threads may take what was
 * there a moment ago. */
int hocket__descriptors_left(int n, int epoll);

/* Opens /dev/null in the place of each of 0, 1 and 2 that is closed, so that the next descriptor is none of
 * them. As before, nothing can be read from 0 nor written to 1 and 2 then (EBADF). They stay open. To be called
 * before each loop that is made: the program may close them at any time. 0, or the errno of what failed. */
int hocket__descriptors_hold_standard(void);

/* One that does nothing, to be given up for a moment when there is no other: -1 where there is none now. */
int hocket__descriptors_open_spare(void);
void hocket__descriptors_close_spare(int fd);

/* Sends the n descriptors (at most HOCKET__DESCRIPTORS_SENT) over a local socket, with one byte beside them; they stay
 * open here. 0, or errno. */
#define HOCKET__DESCRIPTORS_SENT 4
int hocket__descriptors_send(int socket, const int *fds, size_t n);

/* So many the process may have open. */
uint64_t hocket__descriptors_limit(void);

/* The system's words for an errno; where descriptors are out, with the limit. In `words` when they are not
 * the system's own. */
#define HOCKET__ERRNO_WORDS 80
const char *hocket__errno_words(int code, char words[HOCKET__ERRNO_WORDS]);
