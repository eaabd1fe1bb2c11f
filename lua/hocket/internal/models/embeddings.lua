--- Vectors of texts, by models that are made for it: OpenAI's form, which most servers have, Gemini's and Ollama's. Texts go in batches, one
--- after the other; in a run that is kept each batch is an effect. What comes back is counted and checked: as many vectors as texts, in their
--- order, of one length, of numbers.
local cassette = require "hocket.cassette"
local account = require "hocket.internal.models.account"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local machine_policy = require "hocket.internal.models.machine_policy"
local models = require "hocket.model"
local pack = require "hocket.internal.base.pack"
local offer = require "hocket.internal.models.offer"
local prices = require "hocket.prices"
local providers = require "hocket.providers"
local secrets = require "hocket.internal.core.secrets"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local failed = system.error

local embed = {}

--- Texts of one call, and bytes of one batch and of one text; dimensions of a vector; bytes of an answer.
local MOST, BATCH, TEXT, DIMENSIONS, ANSWER = 100000, 400000, 1 << 20, 16384, 64 << 20
--- Seconds of one request; how often it is tried again, and how long it may be waited for that.
local TIMEOUT, RETRIES, PATIENCE = 120, 2, 60

-- ---- What is sent, and what comes ----------------------------------------------------------------

local openai = { path = "/embeddings", batch = 512 }

function openai.body(name, texts, dimensions)
  return { model = name, input = json.array(texts), dimensions = dimensions, encoding_format = "float" }
end

function openai.vectors(value)
  local list = {}
  for i, entry in ipairs(type(value.data) == "table" and value.data or {}) do
    local at = type(entry) == "table" and math.tointeger(entry.index) or i - 1
    list[at + 1] = type(entry) == "table" and entry.embedding or nil
  end
  return list, type(value.usage) == "table" and (value.usage.prompt_tokens or value.usage.total_tokens)
end

local gemini = { batch = 100, path = function(name) return ("/models/%s:batchEmbedContents"):format(name:gsub("^models/", "")) end }

function gemini.body(name, texts, dimensions)
  local requests = json.array {}
  for i, text in ipairs(texts) do
    requests[i] = { model = "models/" .. name:gsub("^models/", ""), content = { parts = { { text = text } } }, outputDimensionality = dimensions }
  end
  return { requests = requests }
end

function gemini.vectors(value)
  local list = {}
  for i, entry in ipairs(type(value.embeddings) == "table" and value.embeddings or {}) do list[i] = type(entry) == "table" and entry.values or nil end
  return list, type(value.usageMetadata) == "table" and value.usageMetadata.promptTokenCount
end

local ollama = { path = "/api/embed", batch = 64 }

function ollama.body(name, texts, dimensions)
  return { model = name, input = json.array(texts), dimensions = dimensions, truncate = false } -- too long is an error, and not half a vector
end

function ollama.vectors(value)
  return type(value.embeddings) == "table" and value.embeddings or {}, value.prompt_eval_count
end

local forms = { openai_chat = openai, openai_responses = openai, gemini = gemini, ollama = ollama }

-- ---- One batch -------------------------------------------------------------------------------------

local function broken(id, what)
  return nil, failed { code = "protocol", message = ("%s: %s"):format(id, what) }
end

-- Vectors are what they have to be, whatever a server says.
local function check(id, list, n, dimensions)
  local width = type(list[1]) == "table" and #list[1] or 0
  if #list ~= n then return broken(id, ("%d texts were sent, and %d vectors came"):format(n, #list)) end
  if width == 0 or width > DIMENSIONS then return broken(id, "its vectors are none") end
  if dimensions and width ~= dimensions then return broken(id, ("vectors of %d dimensions were asked for, and have %d"):format(dimensions, width)) end
  for _, vector in ipairs(list) do
    if type(vector) ~= "table" or #vector ~= width then return broken(id, "its vectors differ in length") end
    for i = 1, width do
      local x = vector[i]
      if type(x) ~= "number" or x ~= x or x == math.huge or x == -math.huge then return broken(id, "a vector holds something that is no number") end
      vector[i] = x + 0.0
    end
    fiber.rest()
  end
  return list
end

-- The key stands in no message, whatever a server repeats; also no part of it, where a message is cut.
local function error_of(one, answer)
  local value = json.decode(answer.body)
  local said = type(value) == "table" and (type(value.error) == "table" and value.error.message or value.error or value.message)
  local words = type(said) == "string" and one.secrets:mask(said):sub(1, 400):gsub("%c", " ") or "no message"
  local status = answer.status
  return failed { code = (status == 401 or status == 403) and "auth" or "http", http_status = status, model = one.id,
    retryable = status == 408 or status == 409 or status == 429 or status >= 500, message = ("%s: HTTP status %d: %s"):format(one.id, status, words) }
end

local function post(one, body)
  local answer, err = http.request { method = "POST", url = one.url, headers = one.headers, body = body, connect_timeout = 10, timeout = one.timeout, max_body = ANSWER }
  if not answer then return nil, failed { code = err.code, retryable = err.retryable, message = ("%s: %s"):format(one.id, err.message), model = one.id } end
  if answer.status ~= 200 then return nil, error_of(one, answer), tonumber(answer.headers["retry-after"]) end
  local value = json.decode(answer.body)
  if type(value) ~= "table" then return broken(one.id, "its answer is no JSON object") end
  local list, tokens = one.form.vectors(value)
  local vectors, wrong = check(one.id, list, one.n, one.dimensions)
  if not vectors then return nil, wrong end
  return { vectors = vectors, tokens = math.tointeger(tokens) }
end

local function ask(one, texts)
  local body = json.encode(one.form.body(one.name, texts, one.dimensions))
  local result, err, after
  one.n = #texts
  for attempt = 0, RETRIES do
    result, err, after = post(one, body)
    if result or not err.retryable or (after or 0) > PATIENCE or attempt == RETRIES then break end
    fiber.sleep(after or 0.5 * 2 ^ attempt)
  end
  if err and err.http_status == 401 and one.keys then one.keys:drop() end
  return result, err
end

-- ---- All of them -------------------------------------------------------------------------------------

local function batches(texts, most)
  local list, open, bytes = {}, nil, 0
  for _, text in ipairs(texts) do
    if not open or #open == most or bytes + #text > BATCH then
      open, bytes = {}, 0
      list[#list + 1] = open
    end
    open[#open + 1], bytes = text, bytes + #text
  end
  return list
end

-- Where it goes: {id, name, url, headers, form}.
local function place_of(id)
  local one, err = models.resolve(id)
  if not one then return nil, err end
  local may, refused = machine_policy.model(one.id)
  if not may then return nil, refused end
  local form = forms[one.protocol]
  if not form then return nil, failed { code = "unsupported", message = ("%s: %s has no vectors for texts: take openai/text-embedding-3-small, gemini or ollama"):format(one.id, one.provider_name) } end
  local def = one.provider or { protocol = one.protocol }
  local base, key, keys
  if one.provider and system.getenv "HOCKET_OFFLINE" and not cassette.replays() then
    return nil, failed { code = "offline", message = ("HOCKET_OFFLINE is set: no call is made to %s"):format(one.provider_name) }
  end
  if one.provider then
    base = providers.base_of(one.provider_name)
    if not cassette.replays() then key, err, keys = models.key(one.provider_name, def) end
  else
    base, err = cassette.replays() and "http://sim.invalid/v1" or require("hocket.sim").base(), nil
  end
  if err then return nil, err end
  local url, headers = offer.place(def, base, type(form.path) == "function" and form.path(one.name) or form.path, key, one.protocol)
  headers["content-type"] = "application/json"
  return { id = one.id, name = one.name, url = url, headers = headers, form = form, secrets = secrets.new { key }, keys = keys }
end

-- Returns what it has cost, where that is known.
local function count(got)
  local run, of = account.here()
  local came = got.vectors and got.vectors[1] ~= nil
  local cost = came and got.tokens and prices.cost(got.id, { input = got.tokens, output = 0 }) or nil
  if run and came then run.accounts:add(of, { input = got.tokens or -1, output = 0 }, cost, 0) end
  if run and got.lost then run.accounts:add(of, {}, nil, 0) end
  return cost
end

local function read(texts)
  local list = type(texts) == "string" and { texts } or texts
  if type(list) ~= "table" or #list == 0 then error("bad argument #1 to 'embed' (a text or a list of texts expected)", 4) end
  if #list > MOST then error(("bad argument #1 to 'embed' (more than %d texts)"):format(MOST), 4) end
  for i, text in ipairs(list) do
    if type(text) ~= "string" or text == "" or #text > TEXT then
      error(("bad argument #1 to 'embed' (text %d: 1 to %d bytes expected)"):format(i, TEXT), 4)
    end
  end
  return list
end

--- The model that is asked where none is named: HOCKET_EMBED_MODEL; nil where nobody has said.
---@return string?
function embed.model()
  return sources.variable "HOCKET_EMBED_MODEL"
end

local known = { model = true, dimensions = true, timeout = true }

-- One part of the texts, where nothing of it is in a log: what came, also when not all did. `lost`: there was a request whose usage
-- nobody says.
local function fetch(place, batch)
  local got = { vectors = {}, tokens = 0, id = place.id }
  for _, part in ipairs(batches(batch, place.form.batch)) do
    local ok, one, err = pcall(ask, place, part)
    if not ok and not fiber.cancelled() then error(one, 0) end
    got.lost = not ok or err and err.code == "timeout" or nil
    if not ok or not one then
      got.err = err and pack.data(err)
      return got
    end
    table.move(one.vectors, 1, #one.vectors, #got.vectors + 1, got.vectors)
    got.tokens = got.tokens and one.tokens and got.tokens + one.tokens or nil
  end
  return got
end

-- What came of it, once; and whether whoever asks was cancelled meanwhile, which has to count first.
local function perform(asked, make)
  if not effects.logged() then return make(), fiber.cancelled() end
  local text, gone = effects.make("embed", effects.digest(asked), function() return pack.encode(make()) end, true)
  return text ~= "" and pack.decode(text) or {}, gone or text == ""
end

local function check_opts(opts)
  for name in pairs(opts) do
    if not known[name] then error(("unknown option '%s' (there are: dimensions, model, timeout)"):format(tostring(name)), 4) end
  end
  local width = opts.dimensions
  if width and (math.type(width) ~= "integer" or width < 1 or width > DIMENSIONS) then error(("bad option 'dimensions' (1 to %d expected)"):format(DIMENSIONS), 4) end
end

local function add(result, got, cost)
  table.move(got.vectors, 1, #got.vectors, #result.vectors + 1, result.vectors)
  local usage = result.usage
  result.model = got.id
  usage.input = got.tokens and usage.input and usage.input + got.tokens or nil
  usage.cost = cost and usage.cost and usage.cost + cost or nil
end

--- See hocket.embed.
---@async
function embed.texts(texts, opts)
  opts = opts or {}
  local list = read(texts)
  check_opts(opts)
  local id, place = opts.model or embed.model(), nil
  if not id then return nil, failed { code = "invalid", message = "no model for vectors is named: { model = 'openai/text-embedding-3-small' }, or HOCKET_EMBED_MODEL" } end
  local here = effects.here()
  local result = { vectors = {}, model = id, usage = { input = 0, cost = 0 } }
  for _, batch in ipairs(batches(list, MOST)) do
    local function make()
      local err
      if not place then place, err = place_of(id) end
      if here and err and err.code == "auth" then kept.lack(err.message, true) end
      if not place then return { err = pack.data(err) } end
      place.dimensions, place.timeout = opts.dimensions, opts.timeout or TIMEOUT
      return fetch(place, batch)
    end
    local run = account.here()
    local observed <close> = run and run.observer and run.observer:embed(id, opts.dimensions) or nil
    local asked = { model = id, dimensions = opts.dimensions or 0, texts = system.digest(table.concat(batch, "\0")) }
    local got, gone = perform(asked, make)
    local cost = count(got)
    if gone then effects.cancel() end
    if got.err then
      if observed then observed:embedded(nil, got.err) end
      return nil, failed(got.err)
    end
    add(result, got, cost)
    if observed then observed:embedded { tokens = got.tokens, cost = cost } end
  end
  return result
end

return embed
