/* git's wildmatch, for patterns of .gitignore and of searches. */
#pragma once

#include <stdbool.h>

/* '*' and '?' and classes do not match '/'; "**" between slashes, or at an end, matches any number
 * of directories. Time is bounded: a star that cannot succeed ends those before it. */
bool hocket__wildmatch(const char *pattern, const char *text);
