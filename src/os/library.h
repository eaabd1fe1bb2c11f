/* Libraries that are loaded when they are first needed, as tables of their functions. */
#pragma once

#include <stdbool.h>

/* The file of a library, by its name and the number of its interface: "libcurl.so.4". Windows loads OpenSSL alone, and has its
 * way of naming. */
#if defined(_WIN32)
#define HOCKET__LIBRARY(name, number) "lib" name "-" number "-x64.dll"
#elif defined(__APPLE__)
#define HOCKET__LIBRARY(name, number) "lib" name "." number ".dylib"
#else
#define HOCKET__LIBRARY(name, number) "lib" name ".so." number
#endif

/* NULL: components lie beside the library, as libhocket-store. Else the name of a system where the library holds all. */
#if defined(_WIN32)
#define HOCKET__WHOLE_ON "Windows"
#elif defined(__APPLE__)
#define HOCKET__WHOLE_ON "macOS"
#else
#define HOCKET__WHOLE_ON NULL
#endif

enum hocket__library {
    HOCKET__LIBRARY_LOADED,
    HOCKET__LIBRARY_ABSENT, /* it is not there, or cannot be loaded now */
    HOCKET__LIBRARY_OTHER,  /* it lacks a function, and is closed again */
};

/* Loads a library for as long as the process lives, and writes the addresses of its functions into `table`, a struct of
 * nothing but pointers to functions. `names`: theirs in this order, each with a NUL behind it: "first\0second\0". A
 * symbol that the library itself needs is resolved when it is called. *why: for a missing library the linker's own
 * words, good until the thread loads another one; for an unsuitable library the name of the first function that it
 * lacks, from `names`. */
enum hocket__library hocket__library_load(
    const char *library, const char *names, void *table, const char **why);

/* The address of what `symbol` names in a library that lies beside the one that this code is in, or else in the system's
 * places; NULL, and the linker's own words in *why. */
const void *hocket__library_component(const char *library, const char *symbol, const char **why);

/* Whether two addresses lie in one library or program; true where the system does not say. */
bool hocket__library_same(const void *one, const void *other);
