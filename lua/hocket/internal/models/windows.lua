--- How many tokens models take: the window (what is sent and what is answered, together) and the longest answer. What is
--- not in the table is not known, until the provider says so by an error: it is then learned.
local providers = require "hocket.providers"

local windows = {}

---@class hocket.Window
---@field window integer Tokens of a request and its answer, together.
---@field output? integer Tokens of an answer.

-- Patterns of names, whoever offers them; the first one that fits. Thousands of tokens; 1024 of them where `k` says so.
local K = 1024
local list = {
  { "^gpt%-6", 1050000, 128000 }, { "^gpt%-5%.[56]", 1050000, 128000 }, { "^gpt%-5%.[12]", 400000, 128000 },
  { "^gpt%-5%f[^%w.]", 400000, 128000 }, { "^gpt%-4%.1", 1047576, 32768 }, { "^gpt%-4o", 128000, 16384 }, { "^gpt%-oss", 128 * K },
  { "^gpt%-4%-turbo", 128000, 4096 }, { "^gpt%-3%.5%-turbo", 16385, 4096 }, { "^o[134]%f[^%w]", 200000, 100000 },
  { "^claude%-fable%-5[.-]1", 1000000, 128000 }, { "^claude%-%l+%-5[.-]5", 1000000, 128000 }, { "^claude%-opus%-5", 1000000, 128000 },
  { "^claude%-sonnet%-5", 1000000, 128000 }, { "^claude%-opus%-4[.-][67]", 1000000, 128000 }, { "^claude%-%l+%-4[.-]5", 200000, 64000 },
  { "^claude%-opus%-4", 200000, 32000 }, { "^claude%-sonnet%-4%f[^%w]", 200000, 64000 }, { "^claude%-3[.-]7", 200000, 64000 },
  { "^claude%-3[.-]5", 200000, 8192 }, { "^claude%-3", 200000, 4096 },
  { "^gemini%-2%.0", 1048576, 8192 }, { "^gemini%-[23]", 1048576, 65536 },
  { "^deepseek%-v4", 1000000, 384000 }, { "^kimi%-k2%.6", 256 * K },
  { "^grok%-4%-fast", 2000000 }, { "^grok%-4%f[^%w.]", 256000 }, { "^grok%-3", 128 * K }, { "^grok%-code%-fast", 256000 },
}

local set, learned, told, declared = {}, {}, {}, {} -- by id

--- Sets the window of "provider/model"; nil: as the table has it.
---@param id string
---@param window? hocket.Window
function windows.set(id, window)
  set[id], learned[id], declared[id] = window, nil, window ~= nil
end

--- Keeps what its server says before it is asked: it counts more than the table, and less than what was declared or learned.
---@param id string
---@param window integer
function windows.tell(id, window)
  told[id] = { window = window }
end

local function in_table(id)
  local provider, name = id:match "^([^/]+)/(.+)$"
  if not provider or providers.is_local(provider) then return nil end -- it is as large there as somebody has set it
  name = providers.plain_model(name)
  for _, row in ipairs(list) do
    if name:find(row[1]) then return { window = row[2], output = row[3] } end
  end
end

--- What is known of a model's window.
---@param id string "provider/model"
---@return hocket.Window?
function windows.get(id)
  local known = set[id]
  if known == nil then
    known = in_table(id) or false
    set[id] = known
  end
  return learned[id] or not declared[id] and told[id] or known or nil
end

-- ---- What providers say ------------------------------------------------------------------------

local passing = { "rate limit", "too many requests", "throttl", "service unavailable" }

-- Each with what it may hold: the window, what was sent, the answer that was asked for.
local signs = {
  { "prompt is too long: (%d+) tokens > (%d+)", "sent", "window" },
  { "exceed context limit: (%d+) %+ (%d+) > (%d+)", "sent", "output", "window" },
  { "input token count %(?(%d+)%)? exceeds the maximum number of tokens allowed %(?(%d+)", "sent", "window" },
  { "token count exceeds the maximum number of tokens allowed %(?(%d+)", "window" },
  { "context size %((%d+)", "window" }, { "n_ctx (%d+)", "window" },
  { "context length is (%d+).-requested a?b?o?u?t? ?(%d+)", "window", "sent" },
  { "context length is (%d+).-resulted in (%d+)", "window", "sent" },
  { "context length is (%d+)", "window" }, { "with (%d+) maximum context length", "window" },
  { "maximum prompt length is (%d+)", "window" }, { "exceeded model token limit: (%d+)", "window" },
  { "context length of only (%d+)", "window" }, { "context[ _]length[ _]exceeded" }, { "exceeds the context window" },
  { "exceeds the available context size" }, { "exceeded max context length" }, { "exceeds the context length" },
  { "input is too long for" }, { "reduce the length of the messages" }, { "prompt is too long" }, { "prompt too long" },
  { "longer than the model's context length" }, { "greater than the context length" }, { "maximum context length" },
}

local function read(text, sign)
  local found = table.pack(text:find(sign[1]))
  if not found[1] then return nil end
  local said = {}
  for i = 2, #sign do said[sign[i]] = math.tointeger(tonumber(found[i + 1])) end
  return said
end

--- What an error says of the window, where it is that one: the conversation is too long for the model.
---@param err hocket.Error
---@return {window?: integer, sent?: integer, output?: integer}?
function windows.refusal(err)
  if err.http_status == 413 then return {} end
  if err.retryable or err.code ~= "http" and err.code ~= "provider" then return nil end
  local text = tostring(err.message):lower()
  for _, word in ipairs(passing) do
    if text:find(word, 1, true) then return nil end
  end
  for _, sign in ipairs(signs) do
    local said = read(text, sign)
    if said then return said end
  end
end

-- No model has a window that is smaller.
local SMALLEST = 256

--- Keeps what an error says of a model's window.
---@param id string
---@param said {window?: integer}
---@return boolean new
function windows.learn(id, said)
  local window, known = said.window, windows.get(id)
  if not window or window < SMALLEST or known and known.window == window then return false end
  learned[id] = { window = window, output = known and known.output }
  return true
end

return windows
