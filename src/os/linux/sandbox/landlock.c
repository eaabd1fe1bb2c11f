/* Landlock: rules about files that a process imposes on itself and on its children. A process
 * inside can neither trace nor read the environment of one outside.
 *
 * The constants of later versions stand here, because Debian 12's headers end at version 2. Every
 * right that the kernel knows is handled; rules give back what is allowed. */
#include "os/linux/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_names.h"

#define RIGHT_TRUNCATE  (UINT64_C(1) << 14) /* version 3 */
#define RIGHT_IOCTL_DEV (UINT64_C(1) << 15) /* version 5 */
#define NET_TCP         UINT64_C(3)         /* version 4: bind and connect */
#define SCOPE_ALL       UINT64_C(3)         /* version 6: abstract sockets and signals */

#define RIGHTS_READ                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_FILE                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE     \
        | RIGHT_TRUNCATE | RIGHT_IOCTL_DEV)

struct ruleset_attr {
    uint64_t fs, net, scoped;
};

/* The version of Landlock that the kernel has, 0: none. */
static int landlock_version(void)
{
    long v = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return v > 0 ? (int) v : 0;
}

static uint64_t rights_of(int version)
{
    uint64_t rights = (UINT64_C(1) << 13) - 1; /* version 1 */
    if (version >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rights |= RIGHT_TRUNCATE;
    if (version >= 5)
        rights |= RIGHT_IOCTL_DEV;
    return rights;
}

static int fail(struct hocket__sandbox_error *err, const char *doing, const char *path)
{
    snprintf(err->text, sizeof(err->text), "Landlock: cannot %s %s: %s", doing, path,
        hocket__errno_text(errno));
    return HOCKET_EUNSUPPORTED;
}

static int open_ruleset(
    const struct hocket__launch *l, int version, struct hocket__sandbox_error *err)
{
    struct ruleset_attr attr = { .fs = rights_of(version) };
    size_t size = sizeof(attr.fs);
    /* The size says how much of the structure is meant: a kernel refuses members that it does
     * not know. */
    if (version >= 4) {
        attr.net = l->network || l->proxied ? 0 : NET_TCP;
        size = sizeof(attr.fs) + sizeof(attr.net);
    }
    if (version >= 6) {
        attr.scoped = SCOPE_ALL;
        size = sizeof(attr);
    }
    long fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    return fd < 0 ? fail(err, "make", "a rule set") : (int) fd;
}

/* What is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights, struct hocket__sandbox_error *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : fail(err, "open", path);
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= RIGHTS_FILE;
    struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };
    long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int code = errno;
    close(fd);
    errno = code;
    return rc < 0 ? fail(err, "allow", path) : 0;
}

static int allow_all(
    int ruleset, const char *const *paths, uint64_t rights, struct hocket__sandbox_error *err)
{
    for (; paths && *paths; paths++)
        if (allow(ruleset, *paths, rights, err) < 0)
            return HOCKET_EUNSUPPORTED;
    return 0;
}

static int allow_devices(int ruleset, uint64_t all, struct hocket__sandbox_error *err)
{
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
        "/dev/urandom", NULL };
    return allow_all(
        ruleset, devices, all & RIGHTS_FILE & ~(uint64_t) LANDLOCK_ACCESS_FS_EXECUTE, err);
}

/* Rules only ever add rights: a guarded path below a writable one is guard.c's. */
int hocket__landlock_apply(
    const struct hocket__launch *l, const char *tmp, struct hocket__sandbox_error *err)
{
    int version = landlock_version();
    if (version == 0) {
        snprintf(
            err->text, sizeof(err->text), "this kernel has no Landlock, or it is switched off");
        return HOCKET_EUNSUPPORTED;
    }
    int ruleset = open_ruleset(l, version, err);
    if (ruleset < 0)
        return ruleset;
    uint64_t all = rights_of(version), read = RIGHTS_READ;
    if (allow_all(ruleset, hocket__system_paths, read, err) < 0
        || allow_all(ruleset, l->readable, read, err) < 0
        || allow_all(ruleset, l->writable, all & ~RIGHT_IOCTL_DEV, err) < 0
        || allow(ruleset, "/proc", read, err) < 0
        || allow(ruleset, tmp, all & ~RIGHT_IOCTL_DEV, err) < 0
        || allow_devices(ruleset, all, err) < 0)
        return HOCKET_EUNSUPPORTED;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return fail(err, "enforce", "the rules");
    close(ruleset);
    return 0;
}
