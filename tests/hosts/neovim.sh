#!/bin/sh
# Neovim, headless: the answer stands in a buffer, and the editor worked meanwhile.
. "$(dirname "$0")/lib.sh"
needs nvim neovim 5.1
export LUA_CPATH="$build/lua/5.1/?.so;;" TEAM="$village" HOME="$tmp" XDG_STATE_HOME="$tmp" PLUGIN="$source_dir/examples/embed/nvim"
timeout 60 nvim --headless -u NONE -i NONE -n -c "luafile $here/neovim.lua" >"$tmp/out" 2>&1 || fail "nvim ended with $?"
grep -q 'neovim: well' "$tmp/out" || fail "the buffer holds something else"
cat "$tmp/out"
