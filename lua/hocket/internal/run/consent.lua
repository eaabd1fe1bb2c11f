--- What a run may do that is continued: the options that hold for it, and whose consent they are. Every door asks here, and there is no
--- other way: resume, fork, replay, a worker, a load, HTTP, MCP, ACP, A2A.
---
---     the record's own      counts where this user has begun the run in a file of this machine (proof), with `consent: true` (hocket run,
---                           chat, run -d, fork, schedules), and continues it with `consent: true` (the command line, hocket work)
---     what is given now     cuts that: of both the stricter
---     otherwise             what is given now, or the defaults; of the record what it forbids
---
--- A replay follows the log, so a changed consent holds from the end of the log. `decide` sets it before anything runs, `hear` when
--- the run is live, and the log records it (the wish "consent"). A run that has not begun has it in its row's options.
local account = require "hocket.internal.models.account"
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local egress = require "hocket.internal.base.lazy" "hocket.internal.run.egress"
local json = require "hocket.json"
local limits = require "hocket.internal.base.lazy" "hocket.internal.models.limits"
local machine_policy = require "hocket.internal.models.machine_policy"
local policy = require "hocket.internal.base.lazy" "hocket.internal.run.policy"
local proof = require "hocket.internal.base.lazy" "hocket.internal.run.proof"
local system = require "hocket.internal.core.system"

local consent = {}

-- The options that are consent, or limits: given now they are no replacements of the record's.
local names = { "approve", "rules", "sandbox", "network", "trust", "typed", "workdir", "mcp", "budget", "max_turns", "timeout", "jobs", "consent" }

---@class hocket.Given What whoever continues a run says of it: options of a run.
---@field consent? boolean true: the record's consent counts, as far as it is proven; nil: a program that embeds hocket.

-- ---- Whether the record's consent counts -----------------------------------------------------------

-- Consent that this user has given, here.
local function is_given(options, ours)
  return type(options) == "table" and options.consent == true and ours and proof.is_file()
end

--- Whether the consent of a row's own options is proven.
---@param row {id: string, target?: string, input?: string, options?: string}
---@return boolean
function consent.is_given(row)
  return is_given(json.decode(row.options or ""), proof.is_ours(row))
end

--- Options of a run that is put into the store, as JSON: with the mark of who puts it, where they say whether people consent to them.
---@param id string
---@param target string
---@param input? string
---@param options table
---@return string
function consent.marked(id, target, input, options)
  options.made = nil
  local text = json.encode(options)
  return options.consent ~= nil and proof.mark(id, target, input, text) or text
end

--- The same for the fork of a run: what its parent was allowed it is allowed where that counts.
---@param parent table Its row.
---@param id string Of the fork.
---@param fork {target?: string, input?: string, options: table}
---@param by_person boolean
---@return string
function consent.inherited(parent, id, fork, by_person)
  local options = fork.options
  options.consent = proof.is_ours(parent) and by_person and consent.is_given(parent)
  if not proof.is_ours(parent) then options.consent = nil end
  return consent.marked(id, fork.target or parent.target, fork.input or parent.input, options)
end

--- What a process says of a run that it continues, of the options that it gives to its own. It is no person who consents.
---@param options table
---@return hocket.Given
function consent.given(options)
  local given = { consent = false }
  for _, name in ipairs(names) do
    if name ~= "consent" and name ~= "rules" then given[name] = options[name] end
  end
  return given
end

-- ---- What holds --------------------------------------------------------------------------------------

-- Of a record it may be anything.
local function shown(value)
  if value == nil then return "nothing" end
  return type(value) == "string" and value or json.encode(value)
end

-- For a person: which options count no more.
local function note_cut(cut, options, left)
  if policy.allows(options) then cut[#cut + 1] = "approve " .. shown(options.approve or "allow") end
  for _, name in ipairs { "sandbox", "network" } do
    if shown(options[name]) ~= shown(left[name]) then cut[#cut + 1] = ("%s %s"):format(name, shown(options[name])) end
  end
  if options.trust == true and left.trust ~= true then cut[#cut + 1] = "trust" end
  if options.mcp and not left.mcp then cut[#cut + 1] = "MCP servers" end
end

-- Files that stand in the record are there; a path means a file of this machine.
local function only_data(files)
  local list = {}
  for _, one in ipairs(type(files) == "table" and files or {}) do
    if type(one) == "table" then list[#list + 1] = one end
  end
  return #list > 0 and json.array(list) or nil
end

local function trust_of(given, options)
  if given.trust ~= nil or given.consent ~= nil then return given.trust or false end
  return options.trust
end

local function call_of(call)
  if type(call) ~= "table" then return nil end
  local left = {}
  for name, value in pairs(call) do left[name] = value end
  left.rules, left.named_hosts, left.always = json.array(policy.narrowed(call.rules)), nil, nil
  return left
end

-- A policy that has a person asked: of --trust, given when the run began, nothing is left.
local function asked_trust(trust, said)
  if said.asks_trust and trust == true then return "ask" end
  return trust
end

-- The record's consent counts for nothing.
local function without(options, said)
  local given = said.given
  local left = {
    approve = given.approve, rules = policy.forbidding(options), sandbox = limits.sandbox(limits.demand(options.sandbox), given.sandbox),
    network = given.network ~= nil and limits.network(limits.restriction(options.network), given.network) or nil, trust = asked_trust(trust_of(given, options), said),
    typed = given.typed or nil, workdir = given.workdir, mcp = given.mcp, files = only_data(options.files), call = call_of(options.call), asks_anew = true,
    consent = said.ours and false or nil, -- what another's run submits nobody has begun here
  }
  if left.rules and #left.rules == 0 then left.rules = nil end
  return left
end

-- It counts, and what is given cuts it.
local function within(options, said)
  local given = said.given
  return {
    approve = options.approve, rules = options.rules, sandbox = limits.sandbox(options.sandbox, given.sandbox), network = limits.network(options.network, given.network),
    trust = asked_trust(given.trust == true or options.trust, said), typed = options.typed, workdir = given.workdir or options.workdir, mcp = given.mcp or options.mcp,
    files = options.files, call = options.call, asks_anew = options.asks_anew, consent = options.consent,
  }
end

-- Of both what holds, by name: what is not in it holds no more.
local function holds(options, said)
  local given = said.given
  local left = (said.counts and within or without)(options, said)
  for name, value in pairs(limits.both(options, given)) do left[name] = value end
  return left
end

-- The names that `holds` says something of.
local held = { "approve", "rules", "sandbox", "network", "trust", "typed", "workdir", "mcp", "files", "call", "asks_anew", "consent", "budget", "max_turns", "timeout", "jobs" }

local function put(options, left)
  for _, name in ipairs(held) do options[name] = left[name] end
end

-- ---- Before a run is continued ---------------------------------------------------------------------------

local function read(text)
  local value = json.decode(text)
  return type(value) == "table" and not json.is_array(value) and value or {}
end

-- What is given for the run, and what is no consent.
local function split(given)
  local of_run, rest = { consent = given.consent }, {}
  for name, value in pairs(given) do rest[name] = value end
  for _, name in ipairs(names) do of_run[name], rest[name] = given[name], nil end
  return of_run, rest
end

local cutting = { "approve", "sandbox", "network", "workdir", "mcp", "budget", "max_turns", "timeout", "jobs" }

-- Whether consent that counts is cut.
local function narrows(given)
  for _, name in ipairs(cutting) do
    if given[name] ~= nil then return true end
  end
  return given.trust == true
end

-- Nothing was done of it yet: it begins with what holds.
local function begin_anew(row, options, said)
  local left, cut = holds(options, said), {}
  if not said.counts then note_cut(cut, options, left) end
  put(options, left)
  options.record, options.replay, options.made, options.cut = nil, nil, nil, #cut > 0 and table.concat(cut, "; ") or nil
  options.not_for_clients = not said.counts and said.given.consent ~= false or nil
  if said.ours then return consent.marked(row.id, row.target, row.input, options) end -- with what was cut it is still its owner's
  return json.encode(options)
end

--- What holds for a run of the store that is continued.
---@param row {id: string, target: string, input?: string, options: string, generation?: string}
---@param given_text string Options that are given now, JSON.
---@param fresh boolean Nothing was done of it: its log is empty.
---@param ours? boolean What proof.is_ours says of it.
---@return string own Its options, JSON.
---@return string instead What is to stand in their place.
---@return string? wish To be said to it when it is live.
function consent.decide(row, given_text, fresh, ours)
  local given, rest = split(machine_policy.given(read(given_text)))
  if ours == nil then ours = proof.is_ours(row) end
  local options = read(row.options)
  local counts = given.consent == true and is_given(options, ours)
  local asks_trust = options.trust == true and machine_policy.bounds_trust() or nil
  if counts and not narrows(given) and not asks_trust then return row.options, json.encode(rest) end
  local operator = system.getenv "HOCKET_APPROVE"
  -- timed: older logs have no such limit, and a replay of theirs sets none
  local said = { given = given, counts = counts, ours = ours, asks_trust = asks_trust, timed = given.timeout ~= nil or nil, operator = operator ~= "" and operator or nil,
    web_allow = system.getenv "HOCKET_WEB_ALLOW" or "" }
  if fresh then return begin_anew(row, options, said), json.encode(rest) end
  local own = row.options
  if options.record or options.replay or not said.counts then -- where its tools work is no part of the log
    options.record, options.replay = nil, nil
    if not said.counts then options.workdir = nil end
    own = json.encode(options)
  end
  rest.workdir = given.workdir
  return own, json.encode(rest), json.encode(said)
end

-- ---- When it is live -----------------------------------------------------------------------------------------

-- What people have said in it before.
local function forget_leave(run, cut)
  if #run.always > 0 then cut[#cut + 1] = ("%d standing approval%s"):format(#run.always, #run.always == 1 and "" or "s") end
  run.always, run.named_hosts = {}, nil
  if run.call then run.call = run.options.call end
end

local function tell(run, cut)
  local text = table.concat(cut, "; ")
  local own = effects.here().policy
  if #cut == 0 or own.cut == text then return end
  own.cut = text
  run:emit("warning", { code = "consent", message = consent.words(text) })
end

--- Whether the options of a run limit it as a whole.
---@param options table
---@return boolean
function consent.limits(options)
  return (options.budget or options.timeout or options.project) ~= nil
end

--- In words for people.
---@param cut string
---@return string
function consent.words(cut)
  return ("what the run was once allowed does not count here: %s. The options and defaults of whoever continues it hold"):format(cut)
end

--- The run goes on where whoever runs the host says this (HOCKET_APPROVE).
---@param run hocket.Run
---@param text string
---@return true
function consent.operator(run, text)
  if policy.bind(text) then
    run:emit("warning", { message = ("HOCKET_APPROVE is %s here, which it was not when the run began: both bind what it does from here on"):format(policy.shown(text)) })
  end
  return true
end

-- Whose options it has: the ones that a process gives to clients (false in `consent`), or another's; whether it was cut since it began,
-- and that by a client's words. A checkpoint has what the policy has.
local function set_clients(run, own, said)
  own.for_clients, own.was_cut, own.heard_words = said.given.consent == false, true, said.words == true
  run.for_clients, run.was_cut, run.heard_words = own.for_clients, true, own.heard_words
end

-- Whether whoever continues it gives it less time than it had.
local function given_less(given, seconds)
  return type(given.timeout) == "number" and (type(seconds) ~= "number" or given.timeout < seconds)
end

-- Says to a run what holds from here on.
local function apply(run, text)
  local said, cut = read(text), {}
  said.given = type(said.given) == "table" and said.given or {}
  local left, before = holds(run.options, said), run.options.timeout
  if not said.counts then note_cut(cut, run.options, left) end
  policy.cut(run.options, left, said)
  put(run.options, left)
  if said.counts and said.operator then consent.operator(run, said.operator) end
  if not said.counts then
    forget_leave(run, cut)
    egress.allow(said.web_allow)
  end
  if left.budget then run.accounts:limit(account.ROOT, left.budget) end
  if left.jobs then broker.shared():limit("all", nil, left.jobs) end
  if said.timed and given_less(said.given, before) and run.limit_time then run.limit_time(left.timeout) end
  effects.here().policy.holds, run.cuts = left, (run.cuts or 0) + 1
  set_clients(run, effects.here().policy, said)
  tell(run, cut)
end

local early = setmetatable({}, { __mode = "k" }) -- by journal: everything that was said to a run that had not begun

--- A run hears what holds from here on. It is in the log, and said again by a replay.
---@param journal userdata
---@param run? hocket.Run nil: it has not begun.
---@param text string As decide gave it.
---@return true
function consent.hear(journal, run, text)
  if run and run.heard_consent then
    apply(run, text)
  else
    early[journal] = early[journal] or {}
    table.insert(early[journal], text)
  end
  return true
end

--- What a run hears before a client's words (client_words.lua): its record's consent counts no more, and nothing is given in its place.
--- It stays in its folder.
---@param run hocket.Run
---@return string
function consent.of_message(run)
  return json.encode { given = { consent = false, workdir = run.options.workdir }, counts = false, words = true, web_allow = "" }
end

--- A run begins: it hears what was said to it before that, and tells what its row says.
---@param run hocket.Run
function consent.begin(run)
  local texts = early[run.journal]
  run.heard_consent, early[run.journal] = true, nil
  run.for_clients = run.options.consent == false and not run.options.not_for_clients -- of the process that it begins in
  for _, text in ipairs(texts or {}) do apply(run, text) end
  if run.options.cut then run:emit("warning", { code = "consent", message = consent.words(run.options.cut) }) end
end

--- The same for one that goes on from a checkpoint, whose log behind it is not read.
---@param run hocket.Run
function consent.again(run)
  local own = effects.here().policy
  if not (own and own.holds) then return end
  put(run.options, own.holds)
  run.for_clients, run.was_cut, run.heard_words = own.for_clients, own.was_cut, own.heard_words
end

return consent
