#!/bin/sh
# lighttpd with two workers, each with a Lua 5.4 state for the script; then a graceful restart.
. "$(dirname "$0")/lib.sh"
needs lighttpd lighttpd 5.4
[ -f /usr/lib/lighttpd/mod_magnet.so ] ||
    { echo "skipped: needs the package lighttpd-modules-lua"; exit 77; }
command -v curl >/dev/null || { echo "skipped: needs curl"; exit 77; }
port=$(lua5.4 -e 'math.randomseed(os.time()) print(math.random(20000, 32000))')
cat >"$tmp/lighttpd.conf" <<CONF
server.document-root = "$tmp"
server.bind = "127.0.0.1"
server.port = $port
server.max-worker = 2
server.modules = ( "mod_magnet" )
magnet.attract-raw-url-to = ( "$source_dir/examples/embed/lighttpd/ask.lua" )
CONF
export TEAM="$village" LUA_CPATH_5_4="$build/lua/5.4/?.so;;"
setsid lighttpd -D -f "$tmp/lighttpd.conf" >"$tmp/out" 2>&1 & # it passes signals on to its whole process group
pid=$!

ask() {
    curl -s --max-time 30 "$@" "http://127.0.0.1:$port/"
}
listens() {
    n=0
    until ask -o /dev/null; do
        n=$((n + 1))
        [ $n -lt 100 ] && kill -0 "$pid" 2>/dev/null || fail "lighttpd does not listen"
        sleep 0.1
    done
}

listens
asked=
for i in 1 2 3 4 5 6; do
    ask --data "Is there a room?" >"$tmp/answer.$i" &
    asked="$asked $!"
done
for one in $asked; do wait "$one" || fail "a request failed"; done
ask -i | grep -q '^HTTP/1.1 400' || fail "a request without a question is not refused"
kill -USR1 "$pid" # which ends its workers, and with them their hosts
sleep 0.3
listens
ask --data "Is there a room now?" >"$tmp/answer.7" || fail "no answer after a restart"
for file in "$tmp"/answer.*; do
    grep -q 'Welcome! Fish stew tonight. Two stalls are free.' "$file" || { cat "$file"; fail "a request has another answer"; }
done
grep -iE 'signal|core|error' "$tmp/out" && fail "there were errors"
echo "lighttpd: well"
