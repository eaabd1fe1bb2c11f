/* Attacks on the root: everything is tried with openat2 and without it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/temp.h"
#include "os/root.h"
#include "os/search/search.h"

#define SECRET "the secret outside"

static char base[TEST_TEMP_PATH]; /* base/root is the root, base/outside holds the secret */
static struct hocket__root *root;

static const char *at(const char *name)
{
    static char paths[8][TEST_TEMP_PATH + 64];
    static int turn;
    char *p = paths[turn++ % 8];
    snprintf(p, sizeof(paths[0]), "%s/%s", base, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void check_content(const char *name, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(at(name), "rb");
    assert_non_null(f);
    got[fread(got, 1, sizeof(got) - 1, f)] = 0;
    fclose(f);
    assert_string_equal(got, text);
}

static int setup_root(bool plain)
{
    struct hocket_error err;
    if (!test_temp_dir(base))
        return -1;
    mkdir(at("root"), 0777);
    mkdir(at("root/sub"), 0777);
    mkdir(at("outside"), 0777);
    put("outside/secret", SECRET);
    put("root/file", "inside");
    put("root/sub/file", "deep");
    if (hocket__root_open(at("root"), &root, &err) < 0)
        return -1;
    if (plain)
        hocket__root_plain(root);
    return 0;
}

static int with_openat2(void **state)
{
    return setup_root(false);
}

static int without_openat2(void **state)
{
    return setup_root(true);
}

static int teardown(void **state)
{
    char command[TEST_TEMP_PATH + 8];
    hocket__root_unref(root);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command);
}

static int read_at(const char *path, char *out, struct hocket_error *err)
{
    struct hocket__root_info info;
    struct hocket__buf b;
    int fd = hocket__root_file(root, path, &info, err);
    if (fd < 0)
        return fd;
    hocket__buf_init(&b, &hocket__malloc, 0);
    int rc = hocket__root_slurp(fd, path, 1000, &b, err);
    close(fd);
    if (out)
        snprintf(out, 256, "%s", b.data ? b.data : "");
    hocket__buf_deinit(&b);
    return rc;
}

static void hash_of(const char *text, unsigned char hash[HOCKET__HASH])
{
    hocket__root_hash(hocket__cstr(text), NULL, hash);
}

/* ---- Paths ------------------------------------------------------------------------- */

static int path_of(const char *text, char out[256], struct hocket_error *err)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    int rc = hocket__root_path(root, hocket__cstr(text), &b, err);
    snprintf(out, 256, "%s", b.data ? b.data : "");
    hocket__buf_deinit(&b);
    return rc;
}

static void test_paths(void **state)
{
    static const char *const good[][2] = { { "a", "a" }, { "./a//b/", "a/b" }, { "a/../b", "b" },
        { "", "." }, { ".", "." }, { "a/..", "." }, { "a/./b/../c", "a/c" }, { "...", "..." },
        { "a/..b", "a/..b" } };
    static const char *const bad[] = { "..", "../a", "a/../..", "a/../../b", "/etc/passwd", "/",
        "./.././a" };
    char out[256], absolute[300];
    struct hocket_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(path_of(good[i][0], out, &err), 0);
        assert_string_equal(out, good[i][1]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(path_of(bad[i], out, &err), HOCKET_EDENIED);
    snprintf(absolute, sizeof(absolute), "%s/sub/file", hocket__root_dir(root));
    assert_int_equal(path_of(absolute, out, &err), 0);
    assert_string_equal(out, "sub/file");
    assert_int_equal(path_of(hocket__root_dir(root), out, &err), 0);
    snprintf(absolute, sizeof(absolute), "%s2/file", hocket__root_dir(root));
    assert_int_equal(path_of(absolute, out, &err), HOCKET_EDENIED);
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    assert_int_equal(hocket__root_path(root, hocket__str("a\0b", 3), &b, &err), HOCKET_EINVAL);
    hocket__buf_deinit(&b);
}

/* ---- Reading -------------------------------------------------------------------------- */

static void test_reading(void **state)
{
    char text[256];
    struct hocket_error err;
    assert_int_equal(read_at("file", text, &err), 0);
    assert_string_equal(text, "inside");
    assert_int_equal(read_at("sub/file", text, &err), 0);
    assert_string_equal(text, "deep");
    assert_int_equal(read_at("none", NULL, &err), HOCKET_ENOTFOUND);
    assert_int_equal(read_at("sub", NULL, &err), HOCKET_EINVAL);
    char big[1002];
    memset(big, 'x', 1001);
    big[1001] = 0;
    put("root/big", big);
    assert_int_equal(read_at("big", NULL, &err), HOCKET_ELIMIT);
    big[1000] = 0;
    put("root/big", big);
    assert_int_equal(read_at("big", NULL, &err), 0);
}

static void test_nothing_leads_out(void **state)
{
    static const char *const names[] = { "absolute", "relative", "folder/secret", "chain",
        "proc/root/etc/hostname", "self/cwd", "hard", "sub/../../outside/secret" };
    struct hocket_error err;
    assert_int_equal(symlink(at("outside/secret"), at("root/absolute")), 0);
    assert_int_equal(symlink("../outside/secret", at("root/relative")), 0);
    assert_int_equal(symlink("../outside", at("root/folder")), 0);
    assert_int_equal(symlink("relative", at("root/chain")), 0);
    assert_int_equal(symlink("/proc/self", at("root/proc")), 0);
    assert_int_equal(symlink("/proc/self", at("root/self")), 0);
    assert_int_equal(link(at("outside/secret"), at("root/hard")), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], "hard")
            == 0) { /* as package managers make them: read, never changed */
            assert_int_equal(read_at(names[i], NULL, &err), 0);
            err.message[0] = 0;
        } else {
            assert_true(read_at(names[i], NULL, &err) < 0);
        }
        assert_null(strstr(err.message, base)); /* tells nothing of outside */
        assert_true(hocket__root_write(root, names[i], HOCKET__STR("x"), NULL, &err) < 0);
        unsigned char hash[HOCKET__HASH];
        hash_of(SECRET, hash);
        assert_true(hocket__root_write(root, names[i], HOCKET__STR("x"), hash, &err) < 0);
        assert_true(hocket__root_move(root, "file", names[i], hash, &err) < 0);
        assert_true(hocket__root_move(root, names[i], "taken", NULL, &err) < 0);
    }
    assert_true(hocket__root_write(root, "folder/new", HOCKET__STR("x"), NULL, &err) < 0);
    assert_int_equal(hocket__root_folder(root, "folder", &err), HOCKET_EDENIED);
    assert_non_null(strstr(err.message, "lead"));
    assert_true(
        hocket__root_write(root, "sub/../../outside/new", HOCKET__STR("x"), NULL, &err) < 0);
    assert_true(hocket__root_write(root, "../outside/new", HOCKET__STR("x"), NULL, &err) < 0);
    assert_true(hocket__root_move(root, "file", "sub/../../outside/new", NULL, &err) < 0);
    check_content("outside/secret", SECRET);
    assert_int_equal(access(at("outside/new"), F_OK), -1);
}

static void test_links_inside(void **state)
{
    char text[256];
    struct hocket_error err;
    struct hocket__root_info info;
    assert_int_equal(symlink("sub/file", at("root/link")), 0);
    if (read_at("link", text, &err) == 0)
        assert_string_equal(text, "deep"); /* the plain way follows none */
    assert_true(hocket__root_write(root, "link", HOCKET__STR("x"), NULL, &err) < 0);
    assert_int_equal(symlink("../outside", at("root/out")), 0);
    assert_int_equal(hocket__root_info(root, "out", &info, &err), 0);
    assert_int_equal(info.kind, 'l');
    assert_int_equal(hocket__root_info(root, "sub", &info, &err), 0);
    assert_int_equal(info.kind, 'd');
    assert_int_equal(hocket__root_info(root, ".", &info, &err), 0);
    assert_int_equal(info.kind, 'd');
    assert_int_equal(hocket__root_info(root, "out/secret", &info, &err) < 0, 1);
}

static void test_pipes_do_not_block(void **state)
{
    unsigned char hash[HOCKET__HASH];
    struct hocket_error err;
    assert_int_equal(mkfifo(at("root/pipe"), 0666), 0);
    alarm(5);
    assert_int_equal(read_at("pipe", NULL, &err), HOCKET_EINVAL);
    hash_of("", hash);
    assert_true(hocket__root_write(root, "pipe", HOCKET__STR("x"), hash, &err) < 0);
    assert_true(hocket__root_write(root, "pipe", HOCKET__STR("x"), NULL, &err) < 0);
    alarm(0);
}

/* ---- Writing ------------------------------------------------------------------------------ */

static void test_writing(void **state)
{
    unsigned char hash[HOCKET__HASH];
    struct hocket_error err;
    struct stat st;
    assert_int_equal(hocket__root_write(root, "a/b/c", HOCKET__STR("new"), NULL, &err), 0);
    check_content("root/a/b/c", "new");
    assert_int_equal(
        hocket__root_write(root, "a/b/c", HOCKET__STR("x"), NULL, &err), HOCKET_EEXIST);
    assert_int_equal(chmod(at("root/a/b/c"), 0751), 0);
    hash_of("old", hash);
    assert_int_equal(
        hocket__root_write(root, "a/b/c", HOCKET__STR("x"), hash, &err), HOCKET_ESTATE);
    check_content("root/a/b/c", "new");
    hash_of("new", hash);
    assert_int_equal(hocket__root_write(root, "a/b/c", HOCKET__STR("newer"), hash, &err), 0);
    check_content("root/a/b/c", "newer");
    assert_int_equal(stat(at("root/a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0751);
    assert_int_equal(hocket__root_write(root, "gone", HOCKET__STR("x"), hash, &err), HOCKET_ESTATE);
    assert_int_equal(
        hocket__root_write(root, "file/x", HOCKET__STR("x"), NULL, &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__root_write(root, ".", HOCKET__STR("x"), NULL, &err), HOCKET_EINVAL);
    assert_true(hocket__root_write(root, "sub", HOCKET__STR("x"), NULL, &err) < 0);
}

static void test_moving(void **state)
{
    unsigned char hash[HOCKET__HASH];
    struct hocket_error err;
    assert_int_equal(hocket__root_move(root, "file", "x/y/moved", NULL, &err), 0);
    check_content("root/x/y/moved", "inside");
    assert_int_equal(hocket__root_move(root, "file", "z", NULL, &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__root_move(root, "x/y/moved", "sub/file", NULL, &err), HOCKET_EEXIST);
    hash_of("other", hash);
    assert_int_equal(hocket__root_move(root, "x/y/moved", "sub/file", hash, &err), HOCKET_ESTATE);
    check_content("root/sub/file", "deep");
    check_content("root/x/y/moved", "inside");
    hash_of("deep", hash);
    assert_int_equal(hocket__root_move(root, "x/y/moved", "sub/file", hash, &err), 0);
    check_content("root/sub/file", "inside");
    assert_int_equal(access(at("root/x/y/moved"), F_OK), -1);
    assert_int_equal(hocket__root_move(root, "sub", "folder", NULL, &err), 0);
    check_content("root/folder/file", "inside");
    assert_true(hocket__root_move(root, "folder", "folder/inside", NULL, &err) < 0);
    assert_int_equal(hocket__root_move(root, ".", "q", NULL, &err), HOCKET_EINVAL);
}

static void count(void *ud, const char *name, const struct hocket__root_info *info)
{
    char *seen = ud;
    seen[strlen(seen)] = info->kind;
}

static void test_listing(void **state)
{
    char seen[10] = "";
    struct hocket_error err;
    assert_int_equal(symlink("/etc", at("root/etc")), 0);
    assert_int_equal(hocket__root_list(root, ".", 10, count, seen, &err), 0);
    assert_int_equal(strlen(seen), 3);
    assert_non_null(strchr(seen, 'l'));
    assert_int_equal(hocket__root_list(root, ".", 2, count, seen, &err), HOCKET_ELIMIT);
    assert_true(hocket__root_list(root, "etc", 10, count, seen, &err) < 0);
    assert_int_equal(hocket__root_list(root, "none", 10, count, seen, &err), HOCKET_ENOTFOUND);
}

/* Every bit of a text and its length count. */
static void test_hash(void **state)
{
    char text[200] = { 0 };
    unsigned char a[HOCKET__HASH], b[HOCKET__HASH];
    for (size_t n = 0; n <= sizeof(text); n++) {
        hocket__root_hash(hocket__str(text, n), NULL, a);
        if (n < sizeof(text)) {
            hocket__root_hash(hocket__str(text, n + 1), NULL, b);
            assert_memory_not_equal(a, b, HOCKET__HASH);
        }
        for (size_t i = 0; i < n * 8; i++) {
            text[i / 8] ^= (char) (1 << i % 8);
            hocket__root_hash(hocket__str(text, n), NULL, b);
            text[i / 8] ^= (char) (1 << i % 8);
            assert_memory_not_equal(a, b, HOCKET__HASH);
        }
    }
}

/* One that another process gave has that one's key. */
static void test_hash_of_elsewhere(void **state)
{
    unsigned char own[HOCKET__HASH], again[HOCKET__HASH],
        elsewhere[HOCKET__HASH] = "another process's key";
    (void) state;
    hocket__root_hash(hocket__cstr("text"), elsewhere, elsewhere);
    hocket__root_hash(hocket__cstr("text"), NULL, own);
    assert_memory_not_equal(own, elsewhere, HOCKET__HASH);
    hocket__root_hash(hocket__cstr("text"), elsewhere, again);
    assert_memory_equal(again, elsewhere, HOCKET__HASH);
    hocket__root_hash(hocket__cstr("texts"), elsewhere, again);
    assert_memory_not_equal(again, elsewhere, HOCKET__HASH);
}

/* ---- Races ------------------------------------------------------------------------------------
 */

#define SWAPS 100000

static bool stop;

/* Swaps a file with a link to the secret, and a directory with a link to the outside. */
static void *swap_for_ever(void *ud)
{
    int dir = open(at("root"), O_PATH | O_DIRECTORY);
    for (int i = 0; i < SWAPS && !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        syscall(SYS_renameat2, dir, "file", dir, "file.link", 2);
        syscall(SYS_renameat2, dir, "sub", dir, "sub.link", 2);
    }
    close(dir);
    return NULL;
}

static void read_in_race(int *reads)
{
    static const char *const names[] = { "file", "sub/file", "sub/secret", "file.link" };
    char text[256];
    struct hocket_error err;
    for (int i = 0; i < 4; i++)
        if (read_at(names[i], text, &err) == 0) {
            assert_null(strstr(text, "secret"));
            ++*reads;
        }
}

/* What is outside is neither found by name nor by content. */
static void search_in_race(void)
{
    struct hocket__buf out;
    struct hocket_error err;
    struct hocket__search_stats stats;
    static const char *const paths[] = { ".", "sub", "sub.link", "file" };
    for (int i = 0; i < 4; i++) {
        struct hocket__search s = { .path = paths[i],
            .pattern = HOCKET__STR("secret outside"),
            .max_results = 10,
            .max_file = 1000,
            .max_ms = 1000,
            .all = true };
        hocket__buf_init(&out, &hocket__malloc, 0);
        hocket__search(root, &s, &out, &stats, &err);
        assert_int_equal(out.len, 0);
        s.pattern = HOCKET__STR("");
        s.glob = "secret";
        hocket__search(root, &s, &out, &stats, &err);
        assert_int_equal(out.len, 0);
        hocket__buf_deinit(&out);
    }
}

static void write_in_race(int *writes)
{
    unsigned char hash[HOCKET__HASH];
    struct hocket_error err;
    hash_of(SECRET, hash);
    assert_true(hocket__root_write(root, "sub/secret", HOCKET__STR("overwritten"), hash, &err) < 0);
    assert_true(hocket__root_write(root, "file", HOCKET__STR("overwritten"), hash, &err) < 0);
    hash_of("deep", hash);
    *writes += hocket__root_write(root, "sub/file", HOCKET__STR("deep"), hash, &err) == 0;
    hocket__root_write(root, "sub/planted", HOCKET__STR("planted"), NULL, &err);
    hocket__root_move(root, "sub/planted", "sub/again", NULL, &err);
    hocket__root_move(root, "sub/secret", "stolen", NULL, &err);
}

static void test_race(void **state)
{
    pthread_t thread;
    int reads = 0, writes = 0, rounds = 0;
    assert_int_equal(symlink("../outside/secret", at("root/file.link")), 0);
    assert_int_equal(symlink("../outside", at("root/sub.link")), 0);
    stop = false;
    assert_int_equal(pthread_create(&thread, NULL, swap_for_ever, NULL), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        read_in_race(&reads);
        search_in_race();
        if (rounds++ % 8 == 0)
            write_in_race(&writes);
    }
    assert_true(rounds > 100 && reads > 0 && writes > 0);
    check_content("outside/secret", SECRET);
    assert_int_equal(access(at("outside/planted"), F_OK), -1);
    assert_int_equal(access(at("outside/again"), F_OK), -1);
    assert_int_equal(access(at("root/stolen"), F_OK), -1);
}

/* What somebody else writes at the last moment is not lost. */
static void *write_for_ever(void *ud)
{
    int *wrote = ud;
    for (int i = 0; i < 1000; i++) {
        char text[32];
        snprintf(text, sizeof(text), "theirs %d", i);
        put("root/other", text);
        if (rename(at("root/other"), at("root/file")) == 0)
            __atomic_store_n(wrote, i, __ATOMIC_RELEASE);
        if (i % 4 == 0)
            usleep(2000); /* so that some of ours get in between */
    }
    return NULL;
}

/* What is exchanged is told of first: the n-th time somebody else puts a file there. */
static int turns, most_turns;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long a[6];
    char text[32];
    va_list ap;
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_renameat2 && turns < most_turns) {
        snprintf(text, sizeof(text), "theirs %d", ++turns);
        put("root/other", text);
        assert_int_equal(rename(at("root/other"), at("root/file")), 0);
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Somebody writes between any two of our steps: the last that they wrote is what is there. */
static void test_the_newest_stays(void **state)
{
    char text[256], last[32];
    struct hocket_error err;
    unsigned char hash[HOCKET__HASH];
    (void) state;
    for (int n = 1; n < 9; n++) {
        put("root/file", "old");
        hash_of("old", hash);
        turns = 0;
        most_turns = n;
        assert_int_equal(
            hocket__root_write(root, "file", HOCKET__STR("ours"), hash, &err), HOCKET_ESTATE);
        most_turns = 0;
        assert_int_equal(turns, n);
        snprintf(last, sizeof(last), "theirs %d", n);
        assert_int_equal(read_at("file", text, &err), 0);
        assert_string_equal(text, last);
    }
}

static void test_nothing_is_lost(void **state)
{
    pthread_t thread;
    int wrote = -1;
    char text[256];
    struct hocket_error err;
    unsigned char hash[HOCKET__HASH];
    assert_int_equal(pthread_create(&thread, NULL, write_for_ever, &wrote), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        if (read_at("file", text, &err) < 0)
            continue;
        hash_of(text, hash);
        int rc = hocket__root_write(root, "file", HOCKET__STR("ours"), hash, &err);
        if (rc != 0 && rc != HOCKET_ESTATE)
            fail_msg("%d %s", rc, err.message);
    }
    assert_int_equal(wrote, 999);
    assert_int_equal(read_at("file", text, &err), 0);
    assert_true(strcmp(text, "theirs 999") == 0 || strcmp(text, "ours") == 0);
    hash_of(text, hash); /* a disk may be too slow for any of ours to have got in between */
    assert_int_equal(hocket__root_write(root, "file", HOCKET__STR("ours"), hash, &err), 0);
}

/* A chain of folders that no path could name. */
static void dig(const char *name, int depth)
{
    assert_int_equal(mkdir(at(name), 0700), 0);
    int fd = open(at(name), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(fd, "a", 0700), 0);
        int below = openat(fd, "a", O_RDONLY | O_DIRECTORY);
        assert_true(below >= 0);
        close(fd);
        fd = below;
    }
    close(openat(fd, "bottom", O_CREAT | O_WRONLY, 0600));
    close(fd);
}

static void test_removing(void **state)
{
    struct hocket_error err;
    (void) state;
    dig("root/deep", 300);
    dig("root/deep/deep-0", 40); /* a name that it would have used itself */
    assert_int_equal(hocket__root_remove(root, "deep", &err), 0);
    assert_int_equal(access(at("root/deep"), F_OK), -1);

    assert_int_equal(mkdir(at("root/shut"), 0700), 0);
    assert_int_equal(mkdir(at("root/shut/in"), 0700), 0);
    put("root/shut/in/file", "x");
    assert_int_equal(symlink("../../../outside", at("root/shut/in/link")), 0);
    assert_int_equal(link(at("outside/secret"), at("root/shut/in/second")), 0);
    assert_int_equal(mkfifo(at("root/shut/in/pipe"), 0600), 0);
    assert_int_equal(chmod(at("root/shut/in"), 0), 0);
    assert_int_equal(chmod(at("root/shut"), 0), 0);
    assert_int_equal(hocket__root_remove(root, "shut", &err), 0);
    assert_int_equal(access(at("root/shut"), F_OK), -1);
    check_content("outside/secret", SECRET);

    assert_int_equal(symlink("../outside", at("root/link")), 0);
    assert_int_equal(hocket__root_remove(root, "link/secret", &err), HOCKET_EDENIED);
    assert_int_equal(hocket__root_remove(root, "link", &err), 0);
    check_content("outside/secret", SECRET);
    assert_int_equal(hocket__root_remove(root, "file", &err), 0);
    assert_int_equal(hocket__root_remove(root, "file", &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__root_remove(root, ".", &err), HOCKET_EINVAL);
    assert_int_equal(access(at("root/sub/file"), F_OK), 0);
}

/* While it is emptied its folders become links to a folder outside, and back; so often that the race has been one. */
static void *swap_folders(void *ud)
{
    int dir = *(int *) ud;
    for (int made = 0; made < 100;) {
        renameat(dir, "pit/a", dir, "pit/b");
        made += symlinkat("../../outside", dir, "pit/a") == 0;
        unlinkat(dir, "pit/a", 0);
        mkdirat(dir, "pit/a", 0700);
    }
    return NULL;
}

static void test_removing_in_a_race(void **state)
{
    struct hocket_error err;
    pthread_t thread;
    (void) state;
    int dir = open(at("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdir(at("root/pit"), 0700), 0);
    assert_int_equal(pthread_create(&thread, NULL, swap_folders, &dir), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        hocket__root_remove(root, "pit", &err); /* may fail: it is filled */
        mkdir(at("root/pit"), 0700);
    }
    close(dir);
    check_content("outside/secret", SECRET);
    assert_int_equal(hocket__root_remove(root, "pit", &err), 0);
}

static time_t ahead; /* seconds by which this program's clock is ahead of the file system's */

int clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = (int) syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += ahead;
    return rc;
}

static void put_aged(const char *name, time_t age)
{
    struct timespec times[2];
    put(name, "left");
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, at(name), times, 0), 0);
}

static void write_later(const char *name, time_t seconds)
{
    struct hocket_error err;
    ahead = seconds;
    assert_int_equal(hocket__root_write(root, name, HOCKET__STR("new"), NULL, &err), 0);
    ahead = 0;
}

/* What a killed writer has left goes with the next write beside it; what may be another's that writes now stays, and so do files that are called
 * otherwise. */
static void test_left_files_are_swept(void **state)
{
    (void) state;
    static const char left[] = "root/.hocket-0123456789abcdef.tmp";
    static const char *const stay[] = { "root/.hocket-0123456789abcde.tmp",
        "root/.hocket-0123456789abcdeg.tmp", "root/.hocket-0123456789abcdef.txt",
        "root/sub/.hocket-0123456789abcdef.tmp" };
    put(left, "left");
    for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
        put(stay[i], "left");
    mkdir(at("root/.hocket-aaaaaaaaaaaaaaaa.tmp"), 0777);
    assert_int_equal(symlink("../outside/secret", at("root/.hocket-bbbbbbbbbbbbbbbb.tmp")), 0);
    write_later("soon", 3500);
    assert_int_equal(access(at(left), F_OK), 0);
    write_later("later", 4000);
    assert_int_equal(access(at(left), F_OK), -1);
    for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
        assert_int_equal(access(at(stay[i]), F_OK), 0);
    assert_int_equal(access(at("root/.hocket-aaaaaaaaaaaaaaaa.tmp"), F_OK), 0);
    check_content("outside/secret", SECRET);
}

/* A writer that replaces a file has the old one under this name while it compares, to put it back if it is another one. */
static void test_an_old_file_that_is_compared_stays(void **state)
{
    (void) state;
    static const char name[] = "root/.hocket-0123456789abcdef.tmp";
    put_aged("root/old", 4000);
    assert_int_equal(rename(at("root/old"), at(name)), 0);
    write_later("new", 0);
    assert_int_equal(access(at(name), F_OK), 0);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, with_openat2, teardown),                                 \
        cmocka_unit_test_setup_teardown(test, without_openat2, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = { BOTH(test_paths), BOTH(test_reading),
        BOTH(test_nothing_leads_out), BOTH(test_links_inside), BOTH(test_pipes_do_not_block),
        BOTH(test_writing), BOTH(test_left_files_are_swept),
        BOTH(test_an_old_file_that_is_compared_stays), BOTH(test_moving), BOTH(test_listing),
        cmocka_unit_test(test_hash), cmocka_unit_test(test_hash_of_elsewhere), BOTH(test_race),
        BOTH(test_the_newest_stays), BOTH(test_nothing_is_lost), BOTH(test_removing),
        BOTH(test_removing_in_a_race) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
