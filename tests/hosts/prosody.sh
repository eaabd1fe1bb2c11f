#!/bin/sh
# Prosody: a component whose messages a team answers, in Prosody's own Lua and loop; then a reload of the module.
. "$(dirname "$0")/lib.sh"
needs prosody prosody 5.4
cat >"$tmp/prosody.cfg.lua" <<CONF
run_as_root = true
daemonize = false
data_path = "$tmp"
pidfile = "$tmp/prosody.pid"
certificates = "$tmp"
plugin_paths = { "$source_dir/examples/embed/prosody", "$here/prosody" }
modules_enabled = {}
modules_disabled = { "s2s", "c2s", "tls", "offline", "posix", "limits" }
log = { { levels = { min = "info" }, to = "console" } }
c2s_ports, s2s_ports, http_ports, https_ports = {}, {}, {}, {}
VirtualHost "localhost"
Component "inn.localhost" "ask"
  ask_team = "$village"
Component "guest.localhost" "ask_guest"
CONF
export LUA_CPATH_5_4="$build/lua/5.4/?.so;;"
timeout 60 prosody --config "$tmp/prosody.cfg.lua" >"$tmp/out" 2>&1 || true
[ "$(grep -c 'the inn says: Welcome! Fish stew tonight. Two stalls are free.' "$tmp/out")" = 4 ] ||
    fail "the guest has heard something else"
grep -q 'the guest leaves' "$tmp/out" || fail "the guest has not left"
grep -q 'pumped while idle: 0$' "$tmp/out" || fail "the host did not sleep"
ticks=$(sed -n 's/.*ticks meanwhile: //p' "$tmp/out")
[ "${ticks:-0}" -ge 3 ] || fail "the server stood still"
grep -iE '\berror\b' "$tmp/out" && fail "there were errors"
echo "prosody: well, $ticks ticks meanwhile"
