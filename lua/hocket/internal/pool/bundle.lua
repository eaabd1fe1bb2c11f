--- What travels with a run that is submitted: the texts that its program is made of, as they are now. How they answer where the
--- run is done is in base/sources/bundle.lua.
---
---     travel/agents          all below it that hocket reads: .md, .ai, scripts, .json, .txt, .yaml, .tmpl
---     travel/.claude/agents  agents of other programs in a hidden folder
---     travel/sim.lua, travel/providers.yaml        of the folder above these two
---     travel/workflows       the folders of workflows that its agents name
---     travel/agents          the agents beside a workflow
---     travel/plans           saved plans beside the folder of agents, which name them as tools, or begin with one as a draft
---     the files of --attach
---
--- Names that hold keys (.env, credentials.json) stay where they are, and so does what begins with a dot, and what links that
--- lead out of the folder lead to, but for agents and scripts.
local bundle_files = require "hocket.internal.base.sources.bundle"
local formats = require "hocket.internal.agents.formats"
local json = require "hocket.json"
local script = require "hocket.internal.base.script"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local tree = require "hocket.internal.base.tree"
local workflow_file = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_file"
local failure = system.failure

local bundle = {}

--- Files, bytes of all, and of one.
local MAX_FILES, MAX_BYTES, MAX_FILE = 1000, 16 << 20, 20 << 20

local endings = { md = true, ai = true, json = true, txt = true, yaml = true, yml = true, tmpl = true }

-- Scripts only where somebody has said that they may run: nobody has looked at the others. Agents and scripts may lie elsewhere,
-- as they do for whoever runs them here; a text that a link leads to is no more theirs there than it can be included here.
local function wanted(self)
  local root = sources.real(self.root) or self.root
  return function(path)
    local ending = path:match "%.(%w+)$"
    local program = ending == "md" or ending == "ai" or self.scripts and script.is(path)
    if not (program or endings[ending]) or system.is_credential(path) then return false end
    local real = sources.real(path)
    return real ~= nil and not system.is_credential(real) and (program or system.below(real, root) ~= nil)
  end
end

-- Where somebody's whole life lies no folder of a program begins.
local function check_root(root, path)
  local home = system.getenv "HOME"
  if root ~= "/" and root ~= home then return true end
  return failure("invalid", "%s lies in %s, all of which would travel with the run: put it into a folder of its own", path, root)
end

local function take(self, path, text)
  if self.texts[path] then return true end
  self.count, self.bytes = self.count + 1, self.bytes + #text
  if self.count > MAX_FILES or self.bytes > MAX_BYTES then
    return failure("limit", "%s: more than %d files or %d MiB would travel with the run: put what it is made of into a folder of its own",
      self.root, MAX_FILES, MAX_BYTES >> 20)
  end
  self.texts[path] = text
  return true
end

local function take_file(self, path)
  local text, err = sources.read(path, MAX_FILE)
  if not text then return nil, err end
  return take(self, path, text)
end

-- All of a folder. What cannot be read is not there for the run either.
local function take_all(self, dir)
  local files, err = tree.files(dir, wanted(self))
  if not files then return nil, err end
  for _, path in ipairs(files) do
    local text = sources.read(path, MAX_FILE)
    if text then
      local ok, wrong = take(self, path, text)
      if not ok then return nil, wrong end
    end
  end
  return true
end

-- Of hidden folders those alone in which other programs keep agents.
local function take_folder(self, root)
  local ok, err = take_all(self, root)
  for _, name in ipairs(formats.FOLDERS) do
    local dir = root .. "/" .. name
    if ok and sources.info(dir) then ok, err = take_all(self, dir) end
  end
  return ok, err
end

-- What is searched for in the folder above.
local function take_above(self, root)
  local up = root:match "^(.*)/[^/]*$"
  for _, name in ipairs { "providers.yaml", self.sim and "sim.lua" or nil } do
    local path = up .. "/" .. name
    local info = sources.info(path)
    if info and info.kind ~= "directory" then
      local ok, err = take_file(self, path)
      if not ok then return nil, err end
    end
  end
  return true
end

local function root_of(path, abs)
  local info, err = sources.info(path)
  if not info then return nil, err end
  return info.kind == "directory" and abs or abs:match "^(.*)/[^/]*$"
end

-- A folder that lies elsewhere, of workflows that agents of the target name.
local function take_named(self, dir)
  local abs = bundle_files.absolute(dir, self.cwd)
  for _, root in ipairs(self.roots) do
    if system.below(abs, root) then return true end
  end
  local ok, err = check_root(abs, dir)
  if not ok then return nil, err end
  self.root, self.roots[#self.roots + 1] = abs, abs
  return take_all(self, abs)
end

-- A folder beside one that was looked at. Nobody has looked at its scripts.
local function take_beside(self, dir)
  local scripts = self.scripts
  self.scripts = false
  local ok, err = take_named(self, dir)
  self.scripts = scripts
  return ok, err
end

-- The saved plans of agents.
local function take_plans(self, root)
  local up = root:match "^(.*)/agents$"
  local info = up and sources.info(up .. "/plans")
  if not info or info.kind ~= "directory" then return true end
  return take_beside(self, up .. "/plans")
end

-- The agents that workflows of a folder name, which lie beside it. Their scripts travel where they lie in a folder that was looked at.
local function take_agents_of(self, path)
  local dir = workflow_file.agents_folder(path)
  if not dir then return true end
  local ok, err = take_beside(self, dir)
  if not ok then return nil, err end
  return take_plans(self, bundle_files.absolute(dir, self.cwd))
end

local function take_target(self, path)
  local abs = bundle_files.absolute(path, self.cwd)
  local root = root_of(path, abs)
  if not root then return true end -- an agent that comes with hocket
  if root == "" then root = "/" end
  local ok, err = check_root(root, path)
  if ok then
    self.root, self.roots[#self.roots + 1] = root, root
    ok, err = take_folder(self, root)
  end
  if ok then ok, err = take_plans(self, root) end
  if ok and abs ~= root then ok, err = take_file(self, abs) end
  if ok and script.is_lua(abs) and workflow_file.about(abs) then ok, err = take_agents_of(self, abs) end
  if ok then return take_above(self, root) end
  return nil, err
end

-- One name for what is the same, however many runs have it.
local function digest_of(self)
  local parts = {}
  for i, path in ipairs(sorted_keys(self.texts)) do parts[i] = path .. "\0" .. system.digest(self.texts[path]) end
  return system.digest(table.concat(parts, "\0"))
end

--- What travels of a target, from here. Raises nothing.
---@param path string As `hocket run` takes it.
---@param admitted {sim?: string, runs: boolean, folders?: string[]} What of its Lua may run (runner/trust.lua).
---@param attached? string[] Paths of files that go with its input.
---@param other? string A path that is not below the target: of agents that a script has loaded from there.
---@return {generation: string, files: table<string, string>, cwd: string}?
---@return hocket.Error?
function bundle.of(path, admitted, attached, other)
  local with = bundle_files.here()
  local cwd = with and with.cwd or sources.real "." or "/"
  local self = { cwd = cwd, texts = {}, roots = json.array {}, count = 0, bytes = 0, scripts = admitted.runs, sim = admitted.sim }
  local ok, err = true, nil
  if path ~= "" then ok, err = take_target(self, path) end
  if ok and other then ok, err = take_target(self, other) end
  for _, dir in ipairs(admitted.folders or {}) do
    if ok then ok, err = take_named(self, dir) end
    if ok and dir:find "workflows$" then ok, err = take_agents_of(self, dir .. "/*.lua") end
  end
  for _, file in ipairs(ok and attached or {}) do
    if ok and not file:find "^https?://" then ok, err = take_file(self, bundle_files.absolute(file, cwd)) end
  end
  if not ok then return nil, err end
  local head = json.encode { cwd = cwd, roots = self.roots, variables = { HOCKET_MODEL = sources.variable "HOCKET_MODEL" }, digest = digest_of(self) }
  local files = { [bundle_files.MARK] = head }
  for name, text in pairs(self.texts) do files[bundle_files.MARK .. name] = text end
  return { generation = "travel-" .. system.digest(head):sub(1, 32), files = files, cwd = cwd }
end

return bundle
