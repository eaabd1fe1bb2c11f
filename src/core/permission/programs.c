/* The table of programs (programs.h), by what each program's own manual says. Versions behind a name do not count:
 * python3.11 is python. */
#include "core/permission/programs.h"

/* ---- git ------------------------------------------------------------------------------------- */

#define GIT_LOG                                                                                    \
    "-0123456789pusrtzRawbiEFPgmcefhlv -n: -U= -M= -C= -B= -S: -G: -L: -O: --oneline --stat= "     \
    "--shortstat --numstat --name-only --name-status --summary --graph --all --branches= --tags= " \
    "--remotes= --decorate= --no-decorate --abbrev-commit --no-abbrev-commit --abbrev= --pretty= " \
    "--format: --date: --since: --after: --until: --before: --author: --committer: --grep: "       \
    "--invert-grep --all-match --follow --merges --no-merges --first-parent --reverse "            \
    "--topo-order --date-order --author-date-order --max-count: --skip: --cached --staged "        \
    "--color= --no-color --word-diff= --word-diff-regex: --color-words= --ignore-all-space "       \
    "--ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol "         \
    "--diff-filter: --find-renames= --find-copies= --no-renames --patch --no-patch --unified: "    \
    "--raw --minimal --patience --histogram --diff-algorithm: --quiet --exit-code --check "        \
    "--relative= --full-index --binary --text --no-index --merge-base --left-right "               \
    "--cherry-pick --cherry-mark --count --walk-reflogs --full-history --source --no-walk "        \
    "--simplify-by-decoration --line-porcelain --porcelain --incremental --show-email "            \
    "--numbered --email --show-name --show-number --max-parents: --min-parents: --not --objects "  \
    "--parents --children --boundary --no-ext-diff --no-textconv --output> --notes= --no-notes "   \
    "--cc --function-context --inter-hunk-context: --pickaxe-regex --pickaxe-all --root "          \
    "--encoding: --ancestry-path --end-of-options --dirstat= --compact-summary "                   \
    "--ignore-matching-lines: "

static const struct hocket__program_facts git_commands[] = {
    { .names = "rev-parse ls-files ls-tree merge-base show-ref name-rev check-ignore check-attr "
               "count-objects describe for-each-ref version rev-list cherry fsck stripspace",
        .kind = HOCKET__HARMLESS },
    { .names = "log show diff whatchanged shortlog blame annotate reflog range-diff diff-tree "
               "diff-index diff-files show-branch",
        .options = GIT_LOG },
    { .names = "status",
        .options = "-sbvz -u= --short --branch --porcelain= --untracked-files= --ignored= --long "
                   "--no-renames --renames --show-stash --ahead-behind --no-ahead-behind --column= "
                   "--verbose --no-column" },
    { .names = "add stage",
        .options = "-nvfuAN --all --no-all --update --force --dry-run --verbose --intent-to-add "
                   "--refresh --ignore-errors --ignore-missing --renormalize --chmod:" },
    { .names = "commit",
        .options =
            "-aqvsnoi -m: -F: -C: -u= --message: --file: --reuse-message: --amend --no-edit --all "
            "--signoff --no-signoff --no-verify --author: --date: --allow-empty "
            "--allow-empty-message --dry-run --quiet --verbose --only --include --fixup: --squash: "
            "--no-gpg-sign --cleanup: --trailer: --reset-author --short --porcelain --long" },
    { .names = "branch",
        .options = "-avrdDmMcCfqli -u: --list --all --remotes --show-current --merged= "
                   "--no-merged= --contains= --no-contains= --delete --move --copy --force "
                   "--track= --no-track --set-upstream-to: --unset-upstream --sort: --format: "
                   "--verbose --column= --points-at: --no-color --color= --quiet --ignore-case" },
    { .names = "checkout switch",
        .options = "-fqdmt -b: -B: -c: -C: --detach --force --track= --no-track --quiet --orphan: "
                   "--ours --theirs --merge --create: --force-create: --discard-changes --guess "
                   "--no-guess --progress --no-progress" },
    { .names = "restore",
        .options = "-SWq -s: --staged --worktree --source: --quiet --ours --theirs --merge" },
    { .names = "reset", .options = "-qN --soft --hard --mixed --keep --merge --quiet" },
    { .names = "rm", .options = "-rfqn --cached --force --dry-run --quiet --ignore-unmatch" },
    { .names = "mv", .options = "-fknv --force --dry-run --verbose" },
    { .names = "clean", .options = "-dfnqxX -e: --force --dry-run --quiet --exclude:" },
    { .names = "stash",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "push pop list show apply drop branch clear save",
        .options = "-uakqS -m: --include-untracked --all --keep-index --no-keep-index --message: "
                   "--index --quiet --staged --stat --oneline --patch" },
    { .names = "tag",
        .options = "-aldfi -n= -m: -F: --list --sort: --format: --contains= --no-contains= "
                   "--points-at: --merged= --no-merged= --delete --annotate --message: --file: "
                   "--force --column= --ignore-case" },
    { .names = "fetch pull",
        .operands = HOCKET__PLAIN,
        .options = "-apPtnqvfk46 -j: --all --prune --prune-tags --tags --no-tags --depth: "
                   "--deepen: --unshallow --quiet --verbose --force --dry-run --ff-only --no-ff "
                   "--ff --rebase= --no-rebase --autostash --no-autostash --no-commit --no-edit "
                   "--progress --no-progress --shallow-since: --jobs: --stat --no-stat "
                   "--no-recurse-submodules" },
    { .names = "push",
        .operands = HOCKET__REMOTE,
        .options = "-unfqvd --set-upstream --force --force-with-lease= --force-if-includes --tags "
                   "--follow-tags --delete --all --dry-run --porcelain --no-verify --atomic "
                   "--quiet --verbose --prune --progress --no-progress" },
    { .names = "clone",
        .operands = HOCKET__SECOND_INSIDE,
        .options = "-qvnls -b: -o: -j: --branch: --depth: --single-branch --no-single-branch "
                   "--bare --mirror --quiet --verbose --no-checkout --no-tags --shallow-since: "
                   "--filter: --origin: --progress --no-hardlinks --local --no-local --jobs: "
                   "--sparse" },
    { .names = "ls-remote",
        .operands = HOCKET__PLAIN,
        .options = "-htq --heads --tags --refs --quiet --symref --sort: --get-url --exit-code" },
    { .names = "remote",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "show get-url prune update",
        .options = "-vnp --verbose --all --dry-run --prune" },
    { .names = "rebase",
        .options = "-qvfn -X: --continue --abort --skip --quit --onto: --autostash "
                   "--no-autostash --keep-base --quiet --verbose --root --no-verify "
                   "--rebase-merges= --force-rebase --stat --no-stat --strategy-option:" },
    { .names = "merge",
        .options = "-nqv -m: -F: -X: --no-ff --ff --ff-only --squash --no-squash --abort "
                   "--continue --quit --no-commit --commit --no-edit --stat --no-stat "
                   "--allow-unrelated-histories --strategy-option: --quiet --verbose --no-verify "
                   "--signoff --autostash --no-autostash" },
    { .names = "cherry-pick revert",
        .options =
            "-nxs -m: -X: --continue --abort --skip --quit --no-commit --no-edit --mainline: "
            "--signoff --allow-empty --keep-redundant-commits --strategy-option:" },
    { .names = "bisect",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "start good bad new old reset skip log terms",
        .options = "--no-checkout --first-parent --term-good --term-bad" },
    { .names = "submodule",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "status init update sync summary",
        .options = "-qf -j: --init --recursive --quiet --cached --depth: --remote --force --jobs: "
                   "--no-fetch --checkout --single-branch --progress" },
    { .names = "worktree",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "list prune",
        .options = "-vnz --porcelain --verbose --dry-run --expire:" },
    { .names = "notes",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "list show",
        .options = "--ref:" },
    { .names = "sparse-checkout",
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "list set add init reapply disable",
        .options = "--cone --no-cone --sparse-index --no-sparse-index" },
    { .names = "grep",
        .options =
            "-0123456789nilLcvwEFGPhHoqraIzWp -e: -f: -A: -B: -C: -m: --count --files-with-matches "
            "--files-without-match --name-only --line-number --ignore-case --word-regexp "
            "--extended-regexp --basic-regexp --fixed-strings --perl-regexp --cached --untracked "
            "--no-index --heading --break --color= --no-color --and --or --not --all-match "
            "--max-depth: --max-count: --show-function --function-context --threads: --context: "
            "--after-context: --before-context: --recurse-submodules --column --only-matching "
            "--invert-match --text --null --quiet --full-name" },
    { .names = "cat-file",
        .options = "-tspe --batch= --batch-check= --batch-all-objects --allow-unknown-type "
                   "--buffer --unordered --follow-symlinks" },
    { .names = "hash-object", .options = "-w -t: --stdin --literally --path:" },
    { .names = "apply",
        .options = "-Rqvz3 -p: -C: --check --stat --numstat --summary --index --cached --3way "
                   "--reverse --reject --whitespace: --include: --exclude: --directory> --recount "
                   "--unidiff-zero --ignore-whitespace --ignore-space-change --verbose --quiet" },
    { .names = "am",
        .options =
            "-3qks --3way --quiet --keep --signoff --continue --resolved --abort --skip --quit" },
    { .names = "format-patch",
        .options =
            "-0123456789nNskq -v: -o> --stdout --cover-letter --output-directory> --numbered "
            "--no-numbered --start-number: --subject-prefix: --signoff --base: --root "
            "--zero-commit --no-signature --stat= --no-stat --thread= --quiet" },
    { .names = "archive",
        .options = "-0123456789vl -o> --format: --prefix: --output> --list --verbose "
                   "--worktree-attributes --mtime:" },
    { .names = "gc", .options = "-q --auto --prune= --no-prune --aggressive --quiet" },
    { .names = "init",
        .operands = HOCKET__INSIDE,
        .options = "-q -b: --bare --quiet --initial-branch: --object-format:" },
    { .names = "config",
        .operands = HOCKET__NO_OPERANDS,
        .options = "-lz --list --get: --get-all: --get-regexp: --show-origin --show-scope "
                   "--name-only --global --local --system --null --includes --type:" },
    { .names = NULL },
};

/* ---- What builds ------------------------------------------------------------------------------- */

#define CARGO                                                                                      \
    "-rvq -p: -F: -j: --release --debug --package: --workspace --all --exclude: --all-targets "    \
    "--lib --bin: --bins --example: --examples --test: --tests --bench: --benches --features: "    \
    "--all-features --no-default-features --target-dir> --jobs: --profile# --message-format: "     \
    "--frozen --locked --offline --verbose --quiet --color: --keep-going --no-run "                \
    "--no-fail-fast --doc --no-deps --timings= --ignore-rust-version "

static const struct hocket__program_facts cargo_commands[] = {
    { .names = "build b check c test t run r bench clean doc d fetch update "
               "generate-lockfile",
        .options = CARGO },
    { .names = "clippy fmt", /* what follows "--" goes to the compiler */
        .single = true,
        .options = CARGO "-v -q -r --check --fix --all" },
    { .names = "tree metadata search version help pkgid locate-project verify-project info",
        .options = CARGO "-ie --invert= --duplicates -d --depth: --edges: --prefix: --charset: "
                         "--format: --no-dedupe --format-version: --limit:" },
    { .names = "add remove rm install",
        .operands = HOCKET__BY_RULE,
        .options = CARGO "--dev --build --optional --dry-run --version: --force --rename: "
                         "--no-optional" },
    { .names = "new init",
        .operands = HOCKET__INSIDE,
        .options = "-vq --bin --lib --name# --edition: --vcs# --quiet --verbose" },
    { .names = NULL },
};

#define GO                                                                                         \
    "-v -x -n -a -race -msan -trimpath -work -json -short -cover -failfast -c -benchmem -e -i "    \
    "-o> -run: -bench: -count: -timeout: -tags: -p: -parallel: -cpu: -covermode: -coverpkg: "      \
    "-coverprofile> -cpuprofile> -memprofile> -blockprofile> -mutexprofile> -trace> "              \
    "-outputdir> -shuffle: -skip: -list: -fuzz: -fuzztime: -benchtime: -mod# -buildmode# "         \
    "-buildvcs# -deps -test -find -f: -m -u -versions -retracted -compiled -export "

static const struct hocket__program_facts go_commands[] = {
    { .names = "build test vet fmt list clean run",
        .single = true,
        .operands = HOCKET__INSIDE,
        .options = GO },
    { .names = "version doc help", .single = true, .options = "-m -v -all -c -cmd -short -src -u" },
    { .names = "env", .single = true, .operands = HOCKET__PLAIN, .options = "-json -changed" },
    { .names = "mod",
        .single = true,
        .operands = HOCKET__FIRST_OF_WORDS,
        .words = "tidy download verify graph why init vendor",
        .options = "-v -x -e -json -m -compat: -go:" },
    { .names = "get install",
        .single = true,
        .operands = HOCKET__BY_RULE,
        .options = "-v -x -u -t -d" },
    { .names = NULL },
};

#define NPM                                                                                        \
    "-s --silent -q --quiet -d --verbose --json --long -l --parseable -p --depth: --omit: "        \
    "--include: --production --prod --only: --if-present --workspaces -ws -w: --workspace: "       \
    "--no-audit --audit --no-fund --fund --ignore-scripts --legacy-peer-deps --force -f "          \
    "--dry-run --prefer-offline --offline --no-save --save-dev -D --save -S -E --save-exact "      \
    "--save-optional -O --loglevel: --no-progress --progress= --color= --no-color "                \
    "--package-lock-only --no-package-lock --all -a --frozen-lockfile --no-frozen-lockfile "

static const struct hocket__program_facts npm_commands[] = {
    { .names = "run run-script test t tst start stop restart ci",
        .single = true,
        .options = NPM "--" },
    { .names = "view info show why explain search", .single = true, .options = NPM },
    { .names = "ls list la ll outdated audit fund root ping whoami",
        .single = true,
        .operands = HOCKET__NO_OPERANDS,
        .options = NPM "--audit-level:" },
    { .names = "install i add uninstall remove rm update up",
        .single = true,
        .operands = HOCKET__BY_RULE,
        .options = NPM },
    { .names = NULL },
};

static const struct hocket__program_facts pnpm_commands[] = {
    { .names = "run test t start stop restart", .single = true, .options = NPM "--" },
    { .names = "ls list la ll outdated audit why root",
        .single = true,
        .operands = HOCKET__NO_OPERANDS,
        .options = NPM },
    { .names = "install i add remove rm update up",
        .single = true,
        .operands = HOCKET__BY_RULE,
        .options = NPM },
    { .names = NULL },
};

static const struct hocket__program_facts yarn_commands[] = {
    { .names = "test start stop restart", .single = true, .options = NPM },
    { .names = "list info outdated audit why check help",
        .single = true,
        .options = NPM "--pattern: --level:" },
    { .names = "install add remove upgrade up run", /* run: also programs of packages */
        .single = true,
        .operands = HOCKET__BY_RULE,
        .options = NPM "--immutable --check-files" },
    { .names = NULL },
};

static const struct hocket__program_facts pip_commands[] = {
    { .names = "list show freeze check index help debug inspect hash",
        .options = "-qvofluae --outdated --uptodate --user --local --format: --files --verbose "
                   "--quiet --all --not-required --editable --disable-pip-version-check "
                   "--exclude: --exclude-editable" },
    { .names = "install uninstall download wheel",
        .operands = HOCKET__BY_RULE,
        .options = "-qvUy -r> -c> -t> -d> -w> --requirement> --constraint> --target> --upgrade "
                   "--user --no-deps --quiet --verbose --yes --pre --dry-run --no-cache-dir "
                   "--force-reinstall --disable-pip-version-check --only-binary: "
                   "--break-system-packages --no-index --require-hashes --ignore-installed" },
    { .names = NULL },
};

#define C_COMPILER                                                                                 \
    "-c -S -E -v -w -s -p -pg -P -C -H -o> -I* -I: -D* -D: -U* -U: -L* -L: -l* -l: -O~ -W~ "       \
    "-g -g0 -g1 -g2 -g3 -ggdb -ggdb3 -gdwarf-4 -gdwarf-5 -Werror=~ -Wno-error=~ -Wformat=~ "       \
    "-Wshadow=~ -f~ -fsanitize=~ -fno-sanitize=~ "                                                 \
    "-fvisibility=~ -fdiagnostics-color=~ -fstack-protector~ -std=~ -march=~ -mtune=~ -mcpu=~ "    \
    "-m32 -m64 -mavx~ -msse~ -x: -pthread -static -static-libgcc -static-libstdc++ -shared -pie "  \
    "-no-pie -rdynamic -pipe -M -MM -MD -MMD -MP -MG -MF> -MT: -MQ: -include: -imacros: "          \
    "-isystem: -iquote: -idirafter: -nostdlib -nostdinc -nostdinc++ -nodefaultlibs "               \
    "-nostartfiles -ansi -pedantic -pedantic-errors -save-temps -stdlib=~ -dumpversion "           \
    "-dumpmachine -dM -print-search-dirs -print-multiarch -print-libgcc-file-name "                \
    "-print-file-name=* -print-prog-name=* --version --help "

#define MVN                                                                                        \
    "-q -B -o -e -X -U -v -N -am -amd -fae -ff -fn -ntp -nsu -T: -pl: -P~ -DskipTests "            \
    "-DskipTests=~ -Dmaven.test.skip=~ -Dtest=~ --quiet --batch-mode --offline --errors "          \
    "--debug --version --help --fail-fast --fail-at-end --no-transfer-progress --threads: "        \
    "--projects: --also-make"

#define TAR                                                                                        \
    "-xtcruAdzjJavpkmhwoUSnilO -f> -C> -b: -X: -N: -V: --extract --get --list --create --append "  \
    "--update --diff --compare --gzip --gunzip --bzip2 --xz --zstd --lzma --auto-compress "        \
    "--verbose --file> --directory> --strip-components: --exclude: --exclude-from: "               \
    "--exclude-vcs --keep-old-files --overwrite --to-stdout --same-permissions "                   \
    "--preserve-permissions --no-same-owner --no-same-permissions --owner: --group: --mtime: "     \
    "--mode: --sort: --wildcards --no-recursion --numeric-owner --totals "                         \
    "--dereference --one-file-system --force-local --version --help --touch --null "               \
    "--format: --posix --sparse --verify --one-top-level --no-anchored"

#define CURL                                                                                       \
    "-fsSLiIvgGkjlN0123468#ORZ -X: -H: -d: -F: -u: -A: -b: -e: -m: -r: -x: -y: -Y: -z: -t: "       \
    "-Q: -C: -o> -c> -D> -T: --fail --fail-with-body --silent --show-error --location --include "  \
    "--head --verbose --globoff --get --insecure --compressed --request: --header: --data: "       \
    "--data-raw: --data-binary: --data-urlencode: --json: --form: --form-string: --user: "         \
    "--user-agent: --cookie: --cookie-jar> --referer: --max-time: --connect-timeout: --range: "    \
    "--retry: --retry-delay: --retry-max-time: --retry-all-errors "                                \
    "--retry-connrefused --output> --output-dir> --create-dirs --remote-name --remote-name-all "   \
    "--dump-header> --upload-file: --http1.1 --http1.0 --http2 --http3 --tlsv1.2 "                 \
    "--tlsv1.3 --ipv4 --ipv6 --max-redirs: --limit-rate: --parallel --no-progress-meter "          \
    "--progress-bar --version --help --trace> --trace-ascii> --stderr> --continue-at: "            \
    "--no-buffer --max-filesize: --path-as-is --resolve: --proto: --proto-redir: --basic "         \
    "--digest --oauth2-bearer: --time-cond: --remote-time --keepalive-time: --no-keepalive"

#define WGET                                                                                       \
    "-qvcNSxkpErHbLdFmn46 -O> -P> -o> -a> -i: -t: -T: -w: -l: -U: -A: -R: -D: -I: -X: -Q: "        \
    "--quiet --verbose --no-verbose --continue --timestamping --server-response --spider "         \
    "--recursive --level: --no-parent --mirror --page-requisites --convert-links "                 \
    "--adjust-extension --no-clobber --output-document> --output-file> --append-output> "          \
    "--directory-prefix> --input-file: --tries: --timeout: --wait: --user-agent: --header: "       \
    "--post-data: --method: --body-data: --accept: --reject: --domains: --limit-rate: "            \
    "--no-check-certificate --https-only --max-redirect: --version --help --no-directories "       \
    "--no-host-directories --cut-dirs: --span-hosts --load-cookies: --save-cookies> --referer: "   \
    "--show-progress --no-cookies --no-cache --user: --password: --inet4-only --inet6-only"

#define COPIES                                                                                     \
    "-abdfHiLlnPprRsTuvxZ -t> -S# --archive --force --interactive --no-clobber "                   \
    "--recursive --update= --verbose --target-directory> --no-target-directory "                   \
    "--backup= --suffix# --preserve= --no-preserve: --parents --link --symbolic-link "             \
    "--dereference --no-dereference --one-file-system --strip-trailing-slashes "                   \
    "--relative --logical --physical --version --help --sparse: --reflink="

#define PACKS                                                                                      \
    "-0123456789cdefhklnNqrtvVz -S# -T= -M= --stdout --to-stdout --decompress "                    \
    "--uncompress --compress --force --keep --list --name --no-name --quiet "                      \
    "--recursive --test --verbose --fast --best --extreme --threads= --format= "                   \
    "--check= --version --help --suffix# --rsyncable --robot --small"

/* ---- All of them ----------------------------------------------------------------------------------- */

const struct hocket__program_facts hocket__programs[] = {
    { .names = "git",
        .single = true,
        .options = "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects "
                   "--version -v !-c: !-C: !--git-dir: !--work-tree: !--namespace: !--bare",
        .commands = git_commands },
    { .names = "env xargs nice nohup timeout time stdbuf setsid ionice chrt taskset flock chroot "
               "unshare nsenter sudo doas su runuser setpriv strace ltrace gdb lldb valgrind perf "
               "watch parallel ssh scp script entr busybox toybox systemd-run dbus-run-session "
               "xvfb-run firejail bwrap start-stop-daemon at batch crontab exec command builtin "
               "eval source . trap docker podman nix nix-shell npx bunx pnpx uvx pipx vi vim nvim "
               "view ex ed emacs nano less more most man info gdbserver tmux screen expect socat "
               "nc ncat netcat telnet ftp sftp mail mutt sqlite3 psql mysql awk gawk mawk nawk sed "
               "m4 bc dc coproc alias doit just task poetry pipenv hatch conda mamba asdf mise "
               "direnv rustup pyenv rbenv nvm bundle deno bun R scala patch gpg gpg2 ldd ld.so "
               "rake ant sbt bazel buck meson scons xdg-open open pylint tox nox",
        .kind = HOCKET__RUNS_OPERANDS },
    { .names = "sh bash dash zsh ksh mksh fish csh tcsh",
        .kind = HOCKET__INTERPRETS,
        .words = "c" },
    { .names = "python pypy", .kind = HOCKET__INTERPRETS, .words = "cm" },
    { .names = "perl ruby node nodejs lua luajit php Rscript tclsh guile osascript pwsh julia "
               "elixir groovy java",
        .kind = HOCKET__INTERPRETS },
    { .names = "ls cat head tail wc cut tr comm cmp nl od paste fold fmt expand unexpand tac rev "
               "column base64 base32 basenc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum "
               "b2sum cksum sum seq printf echo pwd basename dirname realpath readlink id whoami "
               "groups uname nproc arch true false test [ sleep factor numfmt grep egrep fgrep jq "
               "du df stat which getconf strings readelf addr2line c++filt tsort join "
               "ps free uptime lsblk lscpu sync yes tty logname users dir vdir pathchk",
        .kind = HOCKET__HARMLESS },
    { .names = "find",
        .single = true,
        .options = "-H -L -P -O~ -name: -iname: -path: -ipath: -wholename: -regex: -iregex: "
                   "-regextype: -type: -xtype: -size: -mtime: -mmin: -atime: -amin: -ctime: "
                   "-cmin: -newer: -newermt: -anewer: -cnewer: -perm: -user: -group: -uid: -gid: "
                   "-nouser -nogroup -links: -inum: -samefile: -empty -executable -readable "
                   "-writable -true -false -depth -d -maxdepth: -mindepth: -mount -xdev "
                   "-prune -print -print0 -printf: -ls -quit -not -and -or -a -o -follow "
                   "-noleaf -warn -nowarn -daystart -lname: -ilname: -fstype: --version --help" },
    { .names = "fd fdfind",
        .options = "-HIaLpsiguQ1q0V -t: -e: -d: -E: -S: -o: -j: -c: --hidden --no-ignore "
                   "--absolute-path --follow --full-path --case-sensitive --ignore-case --glob "
                   "--regex --type: --extension: --max-depth: --min-depth: --exclude: --size: "
                   "--changed-within: --changed-before: --color: --threads: --max-results: "
                   "--print0 --quiet --version --help" },
    { .names = "rg",
        .options =
            "-nilLcvwFPUoquasSHhNI.xp0V -e: -f: -g: -t: -T: -A: -B: -C: -m: -M: -j: -r: -d: "
            "--files --hidden --no-ignore --no-ignore-vcs --ignore-case --smart-case "
            "--case-sensitive --fixed-strings --line-number --no-line-number --count "
            "--count-matches --files-with-matches --files-without-match --glob: --iglob: --type: "
            "--type-not: --type-list --json --multiline --multiline-dotall --word-regexp "
            "--line-regexp --invert-match --only-matching --max-count: --max-depth: --context: "
            "--before-context: --after-context: --color: --no-heading --heading --no-filename "
            "--with-filename --sort: --sortr: --stats --replace: --follow --column --vimgrep "
            "--version --help --trim --passthru --pcre2 --null --no-messages --max-filesize: "
            "--max-columns: --encoding: --regexp: --file: --threads: --text --pretty --no-config" },
    { .names = "tar bsdtar", .letters_first = true, .options = TAR },
    { .names = "rsync",
        .operands = HOCKET__INSIDE,
        .options =
            "-avzrlptgoDnuhicqxHAXLkKCPRdbmSWy0 -f: -T> --archive --verbose --compress "
            "--recursive --links --perms --times --dry-run --update --human-readable "
            "--itemize-changes --checksum --quiet --one-file-system --delete "
            "--delete-after --delete-before --delete-excluded --exclude: --include: "
            "--exclude-from: --include-from: --filter: --progress --partial --stats "
            "--existing --ignore-existing --size-only --inplace --append --info: "
            "--max-size: --min-size: --bwlimit: --no-owner --no-group --no-perms "
            "--version --help --prune-empty-dirs --backup --suffix# --chmod: --modify-window:" },
    { .names = "zip",
        .single = true,
        .operands = HOCKET__INSIDE,
        .options =
            "-r -q -qq -j -0 -1 -6 -9 -v -u -f -d -m -x: -i: -rq -qr -rj -jr -r9 -9r -X -y -ry "
            "-e -l -ll -D -o -g -A -J --version -h" },
    { .names = "unzip",
        .single = true,
        .options = "-l -v -t -tq -o -n -q -qq -j -p -c -a -aa -u -f -d> -x: -oq -qo -lq -L -C -Z "
                   "-Z1 -hh" },
    { .names = "gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat lzma unlzma zstd unzstd zstdcat "
               "lz4",
        .operands = HOCKET__INSIDE,
        .options = PACKS },
    { .names = "sort",
        .options = "-bdfghiMnrRVcCmsuz -k: -t: -o> -S: --ignore-leading-blanks --dictionary-order "
                   "--ignore-case --general-numeric-sort --month-sort --numeric-sort "
                   "--human-numeric-sort --random-sort --reverse --version-sort --check= --merge "
                   "--stable --unique --zero-terminated --key: --field-separator: --output> "
                   "--parallel: --buffer-size: --batch-size: --sort: --debug --version --help" },
    { .names = "uniq",
        .operands = HOCKET__SECOND_INSIDE,
        .options = "-cdDuiz -f: -s: -w: --count --repeated --all-repeated= --unique --ignore-case "
                   "--skip-fields: --skip-chars: --check-chars: --group= --zero-terminated "
                   "--version --help" },
    { .names = "shuf",
        .options = "-erz -i: -n: -o> --echo --input-range: --head-count: --output> --repeat "
                   "--zero-terminated --random-source: --version --help" },
    { .names = "split csplit",
        .operands = HOCKET__INSIDE,
        .options = "-dxeuzskq -a: -b: -C: -l: -n: -t: -f> --bytes: --lines: --number: "
                   "--suffix-length: --numeric-suffixes= --additional-suffix# --verbose --digits: "
                   "--prefix> --elide-empty-files --quiet --version --help" },
    { .names = "diff",
        .options =
            "-0123456789abBcdeEfiNpqrstTuwyZ -U: -C: -I: -x: -X: -F: -W: -S: --brief "
            "--unified= --context= --color= --recursive --ignore-case --ignore-all-space "
            "--ignore-space-change --ignore-blank-lines --new-file --side-by-side --width: "
            "--exclude: --exclude-from: --strip-trailing-cr --text --minimal "
            "--report-identical-files --suppress-common-lines --label: --no-dereference "
            "--show-c-function --left-column --speed-large-files --normal --rcs --ed "
            "--version --help --expand-tabs --ignore-tab-expansion --ignore-trailing-space" },
    { .names = "tree",
        .options = "-adfgpsuhDCQNilxqrtcUvSnAJX -L: -I: -P: -o> --du --si --gitignore --noreport "
                   "--dirsfirst --filesfirst --prune --filelimit: --charset: --inodes --device "
                   "--matchdirs --ignore-case --sort: --timefmt: --version --help" },
    { .names = "file",
        .options =
            "-bhikLNnprsv0cdE -F: -f: -e: -m: -P: --brief --mime --mime-type --mime-encoding "
            "--dereference --no-dereference --keep-going --raw --separator: --files-from: "
            "--exclude: --extension --version --help --list --apple --print0 --no-pad" },
    { .names = "date",
        .operands = HOCKET__WITH_PLUS,
        .options = "-uRj -d: -r: -f: -I= --date: --utc --universal --rfc-email --rfc-2822 "
                   "--rfc-3339: --iso-8601= --reference: --file: --debug --version --help" },
    { .names = "hostname",
        .operands = HOCKET__NO_OPERANDS,
        .options = "-fsidIAyaV --fqdn --short --ip-address --all-ip-addresses --version --help" },
    { .names = "xxd hexdump hd",
        .single = true,
        .operands = HOCKET__SECOND_INSIDE,
        .options = "-p -ps -i -u -b -e -r -C -v -x -d -o -l: -s: -c: -g: -n: -l~ -s~ -c~ -g~ -n~" },
    { .names = "cp mv ln", .operands = HOCKET__INSIDE, .options = COPIES },
    { .names = "rm rmdir mkdir touch tee truncate",
        .operands = HOCKET__INSIDE,
        .options = "-rRfidvIpacmhoq -s: -t: --recursive --force --verbose --dir --parents "
                   "--one-file-system --interactive= --append --no-create --no-dereference "
                   "--size: --date: --time: --io-blocks --ignore-fail-on-non-empty "
                   "--ignore-interrupts --output-error= --version --help" },
    { .names = "chmod chgrp chown",
        .operands = HOCKET__INSIDE,
        .options = "-Rvcfh --recursive --verbose --changes --silent --quiet --no-dereference "
                   "--preserve-root --version --help" },
    { .names = "install",
        .operands = HOCKET__INSIDE,
        .options = "-bcCdDpTvZ -m: -o: -g: -t> -S# --mode: --owner: --group: --directory --compare "
                   "--preserve-timestamps --target-directory> --no-target-directory --verbose "
                   "--backup= --suffix# --version --help" },
    { .names = "curl", .operands = HOCKET__ADDRESS, .options = CURL },
    { .names = "wget", .operands = HOCKET__ADDRESS, .options = WGET },
    { .names = "make gmake",
        .operands = HOCKET__PLAIN,
        .options = "-bBdeikLmnpqrRsStvw -j= -l= -O= -C> -W: -o: --always-make --debug= "
                   "--environment-overrides --ignore-errors --jobs= --keep-going --load-average= "
                   "--max-load= --check-symlink-times --just-print --dry-run --recon "
                   "--old-file: --assume-old: --output-sync= --print-data-base --question "
                   "--no-builtin-rules --no-builtin-variables --silent --quiet --no-silent "
                   "--no-keep-going --stop --touch --trace --version --help --directory> "
                   "--print-directory --no-print-directory --what-if: --new-file: --assume-new: "
                   "--warn-undefined-variables" },
    { .names = "bmake", .operands = HOCKET__PLAIN, .options = "-BeikNnqrSstWw -j: -C>" },
    { .names = "ninja samu",
        .options = "-nvh -j: -k: -l: -C> -d: -w: --version --quiet --verbose --help" },
    { .names = "cmake",
        .single = true,
        .operands = HOCKET__INSIDE,
        .options =
            "-S> -B> -G: -A: -T: -U: -L -LA -LH -LAH -N -Wdev -Wno-dev -Werror=dev "
            "-Wdeprecated -Wno-deprecated -DCMAKE_BUILD_TYPE=~ -DBUILD_SHARED_LIBS=~ "
            "-DBUILD_TESTING=~ -DCMAKE_EXPORT_COMPILE_COMMANDS=~ -DCMAKE_CXX_STANDARD=~ "
            "-DCMAKE_C_STANDARD=~ -DCMAKE_VERBOSE_MAKEFILE=~ --build> --target: -t: -j~ -j: "
            "--parallel: --config# --clean-first -v --verbose --preset# "
            "--preset=~ --list-presets --fresh --log-level=~ --trace --version --help "
            "--help-command: --help-module: --help-property: --help-variable: "
            "--help-command-list --warn-uninitialized --warn-unused-vars --no-warn-unused-cli" },
    { .names = "ctest",
        .single = true,
        .operands = HOCKET__NO_OPERANDS,
        .options = "-R: -E: -L: -LE: -j: -j~ -V -VV -N -Q -F -C: -I: -U -H -W: -FA: -FS: -FC: "
                   "-O> --output-log> --output-junit> --output-on-failure --test-dir> "
                   "--parallel: --timeout: --repeat: --rerun-failed --stop-on-failure --progress "
                   "--no-tests=~ --schedule-random --preset: --list-presets --show-only "
                   "--verbose --extra-verbose --quiet --union --max-width: --no-label-summary "
                   "--test-output-size-passed: --test-output-size-failed: --tests-regex: "
                   "--exclude-regex: --label-regex: --label-exclude: --build-config: "
                   "--stop-time: --print-labels --version --help" },
    { .names = "gcc cc g++ c++",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = C_COMPILER "-fmax-errors=~ -fopenmp" },
    { .names = "clang clang++",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = C_COMPILER "-ferror-limit=~ -emit-llvm -Weverything --analyze" },
    { .names = "ld",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = "-o> -L* -L: -l* -l: -r -s -S -x -X -e: -m: -u: -z: -static -shared -Bstatic "
                   "-Bdynamic -Bsymbolic -pie -no-pie -rpath: -soname: -h: -v -V -M -t -n -N -E "
                   "-Map> --as-needed --no-as-needed --gc-sections --no-gc-sections "
                   "--start-group --end-group --whole-archive --no-whole-archive "
                   "--build-id --eh-frame-hdr --export-dynamic --no-undefined --strip-all "
                   "--strip-debug --relocatable --entry: --undefined: --print-map --cref "
                   "--trace --print-gc-sections --stats --version --help --verbose" },
    { .names = "ar ranlib",
        .operands = HOCKET__INSIDE,
        .options = "-rcsdqtxvupmDUST --version --help" },
    { .names = "strip",
        .operands = HOCKET__INSIDE,
        .options = "-sgdSxXvwpDV -o> --strip-all --strip-debug --strip-unneeded --strip-dwo "
                   "--keep-symbol: --discard-all --discard-locals --preserve-dates --verbose "
                   "--version --help --only-keep-debug --wildcard" },
    { .names = "nm objdump",
        .options = "-aACDeghjlnoprSstTuvVwxXdzb --demangle= --no-demangle --dynamic --extern-only "
                   "--debug-syms --numeric-sort --no-sort --size-sort --undefined-only "
                   "--defined-only --line-numbers --print-size --disassemble= --disassemble-all "
                   "--source= --section: --syms --dynamic-syms --file-headers --all-headers "
                   "--private-headers --reloc --full-contents --wide --version --help "
                   "--no-show-raw-insn" },
    { .names = "rustc",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = "-o> --out-dir> --crate-type# --crate-name# --edition# --edition=~ -O -g --test "
                   "-A: -W: -D: -F: --allow: --warn: --deny: --forbid: --cfg: --print# "
                   "--explain: --color# --error-format: --cap-lints# -v -V -vV --verbose "
                   "--version --help -h" },
    { .names = "rustfmt gofmt",
        .single = true,
        .operands = HOCKET__INSIDE,
        .options = "-l -w -d -e -s -q -v --check --edition# --edition=~ --emit# --color# --quiet "
                   "--verbose --version --help" },
    { .names = "cargo",
        .single = true,
        .options = "-V --version --list -v -q --verbose --quiet --offline --locked --frozen "
                   "--color: -h --help !--config: !-Z: !-C: !--manifest-path:",
        .commands = cargo_commands },
    { .names = "go", .single = true, .options = "!-C:", .commands = go_commands },
    { .names = "javac",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = "-d> -h> -s> -cp: -classpath: --class-path: -sourcepath: --source-path: -g "
                   "-g:~ -nowarn -verbose -deprecation -source: -target: --release: --source: "
                   "--target: -encoding: -Xlint -Xlint:~ -Xdoclint -Werror -proc:none -parameters "
                   "-implicit:~ -Xmaxerrs: -Xmaxwarns: -version --version -help --help "
                   "--enable-preview -XDrawDiagnostics" },
    { .names = "mvn mvnw",
        .single = true,
        .operands = HOCKET__OF_WORDS,
        .words = "clean validate initialize generate-sources compile process-classes test-compile "
                 "test prepare-package package integration-test verify",
        .options = MVN },
    { .names = "gradle gradlew",
        .single = true,
        .operands = HOCKET__PLAIN,
        .options = "-q -i -d -s -S -m -t -v -w -a --quiet --info --debug --warn --stacktrace "
                   "--full-stacktrace --offline --no-daemon --daemon --console# --console=~ "
                   "--continue --no-continue --dry-run -x: --exclude-task: --parallel "
                   "--no-parallel --version --help --rerun-tasks --continuous --tests: "
                   "--warning-mode# --warning-mode=~ --build-cache --no-build-cache "
                   "--configuration-cache --max-workers: --refresh-dependencies --status --stop" },
    { .names = "npm",
        .single = true,
        .options = "-v --version -h --help !--prefix: !-C: -s --silent -q --quiet",
        .commands = npm_commands },
    { .names = "pnpm",
        .single = true,
        .options = "-v --version -h --help !-C: !--dir: !--filter: -s --silent",
        .commands = pnpm_commands },
    { .names = "yarn",
        .single = true,
        .options = "-v --version -h --help !--cwd: -s --silent",
        .commands = yarn_commands },
    { .names = "pip",
        .options =
            "-qvVh --version --help --quiet --verbose --no-input --disable-pip-version-check",
        .commands = pip_commands },
    { .names = "pytest py.test",
        .operands = HOCKET__INSIDE,
        .options = "-xvqslh -k: -m: -n: -r: --lf --ff --nf --sw --last-failed --failed-first "
                   "--new-first --stepwise --exitfirst --maxfail: --tb: --durations: "
                   "--durations-min: --collect-only --co --verbose --quiet --capture: "
                   "--showlocals --no-header --no-summary --no-cov --color: --strict-markers "
                   "--strict-config --junitxml> --junit-xml> --version --help --fixtures "
                   "--markers --setup-show --setup-only --setup-plan --cache-clear --runxfail "
                   "--show-capture: --full-trace --disable-warnings --dist# --deselect: --ignore: "
                   "--ignore-glob: --doctest-modules --timeout:" },
    { .names = "ruff",
        .operands = HOCKET__INSIDE,
        .options = "-qvsneh --fix --no-fix --diff --check --select: --ignore: --extend-select: "
                   "--exclude: --line-length: --target-version# --output-format# --statistics "
                   "--show-files --show-settings --no-cache --exit-zero --preview --quiet "
                   "--verbose --silent --version --help --fixable: --isolated" },
    { .names = "black",
        .operands = HOCKET__INSIDE,
        .options = "-lqvSC -t: -W: --check --diff --color --no-color --fast --safe --quiet "
                   "--verbose --line-length: --target-version: --include: --exclude: "
                   "--extend-exclude: --skip-string-normalization --preview --version --help" },
    { .names = "mypy",
        .operands = HOCKET__INSIDE,
        .options = "-vhV -p: -m: --strict --ignore-missing-imports --no-error-summary --pretty "
                   "--show-error-codes --python-version: --platform: --follow-imports: "
                   "--no-incremental --disallow-untyped-defs --check-untyped-defs "
                   "--warn-unused-ignores --warn-return-any --no-implicit-optional --exclude: "
                   "--cache-dir> --explicit-package-bases --namespace-packages --version --help "
                   "--show-column-numbers --no-color-output --strict-optional" },
    { .names = "flake8",
        .operands = HOCKET__INSIDE,
        .options = "-qvh -j: --select: --ignore: --extend-ignore: --exclude: --extend-exclude: "
                   "--max-line-length: --max-complexity: --count --statistics --show-source "
                   "--exit-zero --format: --filename: --benchmark --color: --isolated --version "
                   "--help --disable-noqa --output-file> --tee --per-file-ignores: --doctests" },
    { .names = "eslint",
        .operands = HOCKET__INSIDE,
        .options =
            "-hv -o> --fix --fix-dry-run --ext: --quiet --max-warnings: --cache "
            "--cache-strategy: --no-eslintrc --no-inline-config --output-file> --color "
            "--no-color --no-error-on-unmatched-pattern --report-unused-disable-directives "
            "--no-warn-ignored --fix-type: --rule: --env: --global: --stats --version --help "
            "--exit-on-fatal-error --no-ignore --ignore-pattern:" },
    { .names = "prettier",
        .operands = HOCKET__INSIDE,
        .options = "-cwluh --check --write --list-different --ignore-unknown --no-config "
                   "--no-editorconfig --tab-width: --print-width: --single-quote --no-semi "
                   "--trailing-comma# --use-tabs --end-of-line# --prose-wrap# "
                   "--log-level# --cache --no-color --version --help --bracket-same-line "
                   "--jsx-single-quote --quote-props# --arrow-parens#" },
    { .names = "tsc",
        .single = true,
        .operands = HOCKET__INSIDE,
        .options = "-p> --project> -b --build -w --watch --noEmit --outDir> --outFile> --strict "
                   "--target# -t: --module# -m: --lib: --jsx# --declaration -d --sourceMap "
                   "--skipLibCheck --pretty --listFiles --showConfig --incremental "
                   "--moduleResolution# --esModuleInterop --allowJs --checkJs --version -v "
                   "--help -h --init --noEmitOnError --explainFiles --traceResolution" },
    { .names = NULL },
};
