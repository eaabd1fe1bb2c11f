-- For LuaRocks: luarocks make, in this directory, with a Lua from 5.1 to 5.4 or LuaJIT. It installs the module and the libraries
-- that it loads, nothing else. The libraries of docs/explanation/internals.md are needed with their headers.
rockspec_format = "3.0"
package = "hocket"
version = "0.1.0-1"
source = { url = "git+https://hocket.example/hocket.git", tag = "v0.1.0" }
description = {
  summary = "A runtime for teams of LLM agents",
  homepage = "https://hocket.example",
  license = "MIT",
}
dependencies = { "lua >= 5.1, < 5.5" }
external_dependencies = { UV = { header = "uv.h" }, YAML = { header = "yaml.h" } }
build = {
  type = "command",
  build_command = "sh packaging/rock.sh build",
  install_command = "sh packaging/rock.sh install \"$(LUA)\" \"$(LIBDIR)\"",
}
