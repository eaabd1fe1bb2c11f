#!/bin/sh
# The attack suite: every class of this folder (what a class is stands in attack.lua), a line for each
# with how many attacks were tried and how many held, and the sum.
#   run.sh HOCKET [--short] [CLASS…]
# Root tries them twice, the second time as an ordinary user: what has to hold differs. Then all of it
# is in a view of the machine that cannot be written to, but for a folder of its own: a wall that does not
# hold is to be seen, and not to be paid for.
set -u
here=$(cd "$(dirname "$0")" && pwd)
hocket=$1
shift
[ "${1:-}" != --short ] || {
    shift
    HOCKET_ATTACK_EVERY=5
    export HOCKET_ATTACK_EVERY
}
classes=${*:-$(cd "$here" && ls *.lua | sed 's/\.lua$//' | grep -vx attack)}
scratch=$(mktemp -d /tmp/hocket-attack-XXXXXX) || exit 2
trap 'chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
chmod 1777 "$scratch"

source=$(cd "$here/../.." && pwd)
build=$(cd "$(dirname "$hocket")" && pwd)

# Runs a command in the view, where there is one. A tree below /tmp is visible there, and everybody may enter its parents.
in_view() {
    [ -n "$view" ] || {
        "$@"
        return
    }
    set -- --chdir "$here" "$@"
    for dir in "$source" "$build"; do
        case $dir in /tmp/*) set -- --ro-bind "$dir" "$dir" "$@" ;; esac
        while dir=$(dirname "$dir") && [ "${dir#/tmp/}" != "$dir" ]; do
            set -- --perms 0755 --dir "$dir" "$@"
        done
    done
    bwrap --ro-bind / / --dev-bind /dev /dev --bind /proc /proc --bind "$scratch" /tmp "$@"
}

# One class, as the user of $as: its output goes to stdout.
class() {
    # shellcheck disable=SC2086
    LUA_PATH="$here/?.lua;$here/../lua/support/?.lua;;" TMPDIR=/tmp HOME=/tmp HOCKET_MODEL=sim HOCKET_CANARY='' \
        in_view $as "$hocket" run "$here/$1.lua" run 2>&1
}

nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
view=
users=:
if [ "$(id -u)" -eq 0 ]; then
    if command -v bwrap >/dev/null && bwrap --ro-bind / / true 2>/dev/null; then
        view=yes
    else
        echo "attack: root tries this only with bubblewrap around it" >&2
        exit 77
    fi
    users=root
    if command -v setpriv >/dev/null && in_view $nobody test -x "$hocket" -a -r "$here/attack.lua"; then
        users="root user"
    else
        echo "not tried as a user: not everybody may run $hocket"
    fi
fi

tried=0 held=0 failed=0
for name in $classes; do
    for user in $users; do
        as=
        [ "$user" != user ] || as=$nobody
        out=$(class "$name")
        line=$(printf '%s\n' "$out" | grep -E "^[a-z_]+: [0-9]+ tried, [0-9]+ held$" | tail -1)
        printf '%s\n' "$out" | grep -A 12 '^NOT HELD'
        if [ -z "$line" ]; then
            echo "FAILED  $name: it did not get to its end"
            printf '%s\n' "$out" | tail -20
            failed=1
            continue
        fi
        n=$(echo "$line" | sed 's/^[^:]*: \([0-9]*\) tried.*/\1/')
        h=$(echo "$line" | sed 's/.* \([0-9]*\) held$/\1/')
        [ "$user" = : ] && echo "$line" || echo "$line, as $user"
        tried=$((tried + n)) held=$((held + h))
    done
done
echo "attacks: $tried tried, $held held"
[ "$failed" -eq 0 ] && [ "$tried" -eq "$held" ]
