# A start does no more than it has to: scripts that every run loads are compiled by the build, and libcurl is loaded only where a
# model is asked.
. "$(dirname "$0")/lib.sh"

printf -- '---\nname: talker\ndescription: Talks\n---\nYou talk.\n' >talker.md
cat >loaded.lua <<'EOF'
local hocket = require "hocket"
local system = require "hocket.internal.core.system"
assert(hocket.run(hocket.agent "talker.md", "hi"))
local compiled, named = {}, {}
for _, file in ipairs(system.assets "hocket/") do
  if file:find "%.luac$" then compiled[file:sub(1, -2)] = true end
end
for name in pairs(package.loaded) do
  local path = name:gsub("%.", "/")
  local file = system.asset(path .. "/init.lua") and path .. "/init.lua" or path .. ".lua"
  if compiled[file] then named[#named + 1] = "compiled: " .. file
  elseif system.asset(file) and not file:find "/sim/" then named[#named + 1] = "not compiled: " .. file end
end
for file in pairs(compiled) do named[#named + 1] = "there: " .. file end
table.sort(named)
return table.concat(named, "\n")
EOF
# What the simulated model loads is its own affair.
for store in off runs.db; do
  run hocket run loaded.lua -q --store $store
  expect 0
  sed -n 's/^not compiled: //p' out | grep -v '/fence.lua$\|/truncate.lua$\|/suggest.lua$\|/misuse.lua$\|/kept_scripts.lua$' >surplus
  empty surplus
  sed -n 's/^compiled: //p' out >>used
  sed -n 's/^there: //p' out >there
done
# Compiled for nothing: of these a plain run has no use, but one over HTTP or one that is continued. script_reply comes when the script has ended.
sort -u used | comm -13 - there | grep -v '/consistency.lua$\|/context.lua$\|/kept_call.lua$\|/pool.lua$\|/prices.lua$\|/script_reply.lua$' >surplus
empty surplus

# LD_DEBUG names each library that is loaded.
loads_curl() {
  LD_DEBUG=files LD_DEBUG_OUTPUT="$WORK/ld" "$@" >out 2>err </dev/null
  code=$?
  cat ld.* >loaded 2>/dev/null; rm -f ld.*
  grep -q 'file=libcurl' loaded
}
echo "return 'done'" >quiet.lua
if [ -z "$SANITIZE" ] && loads_curl hocket run talker.md hi -q --store off; then
  loads_curl hocket run quiet.lua -q --store off && fail "libcurl is loaded for a script that asks no model"
  expect 0; has out done
fi
finish
