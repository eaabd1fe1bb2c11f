-- What `require "hocket"` gives in every Lua: 5.4, and beside it 5.1, 5.2, 5.3 and LuaJIT. tests/module/same.lua holds
-- each of them against it, in both directions.
return {
  hocket = { agent = "function", host = "table", json = "table", run = "function", start = "function", tool = "callable", version = "function" },
  json = { array = "function", decode = "function", encode = "function" }, -- and null
  host = {
    "agent", "close", "fd", "load", "load_dir", "offer", "pump", "remove_tool", "run", "start", "stats", "timeout", "tool", "wait", "withdraw",
  },
  run = {
    "answer", "await", "cancel", "change", "done", "events", "interrupt", "result", "say", "signal", "stop", "tree", "wait",
  },
  call = { "answer", "fail" }, -- what a tool is given beside its arguments; and call.agent
  stats = { "runs", "runs_ended", "events", "fibers", "requests", "tool_calls", "lua_bytes" },
  -- Options of `start` that are hocket's and not the run's; those of a run go to it as they are.
  start = { "on_event", "on_done", "events" },
  -- In the state of a 5.4 alone: beside another Lua the host is not in reach of what would tell of its runs.
  within = { host = { "telemetry" } },
  -- Beside another Lua alone: in the state of a 5.4 there is one host.
  -- Its runs are the engine's own, and not the library's: they are not kept, so that there is nothing to save.
  beside = { hocket = { "open" }, host = { "restore", "save" }, run = { "save" } },
}
