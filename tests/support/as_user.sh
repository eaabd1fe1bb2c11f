#!/bin/sh
# as_user.sh COMMAND…: runs a test once more as an ordinary user, where root runs the tests. What a
# sandbox must hold differs: root's programs own the kernel's files, a user's need namespaces.
# Skipped (77) for others, and where the tree cannot be read by everybody.
[ "$(id -u)" -eq 0 ] || exit 77
command -v setpriv >/dev/null || exit 77
user="setpriv --reuid 65534 --regid 65534 --clear-groups"
$user test -r . -a -x "$1" || {
    echo "skipped: not everybody may read $PWD and run $1"
    exit 77
}
scratch=$(mktemp -d /tmp/hocket-user-XXXXXX) && mkdir "$scratch/home" "$scratch/tmp" || exit 1 # TMPDIR may be closed to others
chown -R 65534:65534 "$scratch"
TMPDIR=$scratch/tmp HOME=$scratch/home $user "$@"
status=$?
left=$(ls -A "$scratch/tmp")
rm -rf "$scratch"
[ -z "$left" ] || {
    echo "left behind: $left"
    exit 1
}
exit $status
