-- Runs programs under bench_measure and reads what it says.
local measure = {}

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

--- The fields of one flat line of JSON that hold numbers.
---@param line string
---@return table<string, number>
function measure.numbers(line)
  local out = {}
  for name, value in line:gmatch '"([%w_]+)":(-?[%d.]+)' do out[name] = tonumber(value) end
  return out
end

---@param list number[]
---@return number
function measure.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[n // 2 + 1] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

--- Makes the functions that run the floor and hocket.
---@param spec {build: string, measured?: string, bench: string, hocket: string, tmp: string, cpus: integer, storeless?: boolean} measured: the build whose programs are measured, where it is not the one that measures.
function measure.new(spec)
  local self = { failures = {}, build = spec.measured or spec.build, bench = spec.bench, tmp = spec.tmp }

  local function run(options, words)
    local line = { spec.build .. "/bench/bench_measure" }
    for name, value in pairs(options) do
      line[#line + 1] = ("--%s %s"):format(name, quote(value))
    end
    line[#line + 1] = "--"
    for _, word in ipairs(words) do line[#line + 1] = quote(word) end
    local pipe = assert(io.popen(table.concat(line, " ")))
    local text = pipe:read "a"
    pipe:close()
    return measure.numbers(text)
  end

  -- Client and server on one CPU, or on two where there are; a client that is free has all of them.
  local function options(job, more)
    local out = { mock = spec.build .. "/bench/bench_mock", cpu = not job.free and 0 or nil, ["mock-cpu"] = (job.together or spec.cpus < 2) and 0 or 1 }
    for name, value in pairs(more or {}) do out[name] = value end
    return out
  end

  --- A program without a server.
  function self.plain(...)
    return run({}, { ... })
  end

  --- What a program prints, without a server.
  function self.output(...)
    local path = spec.tmp .. "/output"
    local seen = run({ out = path, seconds = 900 }, { ... })
    local file = io.open(path)
    local text = file and file:read "a" or ""
    if file then file:close() end
    return text, seen.exit == 0
  end

  local function words_of(job, n)
    if job.program then
      local rounds, clients = job.at_once and 1 or n, job.at_once and n or 1
      return { ("%s/bench/%s"):format(self.build, job.program), job.model, rounds, clients, table.unpack(job.words or {}) }
    end
    local words = { spec.hocket, "run", ("%s/scripts/%s.lua"):format(spec.bench, job.script), n, "-q" }
    if job.model then
      words[#words + 1] = "--model"
      words[#words + 1] = "openai/" .. job.model
    end
    if not spec.storeless then
      words[#words + 1] = "--store"
      words[#words + 1] = job.store or "off"
    end
    for _, word in ipairs(job.more or {}) do words[#words + 1] = word end
    return job.env and table.move(words, 1, #words, 3, { "env", job.env }) or words
  end

  --- `job`: script (or program: one of ours, without Lua), model, together, free, seconds, store (a file that runs are kept
  --- in), more (options), env (NAME=value); n is its input, rounds or, `at_once`, clients.
  function self.hocket(job, n, more)
    more = more or {}
    more.seconds = job.seconds
    return run(options(job, more), words_of(job, n))
  end

  --- Another program that asks the same server; n is its last word.
  function self.peer(words, n)
    return run(options({ together = true }), table.move({ n }, 1, 1, #words + 1, table.move(words, 1, #words, 1, {})))
  end

  --- Records what hocket sends in one round, for the floor to send again.
  function self.record(job)
    job.bodies = ("%s/%s-%s.bodies"):format(spec.tmp, job.script or job.program, job.model or "own")
    local seen = self.hocket(job, 1, { record = job.bodies })
    return seen.exit == 0 and seen.requests > 0
  end

  local function floor_words(job, n)
    return { spec.build .. "/bench/bench_floor", "--bodies", job.bodies, "--rounds", n }
  end

  --- `n`: rounds, `more`: further options of bench_floor.
  function self.floor(job, n, more)
    local words = floor_words(job, n)
    for name, value in pairs(more or {}) do
      words[#words + 1] = "--" .. name
      words[#words + 1] = value
    end
    return run(options(job, { seconds = job.seconds }), words)
  end

  -- Instructions of a program, as valgrind counts them; nil when it failed.
  local function counted(job, words)
    local file = spec.tmp .. "/callgrind"
    local all = { "valgrind", "--tool=callgrind", "--callgrind-out-file=" .. file, "--log-file=/dev/null" }
    local seen = run(options(job, { seconds = 300 }), table.move(words, 1, #words, #all + 1, all))
    local out = seen.exit == 0 and io.open(file)
    local text = out and out:read "a" or ""
    if out then out:close() end
    return tonumber(text:match "\ntotals: (%d+)")
  end

  --- Instructions of the floor and of hocket for so many rounds of a job that was recorded.
  function self.instructions(job, n)
    return counted(job, floor_words(job, n)), counted(job, words_of(job, n))
  end

  return self
end

return measure
