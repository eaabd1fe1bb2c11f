#!/bin/sh
# make.sh BUILD NAME: writes tests/versions/NAME with the program in the folder BUILD. See README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
to=$here/$2
[ ! -e "$to" ] || {
    echo "make.sh: $to is there already, and is never changed" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$to"
cp -r "$here/project/agents" "$here/project/sim.lua" "$to"
cd "$to"
hocket() {
    env -i HOME="$work/home" PATH=/usr/bin:/bin HOCKET_MODEL=sim HOCKET_TRUST=1 HOCKET_STORE="$to/runs.db" "$build/hocket" "$@"
}
hocket run -q agents/lead.md "A report on tea" >/dev/null
hocket run -q agents/buyer.md "Buy paper" >/dev/null 2>&1 || [ $? -eq 75 ]
printf 'one\ntwo\nthree\n' | hocket chat -q agents/talker.md >/dev/null
hocket export "$(hocket runs | awk '/lead\.md/ { print $1 }')" team.run
"$build/tests/host/test_host_stored_saved" --write "$to/game"
cp "$here/project/program.c" .
mkdir -p include/hocket
cp "$here/../../include/hocket/hocket.h" include/hocket/
cc -std=c11 -Iinclude -o "$work/program" program.c -L"$build" -lhocket-serve -lhocket
env -i HOME="$work/home" LD_LIBRARY_PATH="$build" "$work/program" "$to/program.save" write >/dev/null
rm -f runs.db-wal runs.db-shm runs.db.*
