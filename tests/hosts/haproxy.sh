#!/bin/sh
# Two HAProxy side by side, each with two threads, each of which has a Lua 5.3 and a host of its own:
# requests to all of them at the same time.
. "$(dirname "$0")/lib.sh"
needs haproxy haproxy 5.3
command -v curl >/dev/null || { echo "skipped: needs curl"; exit 77; }
export TEAM="$village" LUA_CPATH_DIR="$build/lua/5.3" ASK_LUA="$source_dir/examples/embed/haproxy/ask.lua"
first=$(lua5.4 -e 'math.randomseed(os.time()) print(math.random(20000, 32000))')
ports="$first $((first + 1))"
answer='Welcome! Fish stew tonight. Two stalls are free.'

start() { # port
    PORT=$1 haproxy -db -f "$source_dir/examples/embed/haproxy/haproxy.cfg" >>"$tmp/out" 2>&1 &
    pid="$pid $!"
    n=0
    until curl -s -o /dev/null "http://127.0.0.1:$1/"; do
        n=$((n + 1))
        [ $n -lt 100 ] && kill -0 $! 2>/dev/null || fail "haproxy does not listen"
        sleep 0.1
    done
}

ask() { # port, name of the file
    curl -s -i --max-time 30 --data "Is there a room?" "http://127.0.0.1:$1/" >"$tmp/answer.$1.$2"
}

threads() { # port
    cat "$tmp"/answer."$1".* | sed -n 's/^x-thread: //p' | sort -u | wc -l
}

for port in $ports; do start "$port"; done
asked=
for i in 1 2 3 4 5 6; do
    for port in $ports; do
        ask "$port" "$i" &
        asked="$asked $!"
    done
done
for one in $asked; do wait "$one" || fail "a request failed"; done

# The kernel shares connections out among the threads as it likes: until both have had one.
for port in $ports; do
    i=6
    while [ "$(threads "$port")" -lt 2 ] && [ $i -lt 60 ]; do
        i=$((i + 1))
        ask "$port" $i
    done
    [ "$(threads "$port")" = 2 ] || fail "one thread alone answers"
    curl -s -i "http://127.0.0.1:$port/" | grep -q '^HTTP/1.1 400' || fail "a request without a question is not refused"
done
for file in "$tmp"/answer.*; do
    grep -q "$answer" "$file" || { cat "$file"; fail "a request has another answer"; }
done

# One instance ends; the other goes on.
kill "${pid##* }" && wait "${pid##* }" || true
pid=${pid% *}
ask "$first" last && grep -q "$answer" "$tmp/answer.$first.last" || fail "the other instance has died with it"
echo "haproxy: $(ls "$tmp"/answer.* | wc -l) answers from two instances with two threads each"
for one in $pid; do kill -0 "$one" || fail "haproxy has died"; done
