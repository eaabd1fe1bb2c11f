#!/bin/sh
# Looks for the random secret of a test run in what the tests leave: HOCKET_CANARY is in the
# environment of every test (./dev test puts it there), so it may be nowhere else.
#   canary.sh PATH…                 all files there; also before a test removes its directory
#   canary.sh --since STAMP PATH…   those that are newer than the file STAMP
# What others have mounted there (the /proc of a chroot has every environment) is not looked into.
# Without HOCKET_CANARY there is nothing to look for.
[ -n "${HOCKET_CANARY:-}" ] || exit 0
newer=
if [ "${1:-}" = --since ]; then
    newer="-newer $2"
    shift 2
fi
# shellcheck disable=SC2086 # two words, or none
found=$(find "$@" -xdev -type f $newer ! -name '*.o' ! -name '*.a' -exec grep -lF -e "$HOCKET_CANARY" {} + 2>/dev/null)
names=$(find "$@" -xdev $newer -name "*$HOCKET_CANARY*" 2>/dev/null)
[ -z "$found$names" ] && exit 0
echo "FAILED: a secret of the environment is in:" "$found" "$names" >&2
exit 1
