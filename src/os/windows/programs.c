#include "os/process.h"

#include <stdio.h>
#include <windows.h>

/* In UTF-8, by a slash that programs of Windows write. */
static void put(const wchar_t *wide, char *out, size_t size)
{
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, (int) size, NULL, NULL) <= 0)
        out[0] = 0;
}

bool hocket__programs_get(struct hocket__programs *out)
{
    wchar_t wide[MAX_PATH + 1] = L"";
    char system[300], windows[300];
    *out = (struct hocket__programs){ .shell = { "/d", "/s", "/c", NULL },
        .nothing = "exit 0",
        .folder = "[^;]+",
        .between = ";",
        .suffix = ".exe",
        .note = "[The shell is cmd.exe of Windows.]" };
    GetSystemDirectoryW(wide, MAX_PATH);
    put(wide, system, sizeof(system));
    GetSystemWindowsDirectoryW(wide, MAX_PATH);
    put(wide, windows, sizeof(windows));
    GetTempPathW(MAX_PATH, wide);
    size_t n = wcslen(wide);
    if (n > 3 && wide[n - 1] == L'\\')
        wide[n - 1] = 0;
    put(wide, out->temp, sizeof(out->temp));
    snprintf(out->program, sizeof(out->program), "%s\\cmd.exe", system);
    snprintf(
        out->path, sizeof(out->path), "%s;%s;%s\\WindowsPowerShell\\v1.0", system, windows, system);
    return true;
}
