#!/bin/sh
# HAProxy with two threads, each with a Lua 5.3 and a host of its own: requests at the same time.
. "$(dirname "$0")/lib.sh"
needs haproxy haproxy 5.3
command -v curl >/dev/null || { echo "skipped: needs curl"; exit 77; }
PORT=$(lua5.4 -e 'math.randomseed(os.time()) print(math.random(20000, 32000))')
export PORT TEAM="$village" LUA_CPATH_DIR="$build/lua/5.3" ASK_LUA="$source_dir/examples/embed/haproxy/ask.lua"
haproxy -db -f "$source_dir/examples/embed/haproxy/haproxy.cfg" >"$tmp/out" 2>&1 &
pid=$!
n=0
until curl -s -o /dev/null "http://127.0.0.1:$PORT/"; do
    n=$((n + 1))
    [ $n -lt 100 ] && kill -0 $pid 2>/dev/null || fail "haproxy does not listen"
    sleep 0.1
done
for i in 1 2 3 4 5 6 7 8; do
    curl -s -i --max-time 30 --data "Is there a room?" "http://127.0.0.1:$PORT/" >"$tmp/answer$i" &
    eval "curl$i=\$!"
done
for i in 1 2 3 4 5 6 7 8; do
    eval "wait \$curl$i" || fail "request $i failed"
    grep -q 'Welcome! Fish stew tonight. Two stalls are free.' "$tmp/answer$i" || {
        cat "$tmp/answer$i"
        fail "request $i has another answer"
    }
done
curl -s -i "http://127.0.0.1:$PORT/" | grep -q '^HTTP/1.1 400' || fail "a request without a question is not refused"
threads=$(cat "$tmp"/answer* | sed -n 's/^x-thread: //p' | sort -u | wc -l)
echo "haproxy: 8 answers from $threads threads"
kill -0 $pid || fail "haproxy has died"
