-- For LuaRocks: luarocks make, in this directory, with a Lua 5.4. One file holds all of it; the
-- system's libuv, libcurl, cJSON and libyaml are needed with their headers (docs/libraries.md).
rockspec_format = "3.0"
package = "hocket"
version = "0.1.0-1"
source = { url = "git+https://hocket.example/hocket.git", tag = "v0.1.0" }
description = {
  summary = "A runtime for teams of LLM agents",
  homepage = "https://hocket.example",
  license = "MIT",
}
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = { UV = { header = "uv.h" }, YAML = { header = "yaml.h" } }
build = {
  type = "cmake",
  variables = {
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    HOCKET_LUA_CDIR = "$(LIBDIR)",
    HOCKET_SHARED = "OFF",
    HOCKET_TESTS = "OFF",
    HOCKET_BENCH = "OFF",
  },
}
