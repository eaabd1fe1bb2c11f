
#include "cli/service/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/datagram.h"
#include "cli/log/log.h"

#define FIRST_SOCKET 3 /* as sd_listen_fds(3) has it */

void cli_notify(const char *state, bool wait)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path)
        cli_datagram_send(path, state, strlen(state), wait);
}

/* A variable that is meant for this process and not for one that it came from. */
static bool is_for_us(const char *pid)
{
    int64_t value;
    return pid && cli_parse_int(pid, 1, INT32_MAX, &value) && value == (int64_t) getpid();
}

int64_t cli_notify_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t value;
    if (!usec || (pid && !is_for_us(pid)) || !cli_parse_int(usec, 1000, INT64_MAX / 2, &value))
        return 0;
    return value / 1000;
}

int cli_notify_socket(void)
{
    const char *count = getenv("LISTEN_FDS");
    int64_t n;
    if (!count || !is_for_us(getenv("LISTEN_PID")) || !cli_parse_int(count, 0, 1000, &n) || n == 0)
        return -1;
    if (n > 1) {
        cli_logf(CLI_LOG_ERROR,
            "hocket serve: %lld sockets were handed over (LISTEN_FDS): one is served",
            (long long) n);
        return -2;
    }
    return FIRST_SOCKET;
}
