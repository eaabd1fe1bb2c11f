/* What the tests use of POSIX and MinGW does not have; every test is compiled with it (`-include`). The product has no such
 * layer: what it needs of a system is in src/os. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

char *mkdtemp(char *pattern);
int mkstemps(char *pattern, int suffix);
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
void *memmem(const void *in, size_t n, const void *what, size_t m);
char *stpcpy(char *to, const char *from);
int rand_r(unsigned *seed);
void srandom(unsigned seed);
long random(void);
struct tm *gmtime_r(const time_t *at, struct tm *out);
