--- Files through an editor (Agent Client Protocol): what is read is what stands in its buffers, saved or not, and what is written
--- is reported to it.
---
---     root:read(path)    as ever, which says whether it may be read; then the text is the buffer's
---     root:write(path)   what is replaced is what the buffer holds; the file is written as ever, and the editor gets the text
---
--- So no path is read or written that could not be without an editor. Where the editor does not answer, the file is what counts.
local effects = require "hocket.internal.base.effects"
local files = require "hocket.internal.core.files"
local system = require "hocket.internal.core.system"

local acp_editor = {}

--- Bytes of a file that is asked for.
local MAX_TEXT = 8 << 20

local Root = {}

local function absolute(self, path)
  return self.root:dir() .. "/" .. path
end

-- What stands in the buffer; nil: the file counts. A run that is kept asks the world in its calls alone.
local function buffer(self, path)
  if not self.client.reads or effects.here() then return nil end
  local result = self.rpc:ask("fs/read_text_file", { sessionId = self.session(), path = absolute(self, path) })
  local text = result and result.content
  if type(text) ~= "string" or #text > MAX_TEXT or not utf8.len(text) then return nil end
  return text
end

local function cut(got, text, opts)
  local piece, first, last, total, is_cut = files.lines(text, opts.first or 1, opts.lines or 1 << 40, opts.limit or #text)
  local made = setmetatable({ text = piece, first = first, last = last, total = total, cut = is_cut, hash = files.hash(text, opts.like), size = #text, encoding = "utf-8" }, { __index = got })
  return made
end

function Root:read(path, opts)
  opts = opts or {}
  local got, err = self.root:read(path, opts)
  if not got or opts.raw or got.encoding == "binary" or got.encoding == "unknown" then return got, err end
  local text = got.size <= MAX_TEXT and buffer(self, path)
  return text and cut(got, text, opts) or got
end

local changed = { code = "state", message = "the file was changed by somebody else" }

-- The hash of the file under a buffer that is as it was when it was read; nil and an error where it is not.
local function below(self, path, hash)
  local got, err = self.root:read(path, { like = hash })
  if not got then return nil, err end
  local text = buffer(self, path)
  if text and files.hash(text, hash) == hash or not text and got.hash == hash then return got.hash end
  return nil, system.error(changed)
end

function Root:write(path, text, hash)
  local on_disk, err = hash, nil
  if hash then on_disk, err = below(self, path, hash) end
  if hash and not on_disk then return nil, err end
  local ok
  ok, err = self.root:write(path, text, on_disk)
  if not ok or not self.client.writes then return ok, err end
  local _, refused = self.rpc:ask("fs/write_text_file", { sessionId = self.session(), path = absolute(self, path), content = text })
  if refused then system.log("warn", ("the editor did not take %s: %s"):format(path, refused.message)) end
  return ok
end

local meta = {
  __index = function(self, name)
    local fn = Root[name]
    if fn then return fn end
    local own = self.root[name]
    return type(own) == "function" and function(_, ...) return own(self.root, ...) end or own
  end,
}

--- How a run's files are reached: for its field `editor`.
---@param rpc hocket.Rpc
---@param client {reads: boolean, writes: boolean} What the editor can do.
---@param session fun(): string Its id.
---@return (fun(root: hocket.Root): hocket.Root)? editor nil: the editor has nothing to do with files.
function acp_editor.new(rpc, client, session)
  if not (client.reads or client.writes) then return nil end
  return function(root) return setmetatable({ root = root, rpc = rpc, client = client, session = session }, meta) end
end

return acp_editor
