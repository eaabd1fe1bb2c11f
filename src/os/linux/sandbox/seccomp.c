/* The filter of system calls, as a classic BPF program (seccomp(2)).
 *
 * It refuses with EPERM what no tool needs and exploits like: a list of calls, clone and unshare
 * with flags for namespaces, ioctl that types into a terminal. clone3 carries its flags in memory,
 * which a filter cannot read: ENOSYS makes the C library fall back to clone, and to openat from
 * openat2. io_uring is among what is refused, because it would go round the filter. Where the
 * System V objects of the machine are in reach they are refused as well: they would outlive the
 * program, and some belong to others. No limit counts files in memory: a program that gets ENOSYS
 * for them takes real ones. The same goes for reserving space ahead of writing, which no limit
 * counts either.
 *
 * Sockets are of the internet's families where there is a network or one of the program's own, and
 * of AF_UNIX where that was allowed: one in the project may lead to a program outside. All others
 * (AF_NETLINK, AF_VSOCK, AF_PACKET …) are the kernel's, and never needed. A pair of sockets leads
 * nowhere, unless it is of datagrams, which can be sent to any address.
 *
 * A file that runs as its owner (setuid) outlives the sandbox: no mode may have its bits. */
#include "os/linux/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_names.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef ARCH

#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID    \
        | CLONE_NEWNET)
#define X32_BIT 0x40000000u

/* Numbers that are the same everywhere, and unknown to older headers. */
#define CALL_QUOTACTL_FD    443
#define CALL_MEMFD_SECRET   447
#define CALL_FCHMODAT2      452
#define CALL_OPEN_TREE_ATTR 467

static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_userfaultfd,
    SYS_vhangup,
    CALL_OPEN_TREE_ATTR,
    CALL_QUOTACTL_FD,
};

/* Of what is not in a namespace of its own. */
static const int shared_objects[] = {
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_msgctl,
    SYS_msgget,
    SYS_msgrcv,
    SYS_msgsnd,
    SYS_semctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_shmat,
    SYS_shmctl,
    SYS_shmget,
};

#define MAX_RULES 256

struct program {
    struct sock_filter code[MAX_RULES];
    unsigned short n;
};

static void add(struct program *p, struct sock_filter one)
{
    if (p->n < MAX_RULES)
        p->code[p->n++] = one;
}

static void load(struct program *p, size_t offset)
{
    add(p, (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) offset));
}

static void give(struct program *p, uint32_t action)
{
    add(p, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action));
}

#define ERRNO(code) (SECCOMP_RET_ERRNO | ((uint32_t) (code) &SECCOMP_RET_DATA))
#define FIELD(name) offsetof(struct seccomp_data, name)
/* Its low half: little endian. */
#define ARGUMENT(i) (FIELD(args) + (size_t) (i) * sizeof(uint64_t))

static void refuse(struct program *p, long call, int code)
{
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) call, 0, 1));
    give(p, ERRNO(code));
}

/* Begins the checks of a single call, up to the matching end_call. */
static size_t begin_call(struct program *p, long call)
{
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) call, 0, 0));
    return p->n;
}

/* Behind it the number is to be read again. */
static void end_call(struct program *p, size_t begun)
{
    p->code[begun - 1].jf = (uint8_t) (p->n - begun);
    load(p, FIELD(nr));
}

/* Refuses the call when its argument has any of the bits. */
static void refuse_bits(struct program *p, long call, int argument, uint32_t bits)
{
    size_t begun = begin_call(p, call);
    load(p, ARGUMENT(argument));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    give(p, ERRNO(EPERM));
    end_call(p, begun);
}

static void refuse_value(struct program *p, long call, int argument, uint32_t value)
{
    size_t begun = begin_call(p, call);
    load(p, ARGUMENT(argument));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    give(p, ERRNO(EPERM));
    end_call(p, begun);
}

/* ---- Modes ------------------------------------------------------------------------- */

#define SET_IDS (S_ISUID | S_ISGID)

/* What stands in the place of the mode of a call that makes no file may be anything. */
static void refuse_set_ids_on_open(struct program *p, long call, int flags, int mode)
{
    size_t begun = begin_call(p, call);
    load(p, ARGUMENT(flags));
    add(p, (struct sock_filter) BPF_JUMP(
               BPF_JMP | BPF_JSET | BPF_K, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 0, 3));
    load(p, ARGUMENT(mode));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SET_IDS, 0, 1));
    give(p, ERRNO(EPERM));
    end_call(p, begun);
}

static void refuse_set_ids(struct program *p)
{
#ifdef SYS_chmod /* newer processors have only the calls that take a folder */
    refuse_bits(p, SYS_chmod, 1, SET_IDS);
    refuse_bits(p, SYS_creat, 1, SET_IDS);
    refuse_bits(p, SYS_mknod, 1, SET_IDS);
    refuse_set_ids_on_open(p, SYS_open, 1, 2);
#endif
    refuse_bits(p, SYS_fchmod, 1, SET_IDS);
    refuse_bits(p, SYS_fchmodat, 2, SET_IDS);
    refuse_bits(p, CALL_FCHMODAT2, 2, SET_IDS);
    refuse_bits(p, SYS_mknodat, 2, SET_IDS);
    refuse_set_ids_on_open(p, SYS_openat, 2, 3);
    refuse(p, SYS_openat2, ENOSYS); /* has its mode in memory */
}

/* ---- Sockets ------------------------------------------------------------------------ */

#define SOCKET_TYPE 15u /* the rest are flags */

static void decide_family(struct program *p, uint32_t family, bool allowed)
{
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, family, 0, 1));
    give(p, allowed ? SECCOMP_RET_ALLOW : ERRNO(EACCES));
}

static void refuse_sockets(struct program *p, bool internet, bool local)
{
    /* A jump goes forward only, by 255 instructions at most: each block is short, and loads
     * the call's number again at its end. */
    size_t begun = begin_call(p, SYS_socket);
    load(p, ARGUMENT(0));
    decide_family(p, AF_INET, internet);
    decide_family(p, AF_INET6, internet);
    decide_family(p, AF_UNIX, local);
    give(p, ERRNO(EAFNOSUPPORT));
    end_call(p, begun);

    begun = begin_call(p, SYS_socketpair);
    load(p, ARGUMENT(0));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    give(p, ERRNO(EAFNOSUPPORT));
    load(p, ARGUMENT(1));
    add(p, (struct sock_filter) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 0, 1));
    give(p, local ? SECCOMP_RET_ALLOW : ERRNO(EACCES));
    end_call(p, begun);
}

/* ---- All of it ---------------------------------------------------------------------- */

static void build(struct program *p, const struct hocket__launch *l)
{
    /* bubblewrap has namespaces for the network and for System V objects. */
    bool own = l->sandbox == HOCKET__SANDBOX_BWRAP;
    p->n = 0;
    load(p, FIELD(arch));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    give(p, SECCOMP_RET_KILL_PROCESS);
    load(p, FIELD(nr));
#if defined(__x86_64__)
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    give(p, ERRNO(ENOSYS));
#endif
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        refuse(p, refused[i], EPERM);
    for (size_t i = 0; !own && i < sizeof(shared_objects) / sizeof(shared_objects[0]); i++)
        refuse(p, shared_objects[i], ENOSYS);
    refuse(p, SYS_memfd_create, ENOSYS);
    refuse(p, CALL_MEMFD_SECRET, ENOSYS);
    refuse(p, SYS_clone3, ENOSYS);
    refuse(p, SYS_fallocate, EOPNOTSUPP);
    refuse_bits(p, SYS_clone, 0, NAMESPACES);
    refuse_bits(p, SYS_unshare, 0, NAMESPACES);
    refuse_value(p, SYS_ioctl, 1, TIOCSTI);
    refuse_value(p, SYS_ioctl, 1, 0x541C /* TIOCLINUX */);
    refuse_set_ids(p);
    refuse_sockets(p, own || l->network || l->proxied, l->sockets);
    give(p, SECCOMP_RET_ALLOW);
}

#endif /* ARCH */

static int unsupported(struct hocket__sandbox_error *err, const char *what)
{
    snprintf(err->text, sizeof(err->text), "seccomp: %s: %s", what, hocket__errno_text(errno));
    return HOCKET_EUNSUPPORTED;
}

int hocket__seccomp_apply(const struct hocket__launch *l, struct hocket__sandbox_error *err)
{
#ifdef ARCH
    struct program p;
    build(&p, l);
    struct sock_fprog prog = { .len = p.n, .filter = p.code };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0
               ? 0
               : unsupported(err, "cannot filter");
#else
    (void) l;
    errno = ENOSYS;
    return unsupported(err, "no filter is written for this processor");
#endif
}

int hocket__seccomp_file(const struct hocket__launch *l, struct hocket__sandbox_error *err)
{
#ifdef ARCH
    struct program p;
    build(&p, l);
    size_t size = p.n * sizeof(p.code[0]);
    int fd = memfd_create("seccomp", 0);
    if (fd < 0 || write(fd, p.code, size) != (ssize_t) size || lseek(fd, 0, SEEK_SET) != 0)
        return unsupported(err, "cannot write the filter");
    return fd;
#else
    (void) l;
    errno = ENOSYS;
    return unsupported(err, "no filter is written for this processor");
#endif
}
