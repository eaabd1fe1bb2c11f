/* The table of programs that run other programs when their words say so, and which words these are.
 * Versions behind a name do not count: python3.11 is python. */
#include "core/permission/programs.h"

static const struct hocket__program_facts programs[] = {
    { .names = "git", .kind = HOCKET__IS_GIT },
    { .names =
            "env xargs nice nohup timeout time stdbuf setsid ionice chrt taskset flock chroot "
            "unshare "
            "nsenter sudo doas su runuser setpriv strace ltrace gdb lldb valgrind perf watch "
            "parallel "
            "ssh script entr busybox toybox systemd-run dbus-run-session xvfb-run firejail bwrap "
            "start-stop-daemon at batch crontab exec command builtin eval source . trap docker "
            "podman "
            "nix nix-shell npx bunx pnpx uvx pipx vi vim nvim view ex ed emacs nano less more most "
            "man "
            "info gdbserver tmux screen expect socat nc ncat netcat telnet ftp sftp mail mutt "
            "sqlite3 "
            "psql mysql awk gawk mawk nawk sed m4 bc dc coproc alias doit just task poetry pipenv "
            "hatch "
            "conda mamba asdf mise direnv rustup pyenv rbenv nvm bundle",
        .kind = HOCKET__RUNS_OPERANDS },
    { .names = "sh bash dash zsh ksh mksh fish csh tcsh",
        .kind = HOCKET__INTERPRETS,
        .letters = "c" },
    { .names = "python pypy", .kind = HOCKET__INTERPRETS, .letters = "cm" },
    { .names = "perl ruby node nodejs lua luajit php Rscript R deno bun tclsh guile osascript pwsh "
               "julia "
               "elixir scala groovy java",
        .kind = HOCKET__INTERPRETS },
    { .names = "find", .kind = HOCKET__HAS_OPTIONS, .words = "-exec -execdir -ok -okdir" },
    { .names = "fd fdfind",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "xX",
        .longs = "--exec --exec-batch" },
    { .names = "rg", .kind = HOCKET__HAS_OPTIONS, .longs = "--pre --hostname-bin" },
    { .names = "tar bsdtar",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "IF",
        .longs = "--use-compress-program --to-command --checkpoint-action --info-script "
                 "--new-volume-script --rsh-command --rmt-command" },
    { .names = "rsync scp",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "eSoF",
        .longs = "--rsh --rsync-path" },
    { .names = "zip",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "T",
        .longs = "--unzip-command --test" },
    { .names = "sort", .kind = HOCKET__HAS_OPTIONS, .longs = "--compress-program" },
    { .names = "split", .kind = HOCKET__HAS_OPTIONS, .longs = "--filter" },
    { .names = "install", .kind = HOCKET__HAS_OPTIONS, .longs = "--strip-program" },
    { .names = "wget",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "e",
        .longs = "--execute --use-askpass --config" },
    { .names = "curl", .kind = HOCKET__HAS_OPTIONS, .letters = "K", .longs = "--config" },
    { .names = "make gmake bmake ninja",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "fIE",
        .longs = "--file --makefile --eval --include-dir",
        .assigns = true },
    { .names = "cmake",
        .kind = HOCKET__HAS_OPTIONS,
        .single = true,
        .letters = "PCED",
        .longs = "--toolchain --debugger" },
    { .names = "ctest",
        .kind = HOCKET__HAS_OPTIONS,
        .single = true,
        .letters = "SD",
        .longs = "--script --script-new-process --build-and-test --build-makeprogram" },
    { .names = "npm pnpm yarn",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "C",
        .longs = "--script-shell --shell --node-options --prefix --call --userconfig "
                 "--globalconfig --git",
        .words = "exec x dlx explore create init node config set edit" },
    { .names = "cargo",
        .kind = HOCKET__HAS_OPTIONS,
        .single = true,
        .letters = "ZC",
        .longs = "--config --manifest-path",
        .words = "install" },
    { .names = "go",
        .kind = HOCKET__HAS_OPTIONS,
        .words = "-exec -toolexec -overlay -modfile -C",
        .longs = "--exec --toolexec --overlay --modfile" },
    { .names = "gcc cc g++ c++ clang clang++ rustc ld",
        .kind = HOCKET__HAS_OPTIONS,
        .single = true,
        .letters = "B",
        .longs = "-wrapper -fplugin -specs --specs -plugin -fuse-ld -C --codegen -Xclang -load" },
    { .names = "mvn gradle gradlew",
        .kind = HOCKET__HAS_OPTIONS,
        .single = true,
        .letters = "fIDP",
        .longs = "--file --init-script --build-file --settings-file" },
    { .names = "pip pip3",
        .kind = HOCKET__HAS_OPTIONS,
        .longs = "--editor --python --keyring-provider",
        .words = "config" },
    { .names = "pytest py.test",
        .kind = HOCKET__HAS_OPTIONS,
        .letters = "cpo",
        .longs = "--rootdir --confcutdir --config-file --override-ini --pdbcls" },
    { .names = "gpg gpg2",
        .kind = HOCKET__HAS_OPTIONS,
        .longs = "--photo-viewer --agent-program --dirmngr-program --options --homedir" },
};

bool hocket__program_lists(const char *list, struct hocket__str word)
{
    for (const char *at = list; at && *at && word.n;) {
        const char *blank = strchr(at, ' ');
        size_t n = blank ? (size_t) (blank - at) : strlen(at);
        if (n == word.n && memcmp(at, word.p, n) == 0)
            return true;
        at += n + (blank != NULL);
    }
    return false;
}

/* "python3.11" is python. */
static struct hocket__str without_version(struct hocket__str name)
{
    while (name.n > 1 && strchr("0123456789.-", name.p[name.n - 1]))
        name.n--;
    return name;
}

const struct hocket__program_facts *hocket__program_facts(struct hocket__str program)
{
    for (size_t i = program.n; i > 0; i--)
        if (program.p[i - 1] == '/') {
            program = hocket__str(program.p + i, program.n - i);
            break;
        }
    struct hocket__str plain = without_version(program);
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (hocket__program_lists(programs[i].names, program)
            || hocket__program_lists(programs[i].names, plain))
            return &programs[i];
    return NULL;
}
