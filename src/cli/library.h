/* Libraries that few runs of the program need: loaded when they are first asked for. */
#pragma once

#include <stdbool.h>

/* Writes the addresses of a library's functions into `table`, a struct of nothing but pointers to functions; `names`: theirs
 * in this order, each with a NUL behind it: "first\0second\0". It stays loaded. False: it is not there, or another one. */
bool cli_library_load(const char *library, const char *names, void *table);
