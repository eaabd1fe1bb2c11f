--- Sub-agents of Gemini CLI: `.gemini/agents/*.md`.
local json = require "hocket.json"

return {
  title = "Gemini CLI", files = { ".gemini/agents/*.md" }, no_tools = "assistant", project = true,
  keys = {
    { "name", doc = "`name`", read = function(t, v) t:name(v) end },
    { "display_name", doc = "`display_name`", read = function(t, v) t:text("display_name", v) end },
    { "description", doc = "`description`", read = function(t, v) t:text("description", v) end },
    { "kind", doc = "`local`; a `remote` one is refused: it is no agent but the address of one", read = function(t, v)
      if v ~= "local" then t:refuse "is not 'local': the file is the address of an agent elsewhere, and hocket reads agents" end
    end },
    { "tools", doc = "`tools`, by the table of tools; without it, or `*`, those of the assistant", read = function(t, v)
      if v == json.null then t:warn "names no tools: it has none" end
      t:tools(t:list(v))
    end },
    { "model", doc = "the model, by the table of models", read = function(t, v) t:models(v) end },
    { "temperature", doc = "`temperature`", read = function(t, v) t:number("temperature", v, 0, 2) end },
    { "max_turns", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "timeout_mins", doc = "`timeout`, in seconds", read = function(t, v) t:limit("timeout", v, 60) end },
    { "mcp_servers", doc = "`mcp`: a person is asked before they start", read = function(t, v) t:named_servers(v) end },
  },
}
