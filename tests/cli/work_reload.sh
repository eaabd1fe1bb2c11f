# SIGHUP: a worker begins anew, as the same process, whenever it comes, and in the folder where it was started.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/work_lib.sh"
# Without a terminal, as services are: there SIGHUP says that it was closed.
begin() { # NAME DIR [OPTION…]
  name=$1 dir=$2; shift 2
  : >"w$name.out" # what one of that name wrote before is not this one's
  (cd "$dir" && exec setsid "$HOCKET" work --json "$@") >"w$name.out" 2>"w$name.err" & eval "w$name=$!"; workers="$workers $!"
  until_true working $! "w$name.out" 0
}
working() { # PID OUT N: more than N times
  [ "$(grep -c '"working"' "$2")" -gt "$3" ] && return
  kill -0 "$1" 2>/dev/null && return 1
  fail "it has ended: $(cat "${2%out}err")"; finish
}
anew() { # PID OUT: it begins anew, once more than now
  n=$(grep -c '"working"' "$2"); kill -HUP "$1"; until_true working "$1" "$2" "$n"
}

# ---- Again and again, also while it has not begun yet -----------------------------------------------------------
begin 1 empty
for _ in $(seq 300); do kill -HUP "$w1" 2>/dev/null || { fail "it was ended by SIGHUP"; finish; }; sleep 0.005; done
anew "$w1" w1.out; empty w1.err
steps kept; : >kept.go; done_with "$id"; once kept
end 1 TERM; expect 0

# ---- An end that is asked for meanwhile is not forgotten -------------------------------------------------------------
for pause in 0 0.01 0.02 0.03 0.04 0.06; do
  begin 2 empty; kill -HUP "$w2"; sleep $pause; end 2 TERM; expect 0; empty w2.err
done

# ---- Several processes, of which some have just been started ---------------------------------------------------------
begin crew empty --processes 2
for _ in 1 2 3; do
  kill -KILL "$(pgrep -P $wcrew | head -n 1)"
  for _ in $(seq 80); do kill -HUP $wcrew; sleep 0.01; done
done
anew $wcrew wcrew.out; hasnt wcrew.err "signal 1;"; hasnt wcrew.err "code"
end crew TERM; expect 0

# ---- With the same store and the same folder, however they were named ------------------------------------------------
mkdir -m 700 empty/sub empty/own
HOCKET_STORE=own/r.db
begin sub empty --workdir sub
anew "$wsub" wsub.out; anew "$wsub" wsub.out; empty wsub.err
same "$(readlink /proc/$wsub/cwd)" "$(cd empty/sub && pwd -P)"
echo 'return "here"' >here.lua
HOCKET_STORE=$PWD/empty/own/r.db; detach here.lua; done_with "$id"; has out here
end sub TERM; expect 0

finish
