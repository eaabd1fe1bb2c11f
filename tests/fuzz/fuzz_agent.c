/* Any bytes as an agent's file: YAML in C, the rest in Lua, in a host of its own. What must hold is
 * said in the script below: nothing is raised, whatever is wrong has a place in the file, and a
 * definition is plain data that can be used. */
#include "host/host.h"

#include "bind/runtime.h"
#include "bind/util.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char script[] =
    "local agents, json = require 'hocket.agent', require 'hocket.json'\n"
    "local prompt = require 'hocket.internal.agents.prompt'\n"
    "return function(text)\n"
    "  local _, lines = text:gsub('\\n', '')\n"
    "  local def, problems = agents.parse(text, 'x.md')\n"
    "  for _, p in ipairs(problems) do\n"
    "    assert(p.file == 'x.md' and utf8.len(p.message) and #p.message > 3, p.message)\n"
    "    assert(p.severity == 'error' or p.severity == 'warning')\n"
    "    assert(p.line >= 1 and p.line <= lines + 2, 'line ' .. p.line)\n"
    "    assert(p.column >= 1 and p.column <= #text + 2, 'column ' .. p.column)\n"
    "  end\n"
    "  assert(def or #problems > 0, 'nothing is said')\n"
    "  if not def then return end\n"
    "  assert(def.name:find '^[%a_][%w_-]*$', def.name)\n"
    "  assert(type(def.prompt) == 'string' and type(def.tools) == 'table')\n"
    "  for _, edge in ipairs(agents.edges(def)) do assert(type(edge.to) == 'string') end\n"
    "  assert(json.encode(def))\n"
    "  prompt.fill(def.prompt, def.variables)\n"
    "end\n";

static lua_State *L;

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "agent: %s\n", what);
    abort();
}

static void open_host(void)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_host *h;
    struct hocket_error err;
    must(hocket_open(&o, &h, &err) == 0, err.message);
    L = h->rt->L;
    must(luaL_loadstring(L, script) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK,
        lua_tostring(L, -1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!L)
        open_host();
    lua_pushvalue(L, -1);
    lua_pushlstring(L, (const char *) data, size);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        const char *why = luaL_tolstring(L, -1, NULL);
        must(false, why);
    }
    return 0;
}
