-- What a script may require, and the LuaCATS annotations of it: read for the reference and for the stubs that editors get.
local annotations = {}

annotations.root = (debug.getinfo(1, "S").source:match "^@(.*)/docs/tools/[^/]*$" or ".") .. "/"

-- In the order in which people need them: a module, and the files that describe it. Of a file with a list behind it
-- these classes and functions alone. What is tagged `---@internal` is for our own modules.
annotations.pages = {
  { "hocket", "lua/hocket/init.lua", { "lua/hocket/internal/run/run.lua", "hocket.Run", "Run:usage", "Run:tree", "Run:stop", "Run:cancel",
    "Run:emit", "Run:answer", "Run:change", "Run:interrupt", "Run:tasks", "Run:document_versions" },
    { "lua/hocket/internal/models/account.lua", "hocket.Budget", "hocket.Cut" } },
  { "hocket.tool", "lua/hocket/tool.lua" },
  { "hocket.conversation", "lua/hocket/conversation.lua" },
  { "hocket.workflow", "lua/hocket/workflow.lua" },
  { "hocket.flow", "lua/hocket/flow.lua" },
  { "hocket.patterns.advisors", "lua/hocket/patterns/advisors.lua" },
  { "hocket.patterns.router", "lua/hocket/patterns/router.lua" },
  { "hocket.patterns.handoff", "lua/hocket/patterns/handoff.lua" },
  { "hocket.patterns.blockers", "lua/hocket/patterns/blockers.lua" },
  { "hocket.patterns.alternates", "lua/hocket/patterns/alternates.lua" },
  { "hocket.patterns.team", "lua/hocket/patterns/team.lua" },
  { "hocket.patterns.facilitator", "lua/hocket/patterns/facilitator.lua" },
  { "hocket.patterns.planner", "lua/hocket/patterns/planner.lua" },
  { "hocket.patterns.plan", "lua/hocket/patterns/plan.lua" },
  { "hocket.patterns.coordinator", "lua/hocket/patterns/coordinator.lua", { "lua/hocket/patterns/coordinator/assignments.lua", "hocket.Outcome" } },
  { "hocket.patterns.outcome", "lua/hocket/patterns/outcome.lua" },
  { "hocket.tools.delegate_to_agent", "lua/hocket/tools/delegate_to_agent.lua" },
  { "hocket.board", "lua/hocket/board.lua", "docs/stubs/board.lua" },
  { "hocket.document", "lua/hocket/document.lua", "docs/stubs/document.lua" },
  { "hocket.events", "lua/hocket/events.lua" },
  { "hocket.ask", "lua/hocket/ask.lua" },
  { "hocket.memory", "lua/hocket/memory.lua" },
  { "hocket.fence", "lua/hocket/fence.lua" },
  { "hocket.text", "lua/hocket/text.lua" },
  { "hocket.orchestrate", "lua/hocket/orchestrate.lua", "lua/hocket/internal/work/step.lua" },
  { "hocket.broker", "lua/hocket/broker.lua", "docs/stubs/broker.lua", "lua/hocket/internal/run/batch.lua" },
  { "hocket.agent", "lua/hocket/agent.lua" },
  { "hocket.permission", "lua/hocket/permission.lua" },
  { "hocket.session", "lua/hocket/session.lua" },
  { "hocket.llm", "lua/hocket/llm.lua", "docs/stubs/history.lua" },
  { "hocket.model", "lua/hocket/model.lua" },
  { "hocket.providers", "lua/hocket/providers.lua" },
  { "hocket.prices", "lua/hocket/prices.lua" },
  { "hocket.cassette", "lua/hocket/cassette.lua" },
  { "hocket.sim", "lua/hocket/sim/init.lua" },
  { "hocket.sim.team", "lua/hocket/sim/team.lua" },
  { "hocket.attach", "lua/hocket/attach.lua" },
  { "hocket.console", "lua/hocket/console.lua" },
  { "hocket.loaders", "lua/hocket/loaders.lua" },
  { "hocket.live", "lua/hocket/live.lua", { "lua/hocket/internal/live/generation.lua", "hocket.Generation" } },
  { "hocket.host", "lua/hocket/host.lua" },
  { "hocket.mcp", "lua/hocket/mcp.lua", "lua/hocket/internal/mcp/client.lua" },
  { "hocket.json", "docs/stubs/json.lua" },
  { "hocket.fs", "docs/stubs/fs.lua" },
  { "hocket.http", "docs/stubs/http.lua", "docs/stubs/stream.lua" },
  { "hocket.process", "docs/stubs/process.lua", "docs/stubs/program.lua" },
  { "hocket.schema", "docs/stubs/schema.lua" },
  { "hocket.yaml", "docs/stubs/yaml.lua" },
  { "Errors", "docs/stubs/error.lua" },
}

-- ---- Reading annotations ----------------------------------------------------------------

-- A type ends at the first space outside of brackets, unless it goes on after `|`, `,` or `:`.
local function split_type(text)
  local depth, i = 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c:find "[%(%[{<]" then depth = depth + 1 end
    if c:find "[%)%]}>]" then depth = depth - 1 end
    if c == '"' then i = text:find('"', i + 1, true) or #text end
    if c == " " and depth == 0 and not text:sub(1, i - 1):find "[|,:]$" and not text:sub(i + 1):find "^|" then break end
    i = i + 1
  end
  return text:sub(1, i - 1), (text:sub(i + 1):gsub("^#%s*", ""))
end

local tags = {}

function tags.param(doc, rest)
  local name, optional, more = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(more)
  doc.params[#doc.params + 1] = { name = name, optional = optional ~= "", kind = kind, text = text }
end

tags["return"] = function(doc, rest)
  local kind, more = split_type(rest)
  local name, text = more:match "^([%l_][%w_]*)%f[%s\0](.*)$"
  if more:find "^%.%.%." then name, text = "...", more:sub(4) end
  doc.returns[#doc.returns + 1] = { kind = kind, name = name, text = (text or more):gsub("^%s+", "") }
end

function tags.class(doc, rest)
  local name, text = rest:match "^([%w_.]+):?%s*(.*)$"
  local parent, more = text:match "^(hocket%.[%w_.]+)%s*(.*)$"
  doc.class, text = name, parent and ("%s With all of %s, and:"):format(more, parent) or text
  if text ~= "" then doc.lines[#doc.lines + 1] = text end
end

function tags.field(doc, rest)
  if rest:find "^package%s" or rest:find "^[%w_]+%s+userdata$" then return end -- hocket's own
  local name, optional, more = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(more)
  doc.fields[#doc.fields + 1] = { name = name, optional = optional ~= "", kind = kind, text = text }
end

function tags.async(doc) doc.async = true end

function tags.internal(doc) doc.internal = true end

-- The blocks of a file: comment lines that begin with `---` (`raw`: as they are), and the line that follows them.
function annotations.blocks_of(text)
  local blocks, doc = {}, nil
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local comment = line:match "^%-%-%-(.*)$"
    if comment then
      doc = doc or { lines = {}, params = {}, returns = {}, fields = {}, raw = {} }
      doc.raw[#doc.raw + 1] = line
      local tag, rest = comment:match "^@(%a+)%s*(.*)$"
      if tags[tag] then
        tags[tag](doc, rest)
      elseif not tag then
        doc.lines[#doc.lines + 1] = comment:gsub("^ ", "")
      elseif tag == "meta" then
        doc = nil
      end
    elseif doc then
      doc.code = line
      blocks[#blocks + 1], doc = doc, nil
    end
  end
  return blocks
end

return annotations
