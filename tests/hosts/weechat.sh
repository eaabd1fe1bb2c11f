#!/bin/sh
# WeeChat without a screen: /ask, and then another script unloads the one that asks, with a question under way.
. "$(dirname "$0")/lib.sh"
needs weechat-headless weechat-headless 5.3
[ -f "$(dpkg -L weechat-lua 2>/dev/null | grep 'plugins/lua[.]so$')" ] || { echo "skipped: needs the package weechat-lua"; exit 77; }
cat >"$tmp/guest.lua" <<'LUA'
weechat.register("guest", "hocket", "1", "MIT", "asks, and goes", "", "")
local turns, unloaded, out = 0, nil, assert(io.open(os.getenv "GUEST_OUT", "w"))
function heard(_, _, _, _, _, _, prefix, text)
  if prefix:find "ask" then out:write("heard: ", text, "\n") out:flush() end
  return weechat.WEECHAT_RC_OK
end
function guest_turn()
  turns = turns + 1
  if turns == 1 then weechat.command("", "/ask Is there a room?") end
  if turns == 40 then
    weechat.command("", "/ask Is there a stable?")
    weechat.command("", "/lua unload ask")
    out:write "unloaded\n"
  end
  if turns == 60 then
    out:close()
    weechat.command("", "/quit")
  end
  return weechat.WEECHAT_RC_OK
end
weechat.hook_print("", "", "", 1, "heard", "")
weechat.hook_timer(50, 0, 0, "guest_turn", "")
LUA
export TEAM="$village" LUA_CPATH="$build/lua/5.3/?.so;;" GUEST_OUT="$tmp/heard"
timeout 60 weechat-headless -d "$tmp/home" --stdout \
    -r "/lua load $source_dir/examples/embed/weechat/ask.lua; /lua load $tmp/guest.lua" >"$tmp/out" 2>&1 || fail "WeeChat ended with $?"
grep -q 'heard: Welcome! Fish stew tonight. Two stalls are free.' "$tmp/heard" || { cat "$tmp/heard"; fail "the guest has heard something else"; }
grep -q unloaded "$tmp/heard" || fail "the guest has not left"
echo "weechat: well"
