/* The launcher's side of sys/launch.h. */
#pragma once

/* The socket to the host is descriptor 3; 0 to 2 are the program's. */
#define HOCKET__LAUNCHER_SOCKET 3
/* argv[1] of a program that is to act as the launcher. */
#define HOCKET__LAUNCHER_WORD "--hocket-launcher"

/* Runs one program as the request on the socket says, and ends the process. */
_Noreturn void hocket__launcher_main(void);
