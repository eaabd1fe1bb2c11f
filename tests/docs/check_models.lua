-- Models end. So what the documents, the examples and the help of the program name of a provider's models is its default
-- (the one table of lua/hocket/providers.lua, which is looked after), and nothing else.
local hocket = require "hocket"
local fs = require "hocket.fs"
local providers = require "hocket.providers"

-- Stand for "some model" (openai/x), or are no models: a path, a repository.
local placeholders = { x = true, y = true, any = true, small = true, default = true, NAME = true, ["gpt-9"] = true }

local function check(path, problems)
  local text, number = assert(fs.read(path)), 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    for before, provider, model in line:gmatch "()%f[%w]([%l-]+)/([%w][%w./-]*)" do
      local known = providers.get(provider)
      local name = model:gsub("[./]+$", "")
      local is_path = line:sub(before - 1, before - 1):find "[/.]" ~= nil
      local is_vectors = name:find "embed" ~= nil -- providers have no default for these
      if known and not is_vectors and known.default and known.default ~= name and known.default ~= "default" and not placeholders[name] and not is_path then
        problems[#problems + 1] = ("%s:%d: %s/%s is not in the table of lua/hocket/providers.lua (%s/%s is)"):format(path, number, provider, name, provider, known.default)
      end
    end
  end
end

local function walk(dir, suffixes, problems)
  for _, name in ipairs(assert(fs.list(dir))) do
    local path = dir .. "/" .. name
    local info = fs.info(path)
    if info and info.kind == "directory" then
      walk(path, suffixes, problems)
    else
      for _, suffix in ipairs(suffixes) do
        if path:sub(-#suffix) == suffix then check(path, problems) end
      end
    end
  end
end

local problems = {}
check("README.md", problems)
check("CONTRIBUTING.md", problems)
walk("docs", { ".md" }, problems)
walk("examples", { ".md", ".lua" }, problems)
walk("agents", { ".md", ".lua" }, problems)
walk("src/cli", { ".c" }, problems)
walk("lua/hocket/templates", { ".tmpl" }, problems)
walk("lua/hocket/internal/agents", { ".lua" }, problems)
if #problems > 0 then return nil, table.concat(problems, "\n") end
print("every model that is named is one of today's")
