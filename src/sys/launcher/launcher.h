/* The launchers' side of sys/launch.h and sys/launcher/launchers.h. */
#pragma once

/* The nursery takes descriptors from the host at descriptor 3: four in each message, which are
 * made the standard input, output and error of the program and the launcher's own descriptor 3, a
 * socket to the host. */
#define HOCKET__LAUNCHER_SOCKET 3
#define HOCKET__LAUNCHER_FDS    4
/* argv[1] of a program that is to act as the nursery. */
#define HOCKET__LAUNCHER_WORD "--hocket-launcher"

/* Forks a launcher for each message until the host has gone, and ends the process. Each launcher
 * runs one program as the request on its socket says. */
_Noreturn void hocket__launcher_main(void);

struct hocket__launch_result;

/* One launcher's work, in its own process. */
_Noreturn void hocket__launcher_run(void);

void hocket__launcher_send(int socket, const struct hocket__launch_result *r);
