/* What programs may read of the system, and the limits that every level has. /etc is named
 * file by file: the whole of it holds what a tool has no use for (shadow, keys of services,
 * sudoers). */
#include "os/linux/sandbox.h"

#include "base/system_names.h"
#include "os/linux/tree.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const hocket__system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/fonts",
    "/etc/group",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/java-17-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    NULL,
};

static int limit(int what, int64_t value, const char *name, struct hocket__sandbox_error *err)
{
    struct rlimit now;
    if (value <= 0 || getrlimit(what, &now) < 0)
        return 0;
    rlim_t wanted = (rlim_t) value;
    /* a limit of the host's own holds for its programs as well; only root could raise it */
    if (now.rlim_max != RLIM_INFINITY && wanted > now.rlim_max)
        wanted = now.rlim_max;
    struct rlimit r = { wanted, wanted };
    if (setrlimit(what, &r) == 0)
        return 0;
    snprintf(err->text, sizeof(err->text), "cannot limit %s: %s", name, hocket__errno_text(errno));
    return HOCKET_EUNSUPPORTED;
}

/* Root without capabilities is an ordinary user that owns root's files: without a bounding set
 * exec gives none back. Who has none to begin with may not ask, and need not. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    syscall(SYS_capset, &head, none);
}

/* The kernel counts all processes of the user, but not root's. So the number of running processes
 * is added, and for root only the launcher counts. */
int hocket__sandbox_limit_processes(
    const struct hocket__launch *l, struct hocket__sandbox_error *err)
{
    struct rlimit now;
    int64_t more = l->limits.processes;
    if (more <= 0 || geteuid() == 0 || getrlimit(RLIMIT_NPROC, &now) < 0)
        return 0;
    int64_t wanted = hocket__tree_of_user() + more;
    if (now.rlim_cur != RLIM_INFINITY && (rlim_t) wanted > now.rlim_cur)
        return 0;
    return limit(RLIMIT_NPROC, wanted, "processes", err);
}

int hocket__sandbox_give_up_rights(
    const struct hocket__launch *l, struct hocket__sandbox_error *err)
{
    if (l->sandbox != HOCKET__SANDBOX_BWRAP)
        drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        return 0;
    snprintf(err->text, sizeof(err->text), "cannot give up new privileges: %s",
        hocket__errno_text(errno));
    return HOCKET_EUNSUPPORTED;
}

int hocket__sandbox_limit(const struct hocket__launch *l, struct hocket__sandbox_error *err)
{
    const struct hocket__launch_limits *m = &l->limits;
    struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    if (limit(RLIMIT_CPU, m->cpu_s, "CPU time", err) < 0
        || limit(RLIMIT_FSIZE, m->file_bytes, "the size of files", err) < 0
        || limit(RLIMIT_NOFILE, m->open_files, "open files", err) < 0)
        return HOCKET_EUNSUPPORTED;
    return limit(RLIMIT_DATA, m->memory, "memory", err);
}
