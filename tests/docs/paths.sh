#!/bin/sh
# Three newcomers, and what they see: a game developer, a Python developer, an operator. The commands of each path are typed as they
# stand in paths/NAME.txt, in a new home, on a terminal, without a key, beside `source`, the sources; what is printed has to be what that file shows. In it "$ " begins a
# command; the lines below it have to occur in what it prints, in their order. The first answer comes after at most three commands and
# is no echo of what was asked.
#   paths.sh HOCKET PTY SOURCE_DIR BUILD_DIR
set -u
pty=$2
source=$3
build=$4
"$pty" -- true >/dev/null 2>&1 || { echo "skipped: this machine has no pseudo terminals (is /dev/pts mounted?)"; exit 77; }
tmp=$(mktemp -d)
trap 'left=$?; sh "$source/tests/canary.sh" "$tmp" || left=1; rm -rf "$tmp"; exit $left' EXIT
trap 'exit 1' INT TERM
mkdir "$tmp/bin"
ln -s "$1" "$tmp/bin/hocket"
ln -s "$source" "$tmp/source"
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $*"
}

# Types one command; what it prints is in the file `out`. A folder that asks for trust gets a yes.
type_in() {
    env -i HOME="$home" PATH="$tmp/bin:/usr/local/bin:/usr/bin:/bin" TERM=xterm HOCKET_SOURCE="$source" HOCKET_BUILD="$build" ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
        "$pty" -w "Run it?" wait:5 -w "> " line:yes -w "Run it?" wait:5 -w "> " line:yes -- sh -c "$1" >raw 2>&1 </dev/null
    sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' raw | tr -d '\r' >out
}

# Whether the lines of `wanted` occur in `out`, one after the other.
occur() {
    awk -v first=1 'NR == FNR { if ($0 != "") wanted[++n] = $0; next }
        n > 0 && at < n && index($0, wanted[at + 1]) { at++ }
        END { if (at < n) { print wanted[at + 1]; exit 1 } }' wanted out
}

judge() { # path number command
    [ -s wanted ] || fail "$1: nothing is expected of '$3'"
    missing=$(occur) || { fail "$1: '$3' does not print '$missing':"; tail -n 25 out; }
    if [ "$2" -le 3 ] && grep -q '(simulated)' out; then fail "$1: '$3' answers with an echo"; fi
}

walk() { # path
    home=$tmp/home-$1
    mkdir -p "$home" "$tmp/$1"
    cd "$tmp/$1" || exit 1
    number=0
    command=
    : >wanted
    while IFS= read -r line; do
        case $line in
        '#'*) ;;
        '$ '*)
            [ -z "$command" ] || judge "$1" $number "$command"
            command=${line#'$ '}
            number=$((number + 1))
            : >wanted
            type_in "$command"
            ;;
        *) printf '%s\n' "$line" >>wanted ;;
        esac
    done <"$source/tests/docs/paths/$1.txt"
    [ -z "$command" ] || judge "$1" $number "$command"
    [ $number -gt 3 ] || fail "$1: a path has more than three commands"
}

walk operator
walk python
# A sanitizer is no library that the program of a game can be linked with.
[ -n "${SANITIZED:-}" ] || walk game
exit $failed
