-- What `require "hocket"` gives in every Lua: 5.4, and beside it 5.1, 5.2, 5.3 and LuaJIT. tests/module/same.lua holds
-- each of them against it, in both directions.
return {
  hocket = { agent = "function", host = "table", json = "table", run = "function", open = "function", start = "function", tool = "callable", version = "function" },
  json = { array = "function", decode = "function", encode = "function" }, -- and null
  host = {
    "agent", "close", "fd", "hook", "load", "load_dir", "offer", "prepare", "pump", "remove_hook", "remove_tool", "restore", "run", "save", "start", "stats", "timeout", "tool", "wait", "withdraw",
  },
  run = {
    "answer", "await", "cancel", "change", "done", "events", "interrupt", "result", "save", "say", "signal", "stop", "tree", "wait",
  },
  call = { "answer", "fail" }, -- what a tool is given beside its arguments; and call.agent
  stats = { "runs", "runs_ended", "events", "fibers", "requests", "tool_calls", "lua_bytes" },
  -- Options of `start` that are hocket's and not the run's; those of a run go to it as they are.
  start = { "on_event", "on_done", "events" },
  -- In the state of a 5.4 alone: beside another Lua the host is not in reach of what would tell of its runs.
  within = { host = { "telemetry" } },
}
