/* Where a stream's bytes come from and go to: one socket, or the two ends of this process's standard input and output, which
 * may be sockets, pipes, terminals and files.
 *
 * Neither end of the latter becomes non-blocking: that would hold for whoever else has it, the terminal's shell among them. So
 * they stand in an epoll set of their own, an end is read when that says so, and written to in pieces that a pipe takes
 * without waiting. A file is always ready, and in no set. SIGPIPE is raised by none of it. */
#pragma once

#include "base/status.h"

#include <sys/types.h>

struct hocket__ends {
    int in, out;
    int set; /* epoll; -1: one socket, that the loop watches itself */
    bool in_is_file, out_is_file, in_is_socket, out_is_socket;
    unsigned wanted; /* what the set watches */
};

enum { HOCKET__END_IN = 1, HOCKET__END_OUT = 2 };

void hocket__ends_of_socket(struct hocket__ends *e, int fd);

/* Takes standard input and output away from the process: from now on its input is empty, and what it prints goes to standard
 * error, so that nothing else can get in between the lines. ELIMIT, EIO. */
int hocket__ends_take_stdio(struct hocket__ends *e, struct hocket_error *err);

/* The descriptor for the loop to poll. */
int hocket__ends_fd(const struct hocket__ends *e);
/* Of a set: what is to be watched from now on, and what is ready now. */
void hocket__ends_watch(struct hocket__ends *e, unsigned what);
unsigned hocket__ends_ready(const struct hocket__ends *e);

/* As read and write, which never wait: -1 with EAGAIN. */
ssize_t hocket__ends_read(const struct hocket__ends *e, char *to, size_t n);
ssize_t hocket__ends_write(const struct hocket__ends *e, const char *from, size_t n);

/* Standard input and output go back to where they were taken from. */
void hocket__ends_close(struct hocket__ends *e);
