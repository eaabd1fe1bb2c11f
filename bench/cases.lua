-- What is measured. Every case returns rows: what, the floor's figure, hocket's, the value that is
-- judged (a ratio or a figure), its limit and, where there is one, the stricter goal.
local durable = require "durable"
local measure = require "measure"

local cases = {}

local function failed(what, limit, goal, why)
  return { what = what, limit = limit, goal = goal, failed = why }
end

local function ratio_row(what, unit, floor, ours, limit, goal)
  return { what = what, unit = unit, floor = floor, ours = ours, value = ours / floor, limit = limit, goal = goal, ratio = true }
end

-- Microseconds of CPU per unit: the difference of a long and a short run, so that start-up is not
-- part of it.
local function slope(long, short, units)
  return (long.cpu - short.cpu) / units
end

-- Floor and hocket in turn; `few` and `many` rounds of `units` each. Returns both medians, or nil and why.
local function per_unit(bed, job, reps, few, many, units)
  if not bed.record(job) then return nil, "hocket's run failed" end
  local floor, ours = {}, {}
  for i = 1, reps do
    local floor_short, floor_long = bed.floor(job, few), bed.floor(job, many)
    local short, long = bed.hocket(job, few), bed.hocket(job, many)
    if long.exit ~= 0 or short.exit ~= 0 then return nil, ("hocket's run failed (exit status %d)"):format(long.exit) end
    if floor_long.exit ~= 0 then return nil, "the floor's run failed" end
    if long.requests ~= floor_long.requests then
      return nil, ("%d requests instead of %d"):format(long.requests, floor_long.requests)
    end
    floor[i] = slope(floor_long, floor_short, (many - few) * units)
    ours[i] = slope(long, short, (many - few) * units)
    job.mock = (floor_long.cpu_us - floor_short.cpu_us) / ((many - few) * units)
  end
  return measure.median(floor), measure.median(ours)
end

-- ---- CPU ------------------------------------------------------------------------------------

local function turns(bed, o)
  local what = "one agent, 20 tool turns: CPU per turn"
  local job = { script = "turns", model = "tools-20", together = true }
  local floor, ours = per_unit(bed, job, o.reps, 10, o.quick and 110 or 210, 21)
  if not floor then return { failed(what, 3.5, 2, ours) } end
  o.note(("the mock server itself takes %.1f µs of CPU per request (the floor %.1f µs)"):format(job.mock, floor))
  return { ratio_row(what, "µs", floor, ours, 3.5, 2) }
end

-- The same in instructions of the processes alone, without the kernel's: no other work on the machine changes them.
local function turn_instructions(bed, o)
  local what = "one agent, 20 tool turns: instructions per turn"
  local job = { script = "turns", model = "tools-20", together = true }
  if not os.execute "command -v valgrind >/dev/null" then
    o.note "valgrind is not installed: no instructions are counted"
    return {}
  end
  if not bed.record(job) then return { failed(what, 2.7, 2, "hocket's run failed") } end
  local floor_few, few = bed.instructions(job, 2)
  local floor_many, many = bed.instructions(job, 12)
  if not (floor_few and few and floor_many and many) then return { failed(what, 2.7, 2, "valgrind failed") } end
  return { ratio_row(what, "k", (floor_many - floor_few) / 210000, (many - few) / 210000, 2.7, 2) }
end

-- The part of it that is the transport: the same kind of conversation, without Lua and all that is above.
local function transport_turns(bed, o)
  local what = "the transport alone, a tool turn: CPU to the floor"
  local job = { program = "bench_transport", model = "tools-20", together = true }
  local floor, ours = per_unit(bed, job, o.reps, 10, o.quick and 110 or 210, 21)
  if not floor then return { failed(what, 1.3, nil, ours) } end
  return { ratio_row(what, "µs", floor, ours, 1.3) }
end

-- What the log costs: the same run with its log in memory, and without.
local function kept_turns(bed, o)
  local what = "a tool turn of a run that is kept: CPU to a run without a store"
  local script, many, times = bed.bench .. "/scripts/turns.lua", o.quick and 110 or 210, { log = {}, none = {} }
  for i = 1, o.reps do
    for _, how in ipairs { "none", "log" } do
      local job = { program = "bench_kept", model = "tools-20", together = true, words = { script, how } }
      local short, long = bed.hocket(job, 10), bed.hocket(job, many)
      if short.exit ~= 0 or long.exit ~= 0 then return { failed(what, 1.25, nil, "bench_kept failed") } end
      times[how][i] = slope(long, short, (many - 10) * 21)
    end
  end
  return { ratio_row(what, "µs", measure.median(times.none), measure.median(times.log), 1.25) }
end

local function team(bed, o)
  local what = "facilitator, 8 specialists of 4 turns: CPU per turn"
  local job = { script = "team", together = true }
  local floor, ours = per_unit(bed, job, o.reps, 1, o.quick and 41 or 81, 36)
  if not floor then return { failed(what, 3, nil, ours) } end
  return { ratio_row(what, "µs", floor, ours, 3) }
end

-- Microseconds of CPU for each model call of a pattern; `how` is the script's word for the same without it.
local function pattern_call(bed, job, name, how, calls, many)
  local short, long = bed.hocket(job, ("%s 2%s"):format(name, how)), bed.hocket(job, ("%s %d%s"):format(name, many, how))
  if long.exit ~= 0 or short.exit ~= 0 then return nil, "hocket's run failed" end
  local requests, wanted = long.requests - short.requests, (many - 2) * calls
  if requests ~= wanted then return nil, ("%d requests instead of %d"):format(requests, wanted) end
  return slope(long, short, wanted)
end

-- What patterns cost beyond their calls: to as many calls of agents that know nothing of each other, and
-- to as many calls of models without any agent.
local function patterns(bed, o)
  local rows, job = {}, { script = "patterns", together = true }
  for _, one in ipairs {
    { "router", 2, "a router" }, { "three", 4, "three advisors" }, { "five", 11, "a team of five" },
    { "handoff", 10, "a chain of 10 handoffs" }, { "advisors", 21, "20 advisors" }, { "team", 41, "a team of 8 for 5 rounds" },
  } do
    local name, calls, what = table.unpack(one)
    local many, costs = math.ceil((o.quick and 600 or 2000) / calls), { [""] = {}, [" plain"] = {}, [" bare"] = {} }
    for i = 1, o.reps do
      for how, list in pairs(costs) do
        local cost, wrong = pattern_call(bed, job, name, how, calls, many)
        if not cost then return { failed(what, 1.5, nil, wrong) } end
        list[i] = cost
      end
    end
    local ours = measure.median(costs[""])
    rows[#rows + 1] = ratio_row(what .. ": CPU per call, to plain agents'", "µs", measure.median(costs[" plain"]), ours, 1.5)
    rows[#rows + 1] = ratio_row(what .. ": CPU per call, to bare calls", "µs", measure.median(costs[" bare"]), ours, nil, 1.5)
  end
  return rows
end

-- The same three with other frameworks, where they are found: in python (HOCKET_PEERS, else python3), or as programs on
-- the PATH that were built from bench/peers. A note for each, no limit.
local function peer_list(bench)
  local python = os.getenv "HOCKET_PEERS" or "python3"
  return {
    { "pydantic-ai", "for " .. python, python, bench .. "/peers/pydantic_ai_peer.py" },
    { "the OpenAI Agents SDK", "for " .. python, python, bench .. "/peers/openai_agents_peer.py" },
    { "Eino", "as eino_peer (bench/peers/eino/main.go says how)", "eino_peer" },
    { "rig", "as rig_peer (bench/peers/rig/main.rs says how)", "rig_peer" },
  }
end

local function peer_words(words, last)
  local all = { table.unpack(words) }
  all[#all + 1] = last
  return all
end

local function peers(bed, o)
  for _, peer in ipairs(peer_list(bed.bench)) do
    local words = { table.unpack(peer, 3) }
    local version, ok = bed.output(table.unpack(peer_words(words, "version")))
    if not ok then
      o.note(("%s is not installed %s: nothing is measured of it"):format(peer[1], peer[2]))
    else
      local parts = {}
      for i, one in ipairs { { "router", 2, "a router" }, { "three", 4, "three advisors" }, { "five", 11, "a team of five" } } do
        local all = peer_words(words, one[1])
        local short, long = bed.peer(all, 2), bed.peer(all, 12)
        local right = long.exit == 0 and long.requests - short.requests == 10 * one[2]
        parts[i] = right and ("%s %.0f µs"):format(one[3], slope(long, short, 10 * one[2])) or one[3] .. ": failed"
      end
      o.note(("CPU per call with %s %s: %s"):format(peer[1], version:match "%S+", table.concat(parts, ", ")))
    end
  end
  return {}
end

-- The same written by hand in Rust with the crate async-openai, in turn with hocket.
local function by_hand(bed, o)
  local program, pairs_of = "async_openai_peer", {
    { "turns", "a tool turn", { script = "turns", model = "tools-20" }, 21, 10, 110, 0.5 },
    { "chunks", "a chunk of a stream, many a packet", { script = "streams", model = "chunks-10000" }, 10000, 1, 11, nil },
    { "router", "a router, for each call", { script = "patterns", words = "router %d" }, 2, 20, 320, 1 },
    { "three", "three advisors, for each call", { script = "patterns", words = "three %d" }, 4, 20, 220, 1 },
    { "five", "a team of five, for each call", { script = "patterns", words = "five %d" }, 11, 10, 80, 1 },
  }
  local version, ok = bed.output(program, "version")
  if not ok then
    o.note "async-openai is not installed as async_openai_peer (bench/peers/async-openai/main.rs says how): nothing is measured of it"
    return {}
  end
  o.note(("written by hand in Rust: with async-openai %s"):format(version:match "%S+"))
  local rows = {}
  for _, one in ipairs(pairs_of) do
    local word, what, job, units, few, many, goal = table.unpack(one, 1, 7)
    job.together = true
    what = what .. ": CPU, to async-openai"
    local theirs, ours = {}, {}
    for i = 1, o.reps do
      local input = job.words or "%d"
      local short, long = bed.hocket(job, input:format(few)), bed.hocket(job, input:format(many))
      local peer_short, peer_long = bed.peer({ program, word }, few), bed.peer({ program, word }, many)
      if long.requests ~= peer_long.requests or long.exit ~= 0 or peer_long.exit ~= 0 then
        rows[#rows + 1] = failed(what, nil, goal, ("%d requests instead of %d"):format(long.requests, peer_long.requests))
        break
      end
      theirs[i], ours[i] = slope(peer_long, peer_short, (many - few) * units), slope(long, short, (many - few) * units)
    end
    if #ours == o.reps then rows[#rows + 1] = ratio_row(what, "µs", measure.median(theirs), measure.median(ours), nil, goal) end
  end
  return rows
end

-- Microseconds for each chunk of streams of 10,000 chunks, to the floor; and how much more that ratio
-- is with 40,000 (the floor's own chunks cost more then: four times the bytes leave the caches).
local function stream_rows(bed, o, job, what, limit, goal, longer)
  local rows, ratio = {}, nil
  for _, n in ipairs { 10000, 40000 } do
    job.model = "chunks-" .. n
    local floor, ours = per_unit(bed, job, o.reps, 1, n == 10000 and 21 or 6, n)
    if not floor then return { failed(what, limit, goal, ours) } end
    if n == 10000 then
      rows[1], ratio = ratio_row(what, "µs", floor, ours, limit, goal), ours / floor
    else
      rows[2] = { what = longer.what, unit = "µs", floor = floor, ours = ours, value = ours / floor / ratio, limit = longer.limit, goal = longer.goal, ratio = true }
    end
  end
  return rows
end

local function burst(bed, o)
  return stream_rows(bed, o, { script = "streams", together = true }, "stream of 10,000 chunks, many a packet: CPU per chunk", 3, 1.5,
    { what = "stream of 40,000 chunks: CPU per chunk, to that of 10,000", goal = 1.1 })
end

local function transport_burst(bed, o)
  return stream_rows(bed, o, { program = "bench_transport", together = true }, "the transport alone, stream of 10,000 chunks, many a packet", 1.5, nil,
    { what = "the transport alone, stream of 40,000 chunks: to that of 10,000", limit = 1.1 })
end

local function drip(bed, o)
  local what = "stream of 10,000 chunks, a packet each: CPU per chunk"
  local job = { script = "streams", model = "chunks-10000-gap-50", together = true }
  local floor, ours = per_unit(bed, job, o.few_reps, 1, o.quick and 2 or 3, 10000)
  if not floor then return { failed(what, 3, 1.5, ours) } end
  return { ratio_row(what, "µs", floor, ours, 3, 1.5) }
end

-- What a turn costs beyond the floor's sending of the same bytes, late and early in a conversation.
local function long_talk(bed, o)
  local what = "200th turn to the 2nd: CPU beyond the floor's"
  local function beyond(from, to, rounds)
    local first = { script = "turns", model = "tools-" .. from, together = true }
    local last = { script = "turns", model = "tools-" .. to, together = true }
    if not bed.record(first) or not bed.record(last) then return end
    local list = {}
    for i = 1, o.reps do
      local n = (to - from) * rounds
      local floor = slope(bed.floor(last, rounds), bed.floor(first, rounds), n)
      list[i] = slope(bed.hocket(last, rounds), bed.hocket(first, rounds), n) - floor
    end
    return measure.median(list)
  end
  local early, late = beyond(2, 12, 200), beyond(180, 200, 25)
  if not early or not late then return { failed(what, nil, 1.1, "hocket's run failed") } end
  return { { what = what, unit = "µs", floor = early, ours = late, value = late / early, goal = 1.1, ratio = true } }
end

-- ---- Many at once -----------------------------------------------------------------------------

local function at_once(bed, o, name, model, ideal)
  local job = { script = "agents", model = model, seconds = 20 }
  local wall, memory = ("1,000 agents, %s: wall time to ideal"):format(name), "1,000 agents: memory each"
  if not bed.record(job) then return { failed(wall, 1.05, nil, "hocket's run failed") } end
  local walls, sizes, floor_walls, floor_sizes = {}, {}, {}, {}
  for i = 1, o.few_reps do
    local floor_one, floor = bed.floor(job, 1), bed.floor(job, 1, { clients = 1000 })
    local one, all = bed.hocket(job, 1), bed.hocket(job, 1000)
    if all.exit ~= 0 or all.requests ~= 2000 then
      return { failed(wall, 1.05, nil, ("%d of 2000 requests in %.1f s, %d at once (exit status %d)"):format(all.requests,
        all.wall_us / 1e6, all.streams_peak, all.exit)) }
    end
    walls[i], floor_walls[i] = all.wall_us / 1e6, floor.wall_us / 1e6
    sizes[i], floor_sizes[i] = (all.rss_kb - one.rss_kb) / 999, (floor.rss_kb - floor_one.rss_kb) / 999
  end
  local seconds = measure.median(walls)
  return {
    { what = wall, unit = "s", floor = measure.median(floor_walls), ours = seconds, value = seconds / ideal, limit = 1.05, ratio = true },
    { what = memory, unit = "KB", floor = measure.median(floor_sizes), ours = measure.median(sizes), value = measure.median(sizes), limit = 60 },
  }
end

local function agents_paced(bed, o)
  return at_once(bed, o, "chunks 20 ms apart", "tools-1-delay-1000-gap-20000", 2 * (1 + 19 * 0.02))
end

local function agents_burst(bed, o)
  -- A goal only: opening 1,000 connections and taking all answers at one moment takes the floor
  -- itself more than 5 % of two seconds.
  local row = at_once(bed, o, "all chunks at once", "tools-1-delay-1000", 2)[1]
  row.limit, row.goal = nil, 1.05
  return { row }
end

-- 10,000 streams, to the floor on one multi handle.
local function ten_thousand(bed, o, who, job)
  local n, what = 10000, ("10,000 %s: CPU to one multi handle"):format(who)
  if not bed.record(job) then return { failed(what, nil, 0.8, "hocket's run failed") } end
  local one_multi, many_multis, cpu, sizes, floor_sizes, peaks, floor_peaks = {}, {}, {}, {}, {}, {}, {}
  for i = 1, o.few_reps do
    local floor = bed.floor(job, 1, { clients = n })
    local sharded = bed.floor(job, 1, { clients = n, multis = 64, buffer = 1024 })
    local one, all = bed.hocket(job, 1), bed.hocket(job, n)
    if all.exit ~= 0 or all.requests ~= n then
      return { failed(what, nil, 0.8, ("%d of %d requests in %.1f s, %d at once (exit status %d)"):format(all.requests, n,
        all.wall_us / 1e6, all.streams_peak, all.exit)) }
    end
    one_multi[i], many_multis[i], cpu[i] = floor.cpu / 1e6, sharded.cpu / 1e6, all.cpu / 1e6
    sizes[i], floor_sizes[i] = (all.rss_kb - one.rss_kb) / n, floor.rss_kb / n
    peaks[i], floor_peaks[i] = all.streams_peak, floor.streams_peak
  end
  o.note(("10,000 %s, the floor on 64 multi handles with 1 KB buffers: %.2f s of CPU"):format(who, measure.median(many_multis)))
  return {
    ratio_row(what, "s", measure.median(one_multi), measure.median(cpu), nil, 0.8),
    { what = ("10,000 %s: memory each"):format(who), unit = "KB", floor = measure.median(floor_sizes), ours = measure.median(sizes), value = measure.median(sizes), goal = 25 },
    { what = ("10,000 %s: to the ones that the server has at once"):format(who), unit = "streams", floor = measure.median(floor_peaks), ours = measure.median(peaks), value = n / measure.median(peaks), goal = 1.2, ratio = true },
  }
end

local STREAM = "tools-0-delay-1000-gap-100000"

local function transport_streams(bed, o)
  return ten_thousand(bed, o, "streams, the transport alone", { program = "bench_transport", at_once = true, model = STREAM, seconds = 30 })
end

local function streams(bed, o)
  return ten_thousand(bed, o, "agents at once", { script = "agents", model = STREAM, seconds = 30 })
end

-- ---- Start and size ---------------------------------------------------------------------------

local function start(bed, o)
  local job = { script = "turns", model = "tools-0", free = true }
  if not bed.record(job) then return { failed("first request on the wire", 2, nil, "hocket's run failed") } end
  local version, floor, ours = {}, {}, {}
  for i = 1, o.quick and 11 or 31 do
    version[i] = bed.plain(o.hocket, "--version").wall_us / 1e3
    floor[i] = bed.floor(job, 1).first_us / 1e3
    ours[i] = bed.hocket(job, 1).first_us / 1e3
  end
  return {
    { what = "hocket --version", unit = "ms", ours = measure.median(version), value = measure.median(version), limit = 5 },
    ratio_row("first request on the wire after the start", "ms", measure.median(floor), measure.median(ours), 2),
  }
end

local function size(_, o)
  local copy, rows = o.tmp .. "/stripped", {}
  for _, one in ipairs { { "the program, stripped", o.hocket, 3000 }, { "libhocket.so, stripped", o.build .. "/libhocket.so", 1600 } } do
    os.execute(("strip -o '%s' '%s'"):format(copy, one[2]))
    local file = assert(io.open(copy, "rb"), "strip failed (package binutils)")
    local bytes = file:seek "end"
    file:close()
    rows[#rows + 1] = { what = one[1], unit = "KB", ours = bytes / 1000, value = bytes / 1000, limit = one[3] }
  end
  return rows
end

-- ---- Modules alone ------------------------------------------------------------------------------

-- Rows from what bench_NAME prints: {what, unit, pattern, limit}.
local function printed(bed, name, list)
  local text, ok = bed.output(bed.build .. "/bench/bench_" .. name)
  local rows = {}
  for i, one in ipairs(list) do
    local value = ok and tonumber((text:match(one[3])))
    rows[i] = value and { what = one[1], unit = one[2], ours = value, value = value, limit = one[4] }
      or failed(one[1], one[4], nil, ("bench_%s says nothing of it"):format(name))
  end
  return rows
end

local function broker(bed, o)
  local rows = printed(bed, "broker", {
    { "an empty job, submitted, started, completed, in C", "µs", "\n?%s+1 queued: ([%d.]+) us", 2 },
    { "the same with 100,000 queued", "µs", "100000 queued: ([%d.]+) us", 2 },
    { "a queued job of 100,000: memory", "B", "100000 queued: [^\n]*, ([%d]+) bytes per", 1024 },
  })
  local text, ok = bed.output(o.hocket, "run", bed.bench .. "/scripts/broker.lua", "json")
  local seen = ok and measure.numbers(text) or {}
  local function through_lua(what, value, limit)
    rows[#rows + 1] = value and { what = what, unit = "µs", ours = value, value = value, limit = limit }
      or failed(what, limit, nil, "hocket's run failed")
  end
  through_lua("an empty job through Lua, each waited for: CPU", seen.off, 15)
  through_lua("the same in a run, with its events: CPU", seen.on)
  through_lua("100,000 jobs queued through Lua: CPU each, start and complete", seen.done, 15)
  return rows
end

-- Over the same lines through the same pipe, with nobody who reads what is in them.
local function mcp(bed, o)
  local text, ok = bed.output(o.hocket, "run", "-q", bed.bench .. "/scripts/mcp.lua", o.quick and 3000 or 20000)
  local seen = ok and measure.numbers(text) or {}
  local function row(what, floor, ours)
    if not (floor and ours) then return failed(what, 60, nil, "hocket's run failed") end
    return { what = what, unit = "µs", floor = floor, ours = ours, value = ours - floor, limit = 60 }
  end
  return {
    row("a call of an MCP server's tool, over the bare pipe: CPU", seen.bare, seen.call),
    row("a call that our MCP server answers, over the bare pipe: CPU", seen.served_bare, seen.served),
  }
end

local function serve(bed, o)
  local text, ok = bed.output(o.hocket, "run", "-q", "--store", "off", bed.bench .. "/scripts/serve.lua", o.quick and 2000 or 10000)
  local seen = ok and measure.numbers(text) or {}
  local request, turn = "a request that `hocket serve` answers: CPU", "a turn with 1,000 readers of its events, one stuck: wall time to none"
  return {
    seen.request and { what = request, unit = "µs", ours = seen.request, value = seen.request, limit = 60 } or failed(request, 60, nil, "hocket's run failed"),
    seen.watched and ratio_row(turn, "s", seen.alone, seen.watched, 1.1) or failed(turn, 1.1, nil, "hocket's run failed"),
  }
end

local function document(bed)
  local rows = printed(bed, "document", {
    { "an append to a document of 100,000 entries", "ns", "\n%s+100000%s+([%d.]+)" },
    { "version 1,000 of 10,000, rendered", "µs", "\n%s+1000%s+([%d.]+)%s+[%d.]+%s+[%d.]+\n" },
  })
  local text = bed.output(bed.build .. "/bench/bench_document")
  local flat = tonumber((text:match "\n%s+100000%s+[%d.]+%s+([%d.]+)"))
  table.insert(rows, 2, flat and { what = "an append: 100,000 entries to 10", value = flat, limit = 2, ratio = true }
    or failed("an append: 100,000 entries to 10", 2, nil, "bench_document says nothing of it"))
  return rows
end

-- From bytes to a reply, without a network, as each provider sends them.
local function chunks(bed)
  local rows = {}
  for i, name in ipairs { "openai_chat", "openai_chat, obfuscated", "openai_responses", "anthropic", "gemini", "ollama", "bedrock" } do
    rows[i] = { "a chunk read: " .. name, "ns", "a chunk of " .. name .. " +([%d.]+) ns" }
  end
  return printed(bed, "chunks", rows)
end

local function schema(bed)
  return printed(bed, "schema", {
    { "arguments of a tool, checked by their schema", "µs", "4 members that fit%s+([%d.]+) us" },
    { "the same, wrong, with messages", "µs", "5 errors with messages%s+([%d.]+) us" },
  })
end

-- Beside bare SQLite on the same disk: an fsync takes what it takes.
local function store(bed)
  local text, ok = bed.output(bed.build .. "/bench/bench_store")
  local rows = {}
  local function beside(what, pattern, limit)
    local bare, ours = (ok and text or ""):match(pattern)
    rows[#rows + 1] = bare and ratio_row(what, "µs", tonumber(bare), tonumber(ours), limit)
      or failed(what, limit, nil, "bench_store says nothing of it")
  end
  beside("an entry written, waited for", "written, each waited for: bare ([%d.]+) us, store ([%d.]+) us")
  beside("an entry on the disk, waited for", "synced, each waited for: bare ([%d.]+) us, store ([%d.]+) us", 1.5)
  beside("an entry of many that nobody waits for", "bare ([%d.]+) us each; store ([%d.]+) us", 2)
  local each = ok and tonumber((text:match "1000 wait at once: store ([%d.]+)"))
  local loop = ok and tonumber((text:match "([%d.]+) us of it on the loop"))
  local function alone(what, value, limit)
    rows[#rows + 1] = value and { what = what, unit = "µs", ours = value, value = value, limit = limit }
      or failed(what, limit, nil, "bench_store says nothing of it")
  end
  alone("an entry on the disk when 1,000 wait at once", each, 20)
  alone("handing an entry over: CPU of the loop", loop, 1)
  return rows
end

-- Beside bare SQL on a server of its own; nothing where there is none.
local function postgres(bed)
  local text, ok = bed.output("env", "HOCKET_TEST_POSTGRES_FSYNC=on", "sh", "tests/support/postgres.sh", bed.build .. "/bench/bench_postgres")
  if not ok and (text or ""):find "skipped" then return {} end
  local rows = {}
  for _, one in ipairs { { "an entry in PostgreSQL, waited for", "an entry, waited for" }, { "a run of PostgreSQL taken and given back", "a run taken and given back" } } do
    local bare, ours = (ok and text or ""):match(one[2] .. ": bare ([%d.]+) us, store ([%d.]+) us")
    rows[#rows + 1] = bare and ratio_row(one[1], "µs", tonumber(bare), tonumber(ours), 1.25) or failed(one[1], 1.25, nil, "bench_postgres says nothing of it")
  end
  return rows
end

-- The same for processes that take runs from one pool: the time for each is that of all by their number.
local function queue(bed)
  local text, ok = bed.output("env", "HOCKET_TEST_POSTGRES_FSYNC=on", "sh", "tests/support/postgres.sh", bed.build .. "/bench/bench_queue")
  if not ok and (text or ""):find "skipped" then return {} end
  local rows = {}
  for _, n in ipairs { 1, 2, 4 } do
    local what = ("a run of PostgreSQL taken and ended, %d worker%s"):format(n, n > 1 and "s" or "")
    local bare, eight, one = (ok and text or ""):match(("workers %d bare (%%d+) store %%d+ ratio ([%%d.]+); one by one %%d+ ratio ([%%d.]+)"):format(n))
    if not bare then return { failed(what, 1.25, nil, "bench_queue says nothing of it") } end
    rows[#rows + 1] = ratio_row(what, "µs", 1e6 / bare, 1e6 / bare / eight, 1.25)
    rows[#rows + 1] = ratio_row(what .. ", one by one", "µs", 1e6 / bare, 1e6 / bare / one)
  end
  return rows
end

-- ---- Runs that are kept ------------------------------------------------------------------------

-- Medians of a figure of hocket's without a store and with one, in turn: get(job) gives it, or nil.
local function kept_beside(bed, o, job, get)
  local plain, kept = {}, {}
  for i = 1, o.reps do
    for _, one in ipairs { { "off", plain }, { bed.tmp .. "/kept.db", kept } } do -- whose file is looked at behind this
      local store, list = one[1], one[2]
      job.store = store
      for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(bed.tmp .. "/kept.db" .. ending) end
      list[i] = get(job)
      if not list[i] then return nil end
    end
  end
  return measure.median(plain), measure.median(kept)
end

local function kept_row(bed, o, what, unit, limit, job, get)
  local plain, kept = kept_beside(bed, o, job, get)
  return plain and ratio_row(what, unit, plain, kept, limit) or failed(what, limit, nil, "hocket's run failed")
end

local AGENT = "---\nname: talker\n---\nYou talk.\n"

-- A conversation of 1,000 turns goes on: from the start of the program to its end at the next prompt, where nothing is
-- typed. Beside it, the same with a conversation that begins.
local function kept_resume(bed, o)
  local what, turns = "a conversation of 1,000 turns, resumed to its prompt", 1000
  local agent, db = bed.tmp .. "/talker.md", bed.tmp .. "/talk.db"
  local file = assert(io.open(agent, "w"))
  file:write(AGENT)
  file:close()
  local chat = ("HOCKET_MODEL=sim/echo '%s' chat -q --store '%s'"):format(o.hocket, db)
  local said, ok = bed.output("sh", "-c", ("yes 'and what is next' | head -%d | %s '%s'"):format(turns, chat, agent))
  local _, answers = said:gsub("You said", "")
  if not ok or answers ~= turns then return failed(what, 150, nil, ("%d answers of %d"):format(answers, turns)) end
  local whole, empty = {}, {}
  for i = 1, o.reps do
    local again = bed.plain("sh", "-c", chat .. " --continue </dev/null >/dev/null 2>&1")
    local new = bed.plain("sh", "-c", (chat:gsub("talk%.db", "new.db")) .. (" '%s' </dev/null >/dev/null 2>&1"):format(agent))
    if again.exit ~= 0 or new.exit ~= 0 then return failed(what, 150, nil, "hocket chat failed") end
    whole[i], empty[i] = again.wall_us / 1e3, new.wall_us / 1e3
  end
  local ours = measure.median(whole)
  return { what = what, unit = "ms", floor = measure.median(empty), ours = ours, value = ours, limit = 150 }
end

-- The tool of "turns" may change the world, so that each call begins when what was handed over is secured.
local function kept_turn(bed, o, rounds)
  return kept_row(bed, o, "a tool turn, kept: CPU to a run without a store", "µs", 1.25, { script = "turns", model = "tools-20", together = true }, function(job)
    local short, long = bed.hocket(job, 10), bed.hocket(job, rounds)
    return long.exit == 0 and short.exit == 0 and slope(long, short, (rounds - 10) * 21) or nil
  end)
end

-- What keeping adds to that turn, beside what bare SQLite takes to write the rows that it left in the file of the last run.
local function kept_rows(bed, turn, rounds)
  local what = "what keeping adds to a tool turn, to its rows in bare SQLite"
  local text, ok = bed.output(bed.build .. "/bench/bench_rows", bed.tmp .. "/kept.db", (rounds + 10) * 21)
  local bare = ok and tonumber(text:match "([%d.]+) us")
  if not bare or turn.failed then return failed(what, nil, nil, "bench_rows says nothing of it") end
  return ratio_row(what, "µs", bare, turn.ours - turn.floor)
end

local function kept(bed, o)
  local rounds, many = o.quick and 40 or 110, o.quick and 300 or 1000
  local turn = kept_turn(bed, o, rounds)
  return {
    turn,
    kept_rows(bed, turn, rounds),
    kept_row(bed, o, ("%d agents at once, kept: time to the same that are not"):format(many), "ms", 1.05,
      { script = "agents", model = "tools-0-delay-1000-gap-100000" }, function(job)
        local seen = bed.hocket(job, many)
        return seen.exit == 0 and seen.wall_us / 1e3 or nil
      end),
    kept_row(bed, { reps = 3 * o.reps, tmp = o.tmp }, "first request after the start, kept", "ms", 1.1, { script = "turns", model = "tools-0" }, function(job)
      local seen = bed.hocket(job, 1)
      return seen.exit == 0 and seen.first_us / 1e3 or nil
    end),
    kept_resume(bed, o),
  }
end

-- What limits that all processes of a store have together cost a model call, beside the same without: both are kept.
local function drawn(bed, o)
  local rounds, db = o.quick and 30 or 60, bed.tmp .. "/drawn.db"
  local function row(what, limit, job, with)
    local plain, ours = {}, {}
    for i = 1, o.reps do
      for _, one in ipairs { { plain }, { ours, with } } do
        job.store, job.more, job.env = db, one[2] and one[2].more, one[2] and one[2].env
        for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(db .. ending) end
        bed.output(o.hocket, "budget", "set", "bench", "--calls", 1000000000, "--tokens", 1000000000000, "--store", db)
        local short, long = bed.hocket(job, 5), bed.hocket(job, rounds)
        one[1][i] = long.exit == 0 and short.exit == 0 and slope(long, short, (rounds - 5) * 21) or nil
        if not one[1][i] then return failed(what, limit, nil, "hocket's run failed") end
      end
    end
    return ratio_row(what, "µs", measure.median(plain), measure.median(ours), limit)
  end
  return {
    row("a tool turn whose calls are limited for all processes: CPU to limits of its own", 1.1, { script = "limited" }, { env = "SHARED=1" }),
    row("a tool turn that draws from a project's day, calls and tokens: CPU to one that does not", 2.5, { script = "turns", model = "tools-20" }, { more = { "--project", "bench" } }),
  }
end

-- It says no by its exit status when one is over its limit, which the rows say as well.
local function saves(bed)
  local text = bed.output(bed.build .. "/bench/bench_save") or ""
  local rows = {}
  for what, value, limit, unit in text:gmatch "(%C-)%s+([%d.]+)%s+([%d.]+)%s+(%a+)[^\n]*\n" do
    rows[#rows + 1] = { what = what, unit = unit, ours = tonumber(value), value = tonumber(value), limit = tonumber(limit) }
  end
  return #rows == 4 and rows or { failed("1,000 conversations saved", 50, nil, "bench_save says nothing") }
end

-- Over starting the bare sandbox; a level that is not on this machine has no row. It says no by its exit
-- status when one is over its limit, which the rows say as well.
local function programs(bed)
  local text = bed.output(bed.build .. "/bench/bench_process") or ""
  local rows = {}
  for name, over in text:gmatch "(%a+) +bare [^\n]* over it +([%d.]+) ms" do
    local value = tonumber(over)
    rows[#rows + 1] = { what = ("a tool's program, over the bare sandbox: %s"):format(name), unit = "ms", ours = value, value = value, limit = 2 }
  end
  return #rows > 0 and rows or { failed("a tool's program, over the bare sandbox", 2, nil, "bench_process says nothing") }
end

local function files(bed, o)
  local text = bed.output("sh", bed.bench .. "/files.sh", o.hocket, o.quick and "5000" or "100000") or ""
  local rows, what = {}, "search_files, %s: CPU to ripgrep, git grep"
  for pattern, said in text:gmatch "search for ([^\n]+)(.-\n)%f[%S]" do
    local ours, rg, git = said:match "hocket +([%d.]+)", said:match "ripgrep +([%d.]+)", said:match "git grep +([%d.]+)"
    local fastest = math.min(tonumber(rg) or math.huge, tonumber(git) or math.huge)
    if ours and fastest < math.huge then rows[#rows + 1] = ratio_row(what:format("`" .. pattern .. "`"), "s", fastest, tonumber(ours), 2) end
  end
  for size, bare, whole in text:gmatch "read +(%d+) bytes: open, read, close ([%d.]+) us;[^\n]*read_file ([%d.]+) us" do
    local value = tonumber(whole) - tonumber(bare)
    rows[#rows + 1] = { what = ("read_file over open, read and close: %s bytes"):format(size), unit = "µs", ours = value, value = value, limit = 20 }
  end
  return #rows == 6 and rows or { failed(what:format "", 2, nil, "files.sh did not say all of it") }
end

-- A conversation that goes on and on: turn 5,000 costs what turn 2,000 did, and turn 3 is known. Beside it, what a cache has of the input,
-- and what it would have with the oldest turns dropped.
local function endless(bed, o)
  local what = ("%s turns in a window of 32k"):format(o.quick and "1,000" or "5,000")
  local text, ok = bed.output(o.hocket, "run", bed.bench .. "/scripts/endless.lua", (o.quick and "1000" or "5000") .. " json", "-q")
  local seen = ok and measure.numbers(text) or {}
  if seen.known ~= 1 then return { failed(what, 1.2, nil, ok and "turn 3 is forgotten" or "hocket's run failed") } end
  return {
    { what = what .. ": CPU of a late turn to an early one's", unit = "µs", floor = seen.early, ours = seen.late, value = seen.late / seen.early, limit = 1.2, ratio = true },
    { what = what .. ": memory late to early", unit = "KB", floor = seen.kb_early, ours = seen.kb_late, value = seen.kb_late / seen.kb_early, limit = 1.1, ratio = true },
    { what = what .. ": input not sent before; floor: oldest dropped", unit = "%", floor = 100 * (1 - seen.dropping),
      ours = 100 * (1 - seen.cached), value = 100 * (1 - seen.cached), limit = 10 },
  }
end

-- Tokens of a task of 30 calls, done by one script, to what they are without it.
local function script(bed, o)
  local what = "30 tool calls in one script: tokens, to %s"
  local text, ok = bed.output(o.hocket, "run", bed.bench .. "/scripts/script.lua", "json", "-q")
  local seen = ok and measure.numbers(text) or {}
  if not seen.script then return { failed(what:format "turns of one call", 0.1, nil, "hocket's run failed") } end
  return {
    { what = what:format "turns of one call", unit = "tokens", floor = seen.turns, ours = seen.script, value = seen.script / seen.turns, limit = 0.1, ratio = true },
    { what = what:format "one turn of 30", unit = "tokens", floor = seen.together, ours = seen.script, value = seen.script / seen.together, limit = 0.5, ratio = true },
  }
end

-- The page in a browser, where one is.
local function page(bed, o)
  local what = ("the page, a run of 1,000 agents and %s events"):format(o.quick and "18,000" or "100,000")
  local text, ok = bed.output("sh", bed.bench .. "/browser.sh", o.hocket, o.quick and "4" or "32")
  local seen = measure.numbers(text or "")
  if not seen.picture then
    local none = (text or ""):match "skipped: [^\n]+"
    if none then io.stderr:write("bench: page: ", none, "\n") end
    return none and {} or { failed(what, 2, nil, ok and "no figures" or "the browser failed") }
  end
  return {
    { what = what .. ": to the first picture", unit = "ms", ours = seen.picture, value = seen.picture, limit = 2000, goal = 1000 },
    { what = what .. ": to all of them", unit = "s", ours = seen.all / 1000, value = seen.all / 1000, limit = 20, goal = 5 },
    { what = what .. ": longest frame as they come", unit = "ms", ours = seen.frame, value = seen.frame, limit = 1000, goal = 100 },
    { what = what .. ": the run watched, to alone", unit = "s", floor = seen.alone, ours = seen.watched, value = seen.watched / seen.alone, limit = 2, goal = 1.2, ratio = true },
  }
end

--- In the order of the table. `slow` ones are not part of a quick run.
cases.list = {
  { name = "start", run = start },
  { name = "size", run = size },
  { name = "turns", run = turns },
  { name = "instructions", run = turn_instructions },
  { name = "transport", run = transport_turns },
  { name = "kept", run = kept_turns },
  { name = "team", run = team },
  { name = "patterns", run = patterns },
  { name = "peers", run = peers, slow = true },
  { name = "by_hand", run = by_hand, slow = true },
  { name = "burst", run = burst },
  { name = "transport-burst", run = transport_burst },
  { name = "drip", run = drip },
  { name = "agents-paced", run = agents_paced },
  { name = "agents-burst", run = agents_burst },
  { name = "mcp", run = mcp },
  { name = "serve", run = serve },
  { name = "broker", run = broker },
  { name = "document", run = document },
  { name = "chunks", run = chunks },
  { name = "schema", run = schema },
  { name = "store", run = store },
  { name = "postgres", run = postgres },
  { name = "queue", run = queue },
  { name = "kept", run = kept },
  { name = "drawn", run = drawn },
  { name = "forks", run = durable.forks },
  { name = "effects", run = durable.effects },
  { name = "waiting", run = durable.waiting },
  { name = "saves", run = saves },
  { name = "programs", run = programs },
  { name = "endless", run = endless },
  { name = "script", run = script },
  { name = "page", run = page, slow = true },
  { name = "files", run = files, slow = true },
  { name = "long", run = long_talk, slow = true },
  { name = "transport-streams", run = transport_streams, slow = true },
  { name = "streams", run = streams, slow = true },
}

return cases
