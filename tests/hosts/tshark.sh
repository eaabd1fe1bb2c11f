#!/bin/sh
# tshark reads a capture of one packet, and the team says what it was.
. "$(dirname "$0")/lib.sh"
needs tshark tshark 5.2
command -v text2pcap >/dev/null || { echo "skipped: needs text2pcap"; exit 77; }
echo '0000 ff ff ff ff ff ff 00 11 22 33 44 55 08 06 00 01 08 00 06 04 00 01 00 11 22 33 44 55 0a 00 00 01 00 00 00 00 00 00 0a 00 00 02' |
    text2pcap - "$tmp/one.pcap" >"$tmp/out" 2>&1 || fail "there is no capture"
export TEAM="$village" LUA_CPATH="$build/lua/5.2/?.so;;" HOME="$tmp"
timeout 60 tshark -r "$tmp/one.pcap" -q -X "lua_script:$source_dir/examples/embed/tshark/ask.lua" >"$tmp/out" 2>&1 ||
    fail "tshark ended with $?"
grep -q 'Welcome! Fish stew tonight. Two stalls are free.' "$tmp/out" || fail "tshark has heard something else"
echo "tshark: well"
