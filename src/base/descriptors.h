/* Whether the process has descriptors left, for those that would not survive that it has none: libuv
 * aborts where a pipe of its own cannot be made, or a descriptor not be watched. */
#pragma once

#define HOCKET__DESCRIPTORS_MAX 16

/* Whether `n` more could be opened now (at most HOCKET__DESCRIPTORS_MAX), and one of them be watched by an
 * epoll set (-1: that is not looked at). 0, or the errno that says why not. Other threads may take what was
 * there a moment ago. */
int hocket__descriptors_left(int n, int epoll);

/* The system's words for an errno; where descriptors are out, with the limit. In `words` when they are not
 * the system's own. */
#define HOCKET__ERRNO_WORDS 80
const char *hocket__errno_words(int code, char words[HOCKET__ERRNO_WORDS]);
