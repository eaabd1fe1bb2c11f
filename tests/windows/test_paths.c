/* Names of files as Windows has them: long ones, of other alphabets, of drives and of shares; a file that another process has
 * open; line ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <uv.h> /* before windows.h, which lacks sockets otherwise */
#include <windows.h>

#include "base/alloc.h"
#include "os/file.h"
#include "os/fs.h"
#include "os/root.h"
#include "os/store_place.h"
#include "os/watch.h"
#include "os/windows/wide.h"

#define HOLD "hold" /* argv[1] of a process that has a file open: argv[2], for argv[3] ms */

static char self[MAX_PATH], folder[MAX_PATH];

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void holds(const char *path, const char *expected)
{
    struct hocket__buf text;
    hocket__buf_init(&text, &hocket__malloc, 0);
    assert_int_equal(hocket__file_read(path, 4096, &text, NULL), 0);
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
    hocket__buf_deinit(&text);
}

static int put(const char *path, const char *text, struct hocket_error *err)
{
    return hocket__file_write(path, hocket__cstr(text), false, 0600, err);
}

static void note(void *ud, const char *name, bool is_dir)
{
    (void) is_dir;
    if (strcmp(name, "Grüße an 日本 🙂.txt") == 0)
        *(bool *) ud = true;
}

static void spaces_and_letters_of_any_alphabet(void **state)
{
    (void) state;
    char dir[4096];
    bool seen = false;
    snprintf(dir, sizeof(dir), "%s", in_folder("my games/Ελληνικά"));
    assert_int_equal(hocket__dir_make(dir, false, NULL), 0);
    const char *path = in_folder("my games/Ελληνικά/Grüße an 日本 🙂.txt");
    assert_int_equal(put(path, "hello", NULL), 0);
    holds(path, "hello");
    assert_int_equal(hocket__dir_list(dir, note, &seen, NULL), 0);
    assert_true(seen);
}

static void on_change(void *ud)
{
    *(bool *) ud = true;
}

/* A change of a file in `dir` is noticed. */
static void notices(const char *dir, const char *file)
{
    uv_loop_t loop;
    struct hocket__watch *watch;
    bool changed = false;
    uv_loop_init(&loop);
    assert_int_equal(
        hocket__watch_new(&loop, &hocket__malloc, on_change, &changed, &watch, NULL), 0);
    assert_int_equal(hocket__watch_add(watch, dir, NULL), 0);
    assert_int_equal(put(file, "changed", NULL), 0);
    for (int i = 0; i < 5000 && !changed; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        Sleep(1);
    }
    assert_true(changed);
    hocket__watch_close(watch, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* What a project does with its folder. */
static void is_a_project(const char *dir)
{
    struct hocket__root *root;
    struct hocket__root_info info;
    struct hocket_error err = { 0 };
    char path[4096], real[4096];
    uv_stat_t stat;
    snprintf(path, sizeof(path), "%s/file.txt", dir);
    assert_int_equal(put(path, "far down", &err), 0);
    holds(path, "far down");
    assert_int_equal(put(path, "twice", &err), 0);
    assert_int_equal(hocket__fs_stat(path, &stat), 0);
    assert_int_equal(stat.st_size, 5);
    assert_true(hocket__fs_real(dir, real, sizeof(real)));
    int fd = hocket__fs_open(path);
    assert_true(fd >= 0);
    hocket__fs_close(fd);
    if (hocket__root_open(dir, &root, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(hocket__root_dir(root), real);
    fd = hocket__root_file(root, "file.txt", &info, &err);
    assert_true(fd >= 0);
    assert_int_equal(info.size, 5);
    hocket__root_close(fd);
    hocket__root_unref(root);
    notices(dir, path);
}

static void paths_of_more_than_260_characters(void **state)
{
    (void) state;
    static const char part[] = "a-name-of-fifty-characters-as-nobody-would-give-it";
    char dir[4096], path[4096];
    struct hocket_error err = { 0 };
    struct hocket__buf real;
    struct hocket__root *root;
    struct hocket__root_info info;
    bool looks;
    snprintf(dir, sizeof(dir), "%s/%s/%s/%s/%s/%s/%s", folder, part, part, part, part, part, part);
    assert_true(strlen(dir) > 300);
    assert_int_equal(hocket__dir_make(dir, false, &err), 0);
    is_a_project(dir);
    snprintf(path, sizeof(path), "%s/runs.db", dir);
    hocket__buf_init(&real, &hocket__malloc, 0);
    assert_int_equal(hocket__store_place(path, &real, &looks, &err), 0);
    assert_memory_equal(real.data, "\\\\?\\", 4); /* SQLite takes it in this form alone */
    hocket__buf_deinit(&real);
    assert_int_equal(hocket__root_open(folder, &root, &err), 0);
    int fd = hocket__root_file(root, path + strlen(folder) + 1, &info, &err);
    assert_true(fd >= 0);
    hocket__root_close(fd);
    hocket__root_unref(root);
}

/* By the share that Windows makes of each drive, for administrators; wine.sh has one too. */
static void a_project_on_a_share(void **state)
{
    (void) state;
    char dir[4096], store[4200];
    struct hocket__buf real;
    struct hocket_error err = { 0 };
    uv_stat_t stat;
    bool looks;
    snprintf(dir, sizeof(dir), "//localhost/%c$/%s", folder[0] | 32, folder + 3);
    if (hocket__fs_stat(dir, &stat) < 0) {
        assert_null(getenv("HOCKET_TEST_SHARE"));
        print_message("skipped: %s: this user may not use it\n", dir);
        return;
    }
    is_a_project(dir);
    snprintf(store, sizeof(store), "%s/runs.db", dir);
    hocket__buf_init(&real, &hocket__malloc, 0);
    assert_int_equal(hocket__store_place(store, &real, &looks, &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "//localhost"));
    assert_non_null(strstr(err.message, "network file system"));
    hocket__buf_deinit(&real);
}

static void names_of_drives_and_shares(void **state)
{
    (void) state;
    wchar_t *wide = hocket__wide_path("//server/share/a/../b.txt");
    char *narrow = hocket__narrow_path(wide);
    assert_int_equal(wcscmp(wide, L"\\\\?\\UNC\\server\\share\\b.txt"), 0);
    assert_string_equal(narrow, "//server/share/b.txt");
    free(wide);
    free(narrow);
    wide = hocket__wide_path("C:/a\\b/./c");
    assert_int_equal(wcscmp(wide, L"\\\\?\\C:\\a\\b\\c"), 0);
    free(wide);
    assert_true(hocket__fs_is_absolute("C:/a"));
    assert_true(hocket__fs_is_absolute("c:\\a"));
    assert_true(hocket__fs_is_absolute("\\\\server\\share"));
    assert_true(hocket__fs_is_absolute("//server/share"));
    assert_false(hocket__fs_is_absolute("C:a"));
    assert_false(hocket__fs_is_absolute("a/b"));
}

/* What this program does in the other process. */
static int hold(const char *path, int ms)
{
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    free(wide);
    printf("open\n");
    fflush(stdout);
    Sleep((DWORD) ms);
    return h == INVALID_HANDLE_VALUE;
}

/* Starts it, and waits until it has the file open. */
static HANDLE start_holder(const char *path, int ms)
{
    char line[3 * MAX_PATH], said[16];
    SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
    STARTUPINFOA start = { .cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES };
    PROCESS_INFORMATION made;
    HANDLE ours;
    DWORD n;
    assert_true(CreatePipe(&ours, &start.hStdOutput, &inherited, 0));
    snprintf(line, sizeof(line), "\"%s\" " HOLD " \"%s\" %d", self, path, ms);
    assert_true(CreateProcessA(self, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made));
    CloseHandle(start.hStdOutput);
    assert_true(ReadFile(ours, said, sizeof(said), &n, NULL));
    CloseHandle(ours);
    CloseHandle(made.hThread);
    return made.hProcess;
}

static void end_holder(HANDLE process)
{
    DWORD code = 9;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    assert_int_equal(code, 0);
}

static void a_file_that_another_process_has_open_is_waited_for(void **state)
{
    (void) state;
    char path[4096];
    snprintf(path, sizeof(path), "%s", in_folder("scanned.txt"));
    assert_int_equal(put(path, "old", NULL), 0);
    HANDLE process = start_holder(path, 200);
    assert_int_equal(put(path, "new", NULL), 0);
    holds(path, "new");
    end_holder(process);
}

static void one_that_stays_open_keeps_its_content(void **state)
{
    (void) state;
    char path[4096];
    struct hocket_error err = { 0 };
    snprintf(path, sizeof(path), "%s", in_folder("kept.txt"));
    assert_int_equal(put(path, "old", NULL), 0);
    HANDLE process = start_holder(path, 60000);
    assert_int_equal(put(path, "new", &err), HOCKET_EDENIED);
    assert_non_null(strstr(err.message, "kept.txt"));
    holds(path, "old");
    TerminateProcess(process, 0);
    end_holder(process);
    assert_int_equal(put(path, "new", NULL), 0);
    holds(path, "new");
}

static void line_ends_stay_as_they_are(void **state)
{
    (void) state;
    const char *text = "dos\r\nunix\nold mac\r\x1a the end";
    char path[4096];
    snprintf(path, sizeof(path), "%s", in_folder("lines.txt"));
    assert_int_equal(put(path, text, NULL), 0);
    holds(path, text);
    int fd = hocket__file_begin(path, NULL);
    assert_true(fd >= 0);
    assert_int_equal(hocket__file_append(fd, path, hocket__cstr("a\nb\r\n"), NULL), 0);
    assert_int_equal(hocket__file_close(fd, path, NULL), 0);
    holds(path, "a\nb\r\n");
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], HOLD) == 0)
        return hold(argv[2], atoi(argv[3]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_and_letters_of_any_alphabet),
        cmocka_unit_test(paths_of_more_than_260_characters),
        cmocka_unit_test(a_project_on_a_share),
        cmocka_unit_test(names_of_drives_and_shares),
        cmocka_unit_test(a_file_that_another_process_has_open_is_waited_for),
        cmocka_unit_test(one_that_stays_open_keeps_its_content),
        cmocka_unit_test(line_ends_stay_as_they_are),
    };
    char pattern[MAX_PATH];
    GetModuleFileNameA(NULL, self, sizeof(self));
    GetTempPathA(sizeof(pattern) - 20, pattern);
    strcat(pattern, "hocket-XXXXXX");
    snprintf(folder, sizeof(folder), "%s", mkdtemp(pattern));
    for (char *c = folder; *c; c++)
        if (*c == '\\')
            *c = '/';
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct hocket__root *root;
    char *slash = strrchr(folder, '/');
    *slash = 0;
    if (hocket__root_open(folder, &root, NULL) == 0) {
        hocket__root_remove(root, slash + 1, NULL);
        hocket__root_unref(root);
    }
    return failed;
}
