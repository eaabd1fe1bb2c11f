#include "cli/policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT ((size_t) 1 << 20)

static bool tolerated;

void cli_policy_tolerate(void)
{
    tolerated = true;
}

bool cli_policy_is_tolerated(void)
{
    return tolerated;
}

const struct hocket_policy *cli_policy_closed(void)
{
    static const struct hocket_policy closed = { "(a policy that cannot be read)",
        "{approve: deny, sandbox: required, network: none, hosts: [], trust: none, models: [], "
        "providers: [], key_commands: false, serve: {listen: []}}" };
    return &closed;
}

/* ---- Where they are ------------------------------------------------------------------------------ */

/* Builds for tests look for /etc below another folder, whose owner stands for root there. No other build knows the variable. */
#ifdef HOCKET_TEST_ETC
static const char *etc(void)
{
    const char *dir = getenv("HOCKET_TEST_ETC");
    return dir && *dir == '/' ? dir : "/etc";
}

static uid_t owner(void)
{
    return strcmp(etc(), "/etc") == 0 ? 0 : geteuid();
}
#else
static const char *etc(void)
{
    return "/etc";
}

static uid_t owner(void)
{
    return 0;
}
#endif

/* "" where there is no home. */
static void add_user_path(struct cli_buf *out)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/')
        cli_buf_addf(out, "%s/hocket/policy.yaml", config);
    else if (home && *home == '/')
        cli_buf_addf(out, "%s/.config/hocket/policy.yaml", home);
}

/* ---- One file ------------------------------------------------------------------------------------ */

static void complain(struct cli_policy_file *f, const char *why)
{
    if (f->problem.n == 0)
        cli_buf_addf(&f->problem, "%s: %s", cli_buf_text(&f->path), why);
}

static bool is_owners(const struct stat *st)
{
    return st->st_uid == owner() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whoever may write in the folder may put another file there. */
static void check_folder(struct cli_policy_file *f)
{
    struct stat st;
    struct cli_buf dir = { 0 };
    const char *path = cli_buf_text(&f->path), *slash = strrchr(path, '/');
    cli_buf_add(&dir, path, slash ? (size_t) (slash - path) : 0);
    if (lstat(cli_buf_text(&dir), &st) == 0 && !(S_ISDIR(st.st_mode) && is_owners(&st)))
        complain(f, "its folder has to belong to root, and nobody else may write in it");
    cli_buf_free(&dir);
}

static void read_text(struct cli_policy_file *f, int fd)
{
    char part[4096];
    ssize_t n = 0;
    while (f->text.n <= MAX_TEXT && (n = read(fd, part, sizeof(part))) > 0)
        cli_buf_add(&f->text, part, (size_t) n);
    if (n < 0)
        complain(f, strerror(errno));
    else if (f->text.n > MAX_TEXT)
        complain(f, "it is larger than 1 MiB");
    else if (memchr(cli_buf_text(&f->text), 0, f->text.n))
        complain(f, "it is no text");
}

/* Checks and reads the descriptor that was opened: the path may lead to another file by then. */
static void read_file(struct cli_policy *p, struct cli_policy_file *f, bool machine)
{
    struct stat st;
    int fd = open(cli_buf_text(&f->path),
        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (machine ? O_NOFOLLOW : 0));
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return;
    f->there = true;
    if (fd < 0) {
        p->is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
        complain(f, errno == ELOOP ? "it is a link: put the file itself there" : strerror(errno));
        return;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        complain(f, "it is no file");
    else if (machine && !is_owners(&st))
        complain(f, "it has to belong to root, and nobody else may write it (chmod 644)");
    else
        read_text(f, fd);
    close(fd);
    if (machine)
        check_folder(f);
}

/* ---- All of them --------------------------------------------------------------------------------- */

void cli_policy_read(struct cli_policy *p)
{
    *p = (struct cli_policy){ 0 };
    cli_buf_addf(&p->files[0].path, "%s/hocket/policy.yaml", etc());
    add_user_path(&p->files[1].path);
    for (size_t i = 0; i < CLI_POLICY_FILES; i++) {
        struct cli_policy_file *f = &p->files[i];
        if (f->path.n > 0)
            read_file(p, f, i == 0);
        if (f->there && f->problem.n == 0)
            p->list[p->n++] =
                (struct hocket_policy){ cli_buf_text(&f->path), cli_buf_text(&f->text) };
        if (f->problem.n > 0 && !p->problem)
            p->problem = cli_buf_text(&f->problem);
    }
}

void cli_policy_free(struct cli_policy *p)
{
    for (size_t i = 0; i < CLI_POLICY_FILES; i++) {
        cli_buf_free(&p->files[i].path);
        cli_buf_free(&p->files[i].text);
        cli_buf_free(&p->files[i].problem);
    }
}
