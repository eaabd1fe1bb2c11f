#!/bin/sh
# Runs what the documents show. Each document has a directory of its own, in which its blocks run in order:
#
#   ```lua             a script: hocket runs it
#   ```lua stock       a script for a stock lua5.4, which loads hocket as a module
#   ```sh              a shell script, with hocket on the path
#   ```c               compiled; a whole program is linked with the libraries and run
#   ```cpp             the same, in C++11
#   ```json            each line is one JSON value
#   ```text shows      each line has to be in what the block before it printed; a line of dots stands for anything
#   ```LANG file=NAME  is written to that file, for the blocks after it; with the word "first" for all blocks
#   ```LANG skip       is only read; there are few, and every one has a reason beside it
#   | … | try |        a table whose last column is "try": the command in each row, as a shell script
#
#   snippets.sh HOCKET PTY SOURCE_DIR BUILD_DIR [FILE…]
# Each block runs as a reader types it: on a terminal, with HOME, PATH and TERM and no other variable; Python has hocket.py,
# as pip installs it. The home is new
# for each document, so the first run of a folder asks whether its Lua may run; the answer here is yes.
# With SANITIZED=1 C programs are compiled, but not linked.
set -u
hocket=$1
pty=$2
source=$3
build=$4
shift 4
"$pty" -- true >/dev/null 2>&1 || { echo "skipped: this machine has no pseudo terminals (is /dev/pts mounted?)"; exit 77; }
[ $# -gt 0 ] || set -- "$source"/README.md "$source"/docs/*/*.md
tmp=$(mktemp -d)
trap 'left=$?; sh "$source/tests/canary.sh" "$tmp" || left=1; rm -rf "$tmp"; exit $left' EXIT
trap 'exit 1' INT TERM
mkdir "$tmp/bin"
ln -s "$hocket" "$tmp/bin/hocket"
failed=0
ran=0
skipped=0

# Splits a document into $2/0001.lua, … and a list of them: number, line, language, words.
split() {
    awk -v dir="$2" '
        /^```/ && !inside {
            inside = 1
            n++
            language = substr($1, 4)
            words = ""
            for (i = 2; i <= NF; i++) words = words " " $i
            name = sprintf("%s/%04d.%s", dir, n, language == "" ? "text" : language)
            printf "" > name
            printf "%04d %d %s%s\n", n, NR, language == "" ? "text" : language, words
            next
        }
        /^```$/ { inside = 0; close(name); next }
        !inside && /^\|.*\| try \|$/ { table = 1; next }
        !inside && !/^\|/ { table = 0 }
        !inside && table && /`.*` \|$/ {
            command = $0
            sub(/` \|$/, "", command)
            sub(/^.*\| `/, "", command)
            n++
            name = sprintf("%s/%04d.sh", dir, n)
            print command > name
            close(name)
            printf "%04d %d sh\n", n, NR
        }
        inside { print > name }
    ' "$1"
}

# What a reader's shell has. A sanitizer needs its options as well.
clean() {
    env -i HOME="$dir/home" PATH="$tmp/bin:/usr/local/bin:/usr/bin:/bin" TERM=xterm PYTHONPATH="$source/packaging/python" PYTHONDONTWRITEBYTECODE=1 ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} "$@"
}

# The same on a terminal, with a yes for each of the first few folders that ask; or with an answer to what a script asks.
on_terminal() {
    set -- -- "$@"
    for _ in 1 2 3 4 5 6 7 8; do set -- -w "Run it?" wait:10 -w "> " line:yes "$@"; done
    clean "$pty" "$@"
}
answering() {
    clean "$pty" -w "> " line:Lisbon -- "$@"
}

run_c() {
    flags="-D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -I$source/include $(pkg-config --cflags libuv lua5.4)"
    case $1 in
    *.cpp)
        command -v c++ >/dev/null || { only_read=yes && return 0; }
        flags="c++ -std=c++11 -pedantic-errors $flags"
        ;;
    *) flags="cc -std=c11 $flags" ;;
    esac
    if [ -n "${SANITIZED:-}" ] || ! grep -q '^int main(' "$1"; then
        only_read=yes
        # shellcheck disable=SC2086
        $flags -c -o program.o "$1"
        return
    fi
    # shellcheck disable=SC2086,SC2046
    $flags -o program "$1" "-L$build" "-Wl,-rpath,$build" -lhocket-serve -lhocket $(pkg-config --libs libuv lua5.4) &&
        on_terminal ./program
}

# Where there is no lua5.4, and in one that knows no sanitizer, such a script is only read.
run_stock() {
    { [ -z "${SANITIZED:-}" ] && command -v lua5.4 >/dev/null; } || { only_read=yes && return 0; }
    on_terminal lua5.4 -e "package.cpath = '$build/lua/5.4/?.so;' .. package.cpath" "$1"
}

run_one() { # file language words
    only_read=
    case $2 in
    lua) case " $3 " in *" stock "*) run_stock "$1"; return ;; esac ;;
    esac
    case $2 in
    lua) answering hocket run "$1" "Two days in Lisbon" ;;
    sh) on_terminal sh -eu "$1" ;;
    c | cpp) run_c "$1" ;;
    json) clean hocket run "$source/tests/docs/check_json.lua" "$1" ;;
    esac
}

# Whether the block before printed each line of a file. Colours, ends of lines and what a live view erases do not count.
shows() {
    sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' "$dir/out" | tr -d '\r' >"$dir/plain"
    while IFS= read -r wanted; do
        case $wanted in '' | … | ...) continue ;; esac
        grep -qF -- "$wanted" "$dir/plain" || { echo "it did not print: $wanted" && cat "$dir/plain" && return 1; }
    done <"$1"
}

run_document() {
    doc=$1
    dir=$tmp/$(basename "$doc" .md)
    mkdir -p "$dir/blocks" "$dir/home"
    ln -s "$source/examples" "$dir/examples"
    split "$doc" "$dir/blocks" >"$dir/list"
    cd "$dir" || exit 1
    while read -r n _ language words; do
        case "$words" in *" first") cp "blocks/$n.$language" "$(expr "$words" : '.*file=\([^ ]*\)')" ;; esac
    done <"$dir/list"
    while read -r n line language words; do
        case " $words " in
        *" skip "*)
            skipped=$((skipped + 1))
            continue
            ;;
        *" file="*)
            name=${words##*file=}
            name=${name%% *}
            mkdir -p "$(dirname "$name")"
            cp "blocks/$n.$language" "$name"
            continue
            ;;
        esac
        case " $words " in *" shows "*)
            [ -z "$only_read" ] || continue
            ran=$((ran + 1))
            if ! shows "blocks/$n.$language" >"$dir/missing"; then
                echo "$doc:$line: the block before does not show this:" >&2
                tail -n 20 "$dir/missing" >&2
                failed=$((failed + 1))
            fi
            continue
            ;;
        esac
        case $language in lua | sh | c | cpp | json) ;; *) continue ;; esac
        block=block_$n.$language # beside the files, so that a script finds its sim.lua
        cp "blocks/$n.$language" "$block"
        ran=$((ran + 1))
        if ! run_one "$block" "$language" "$words" >"$dir/out" 2>&1 </dev/null; then
            echo "$doc:$line: this ${language} block failed:" >&2
            tr '\r' '\n' <"$dir/out" | tail -n 20 >&2 # a live view writes its line again and again
            failed=$((failed + 1))
        fi
    done <"$dir/list"
}

for doc in "$@"; do
    run_document "$doc"
done
echo "snippets: $ran blocks ran, $failed failed, $skipped are marked to be skipped"
[ $failed -eq 0 ]
