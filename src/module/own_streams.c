/* The C library's streams under names of ours, for the Lua that is linked into libhocket-bridge. Its archive is made for
 * programs: it reads `stdout` as only a program can, which has a copy of that variable. The build gives it these instead
 * (cmake/HocketBridge.cmake). */
#include <stdio.h>

extern FILE *hocket__own_stdin, *hocket__own_stdout, *hocket__own_stderr;
FILE *hocket__own_stdin, *hocket__own_stdout, *hocket__own_stderr;

__attribute__((constructor)) static void take_streams(void)
{
    hocket__own_stdin = stdin;
    hocket__own_stdout = stdout;
    hocket__own_stderr = stderr;
}
