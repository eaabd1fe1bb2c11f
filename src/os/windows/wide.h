/* Names and errors of Windows for the files of this folder: it has names in UTF-16, and hocket in UTF-8. */
#pragma once

#include <stddef.h>
#include <wchar.h>

/* A text in UTF-16, from malloc. NULL: out of memory, or no UTF-8; errno says which. */
wchar_t *hocket__wide(const char *text);
/* The same of a path, absolute and in the form that may be longer than 260 characters. */
wchar_t *hocket__wide_path(const char *path);
/* In UTF-8, with "/" in place of "\" and without the mark of a long path. From malloc; NULL: out of memory. */
char *hocket__narrow_path(const wchar_t *wide);

/* The path of an open file or folder, links resolved, as hocket__narrow_path has it; `opened` is how it was opened. */
char *hocket__final_path(void *handle, const wchar_t *opened);
/* The same of a file or folder with this name. NULL and errno. */
char *hocket__real_path(const char *path);

/* Sets errno to what an error of Windows is elsewhere; returns -1. */
int hocket__win_fail(unsigned long code);
/* The same with GetLastError. */
int hocket__win_failed(void);

/* A descriptor of an open handle, which it takes: the caller closes it with _close. -1 and errno. */
int hocket__win_descriptor(void *handle, int flags);
void *hocket__win_handle(int fd);

/* Moves a file over another one. It waits for a program that has the other one open for a moment, as virus scanners do:
 * at most a second. 0, or -1 and errno. */
int hocket__win_replace(const wchar_t *from, const wchar_t *to);
/* Waits a little before the next try; false: it was the last one. */
int hocket__win_again(int *tries);
