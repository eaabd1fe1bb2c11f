--- The files of a program as they were at one moment: texts, which never change. The next moment is a
--- view of its own, which shares what stayed the same.
local bundle_files = require "hocket.internal.base.sources.bundle"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local system = require "hocket.internal.core.system"

local view = {}

---@class hocket.View
---@field dir string As it was named; the paths in messages begin with it.
---@field abs string
---@field texts table<string, string> By path below `dir`, as all that follow.
---@field errors table<string, hocket.Error> Files that cannot be read.
---@field asked table<string, string> The paths below `dir` of paths that were asked for.
---@field beyond? hocket.Beyond What it has of files above the folder: by their whole paths.
---@field hash string Of names and contents.
local View = {}
View.__index = View
View.why = "No such file or directory"
View.read, View.memo = bundle_files.read, bundle_files.memo

--- A path from the root on; links in it stay.
---@param path string
---@return string
function view.absolute(path)
  if fs.is_absolute(path) then return bundle_files.plain(path) end
  return bundle_files.plain((fs.real "." or "") .. "/" .. path)
end

--- One without any files.
---@param dir string
---@return hocket.View
function view.empty(dir)
  return setmetatable({ dir = dir, abs = view.absolute(dir), texts = {}, errors = {}, reals = {}, memos = {}, order = {}, asked = {},
    names = {}, below = {}, hash = "gone" }, View)
end

-- The path of a file that a link leads to.
local function linked(self, abs)
  if not next(self.reals) then return nil end
  if not self.by_real then
    self.by_real = {}
    for rel, real in pairs(self.reals) do self.by_real[real] = rel end
  end
  return self.by_real[abs]
end

--- The path below the directory that a path means, "" for the directory itself; nil when it is not inside.
---@param path string
---@return string?
function View:inside(path)
  local known = self.asked[path]
  if known then return known end
  if path:sub(1, 7) == "buffer:" then return nil end
  if not path:find "/%.%.?%f[/\0]" and not path:find "//" and path:sub(-1) ~= "/" then
    local rel = system.below(path, self.dir) or system.below(path, self.abs)
    if rel and self.texts[rel] then self.asked[path] = rel end -- the others may be endless, or come to depend on where one is
    if rel then return rel end
  end
  local abs = view.absolute(path)
  return system.below(abs, self.abs) or self.root and system.below(abs, self.root) or linked(self, abs) or self.beyond and self.beyond.spelled[abs] and abs or nil
end

--- Whether a path is in the directory itself.
---@param path string
---@return boolean
function View:is_below(path)
  local abs = view.absolute(path)
  return system.below(abs, self.abs) ~= nil or self.root ~= nil and system.below(abs, self.root) ~= nil
end

--- The path that a message shows.
---@param rel string
---@return string
function View:shown(rel)
  if rel == "" then return self.dir end
  if self.beyond and self.beyond.spelled[rel] then return self.beyond.spelled[rel] end
  return bundle_files.inside_of(self.dir) .. rel
end

-- ---- Reading ---------------------------------------------------------------------------------

function View:info(rel)
  if self.texts[rel] or self.errors[rel] then return { kind = "file", size = #(self.texts[rel] or "") } end
  if self.names[rel] then return { kind = "directory", size = 0 } end
end

function View:list(rel, path)
  if self.names[rel] then return self.names[rel] end
  return nil, { code = "not_found", message = ("cannot read %s: %s"):format(path, self.why) }
end

-- Of a directory that a link leads to a file in it knows where it is.
local function real_directory(self, rel)
  local file = self.below[rel]
  local real, tail = file and self.reals[file], file and file:sub(#rel + 1)
  return real and real:sub(-#tail) == tail and real:sub(1, -#tail - 1) or nil
end

function View:real(rel)
  local root = self.root or self.abs
  if rel == "" then return root end
  if not self:info(rel) then return nil end
  if fs.is_absolute(rel) then return fs.real(rel) end
  return self.reals[rel] or real_directory(self, rel) or bundle_files.inside_of(root) .. rel
end

-- ---- The next one ------------------------------------------------------------------------------

local function copied(map)
  local copy, n = {}, 0
  for key, value in pairs(map) do
    copy[key], n = value, n + 1
    if n % 500 == 0 then fiber.rest() end
  end
  return copy
end

-- Takes a change into the maps.
local function apply(self, kind, rel, text, err, real)
  self.texts[rel], self.errors[rel], self.reals[rel], self.memos[rel] = text, err, real, nil
  return kind ~= "~"
end

-- The paths in order: the ones that stay, and the new ones, which come in order.
local function merged(before, added, self)
  local order, at = {}, 1
  for i, rel in ipairs(before) do
    while added[at] and added[at] < rel do
      order[#order + 1] = added[at]
      at = at + 1
    end
    if self.texts[rel] or self.errors[rel] then order[#order + 1] = rel end
    if i % 500 == 0 then fiber.rest() end
  end
  return table.move(added, at, #added, #order + 1, order)
end

-- The names in each directory, directories with a slash, and for each directory one file below it. The
-- paths are in order, and so are the names then.
local function directories(order)
  local names, inner = { [""] = {} }, {}
  local function add(rel, file)
    local up = rel:match "^(.*)/." or ""
    if not names[up] then
      names[up], inner[up] = {}, file
      add(up .. "/", file)
    end
    table.insert(names[up], up == "" and rel or rel:sub(#up + 2))
  end
  for i, rel in ipairs(order) do
    add(rel, rel)
    if i % 200 == 0 then fiber.rest() end
  end
  return names, inner
end

--- The view after some changes.
---@param changes fun(n: integer): string?, string, string?, hocket.Error?, string? The n-th: kind, path, text, error, real.
---@param hash? string
---@param above? hocket.Beyond
---@return hocket.View
function View:after(changes, hash, above)
  local made = setmetatable({ dir = self.dir, abs = self.abs, root = fs.real(self.abs), hash = hash or "gone", order = self.order,
    names = self.names, below = self.below, texts = copied(self.texts), errors = copied(self.errors), reals = copied(self.reals),
    memos = copied(self.memos), asked = {} }, View)
  local added, moved, n = {}, false, 1
  while true do
    local kind, rel, text, err, real = changes(n)
    if not kind then break end
    moved = apply(made, kind, rel, text, err, real) or moved
    if kind == "+" then added[#added + 1] = rel end
    n = n + 1
    if n % 50 == 0 then fiber.rest() end
  end
  if moved then
    made.order = merged(self.order, added, made)
    made.names, made.below = directories(made.order)
  end
  if not hash then made.names = {} end
  for abs in pairs(self.beyond and self.beyond.texts or {}) do made.texts[abs], made.memos[abs] = nil, nil end
  for abs, text in pairs(above and above.texts or {}) do made.texts[abs] = text end
  made.beyond = above
  return made
end

local nothing = { texts = {}, spelled = {} }

-- The files above the directory that differ.
local function add_beyond(before, later, list)
  local had, has = before.beyond or nothing, later.beyond or nothing
  local changed = {}
  for abs, text in pairs(had.texts) do changed[abs] = has.texts[abs] ~= text and (has.texts[abs] and "" or "-") .. had.spelled[abs] or nil end
  for abs in pairs(has.texts) do changed[abs] = not had.texts[abs] and "+" .. has.spelled[abs] or changed[abs] end
  for _, shown in pairs(changed) do list[#list + 1] = shown end
end

--- The files that differ, sorted, as they are shown: "+path" new, "-path" gone, "path" changed.
---@param later hocket.View
---@return string[]
function View:changes(later)
  local list, gone = {}, 1
  local function has(one, rel) return one.texts[rel] or one.errors[rel] end
  local function add_gone(before)
    while self.order[gone] and (not before or self.order[gone] < before) do
      local rel = self.order[gone]
      if not has(later, rel) then list[#list + 1] = "-" .. self:shown(rel) end
      gone = gone + 1
      if gone % 500 == 0 then fiber.rest() end
    end
  end
  for i, rel in ipairs(later.order) do
    add_gone(rel)
    local same = self.texts[rel] == later.texts[rel] and (self.errors[rel] == nil) == (later.errors[rel] == nil)
    if not same then list[#list + 1] = (has(self, rel) and "" or "+") .. later:shown(rel) end
    if i % 500 == 0 then fiber.rest() end
  end
  add_gone()
  add_beyond(self, later, list)
  return list
end

return view
