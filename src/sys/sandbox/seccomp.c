/* The filter of system calls, as a classic BPF program (seccomp(2)).
 *
 * It refuses with EPERM what no tool needs and exploits like: a list of calls, clone and unshare
 * with flags for namespaces, ioctl that types into a terminal. clone3 carries its flags in memory,
 * which a filter cannot read: ENOSYS makes the C library fall back to clone. Without network
 * socket() is refused for every family; socketpair() is not. io_uring is among what is refused,
 * because it would go round the filter. Where the System V objects of the machine are in reach they
 * are refused as well: they would outlive the program, and some belong to others. Files of memory
 * count for no limit: who is told that there are none (ENOSYS) takes real ones. */
#include "sys/sandbox/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define ARCH AUDIT_ARCH_RISCV64
#endif

#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID    \
        | CLONE_NEWNET)
#define X32_BIT 0x40000000u

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

/* Refuses the call when its argument has any of the bits; reloads the number afterwards. */
static void refuse_bits(struct program *p, long call, int argument, uint32_t bits)
{
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) call, 0, 4));
    load(p, ARGUMENT(argument));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    give(p, ERRNO(EPERM));
    load(p, FIELD(nr));
}

static void refuse_value(struct program *p, long call, int argument, uint32_t value)
{
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) call, 0, 4));
    load(p, ARGUMENT(argument));
    add(p, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    give(p, ERRNO(EPERM));
    load(p, FIELD(nr));
}

#ifdef ARCH
static void build(struct program *p, bool network, bool own_objects)
{
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
    for (size_t i = 0; !own_objects && i < sizeof(shared_objects) / sizeof(shared_objects[0]); i++)
        refuse(p, shared_objects[i], ENOSYS);
    refuse(p, SYS_memfd_create, ENOSYS);
    refuse(p, SYS_clone3, ENOSYS);
    refuse_bits(p, SYS_clone, 0, NAMESPACES);
    refuse_bits(p, SYS_unshare, 0, NAMESPACES);
    refuse_value(p, SYS_ioctl, 1, TIOCSTI);
    refuse_value(p, SYS_ioctl, 1, 0x541C /* TIOCLINUX */);
    if (!network)
        refuse(p, SYS_socket, EACCES);
    give(p, SECCOMP_RET_ALLOW);
}
#endif

static int unsupported(struct hocket__sandbox_error *err, const char *what)
{
    snprintf(err->text, sizeof(err->text), "seccomp: %s: %s", what, strerrordesc_np(errno));
    return HOCKET_EUNSUPPORTED;
}

int hocket__seccomp_apply(bool network, struct hocket__sandbox_error *err)
{
#ifdef ARCH
    struct program p;
    build(&p, network, false);
    struct sock_fprog prog = { .len = p.n, .filter = p.code };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0
               ? 0
               : unsupported(err, "cannot filter");
#else
    (void) network;
    errno = ENOSYS;
    return unsupported(err, "no filter is written for this processor");
#endif
}

int hocket__seccomp_file(struct hocket__sandbox_error *err)
{
#ifdef ARCH
    struct program p;
    build(&p, true, true);
    size_t size = p.n * sizeof(p.code[0]);
    int fd = memfd_create("seccomp", 0);
    if (fd < 0 || write(fd, p.code, size) != (ssize_t) size || lseek(fd, 0, SEEK_SET) != 0)
        return unsupported(err, "cannot write the filter");
    return fd;
#else
    errno = ENOSYS;
    return unsupported(err, "no filter is written for this processor");
#endif
}
