--- Who says something to a run: every message that waits for one in the store is put there by this module, and names its origin.
---
---     from = "person"   this user, on the command line of this machine, with a proof (proof.lua)
---     from = "run"      another run, unless it was cut and does what clients tell it
---     from = "client"   a client of the process of this key: of a run that this process has for its clients
---     from = "host"     the program that has the run (src/host/run/inbox.c)
---     from = "record"   whoever the run was exported by, before that: it came with the rest of the record (src/store/export.c)
---     none              everybody else: clients of `hocket serve`, another user or machine, an older hocket
---
--- No door for clients lets them write a message as it stands: they give a text, and `put` makes the message.
local proof = require "hocket.internal.run.proof"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local origin = {}

local others = { run = true, host = true, record = true }

-- Of this process, made when it is used first.
local own_key

-- What a proof of a message is made for, in the place of a run's id.
local MESSAGE = "message"

local function with(said, from)
  return ('%s,"from":"%s"}'):format(said:sub(1, -2), from)
end

local function of_client(said)
  own_key = own_key or system.token(32)
  return ('%s,"key":"%s"}'):format(with(said, "client"):sub(1, -2), own_key)
end

-- Proven where that can be done: elsewhere it is from anybody.
local function of_person(to, said)
  return proof.mark(MESSAGE, to, nil, with(said, "person"))
end

--- Puts a message for a run into the store.
---@async
---@param to string The run's id.
---@param id string Of the message.
---@param said string One JSON object that is not empty, without a member `from`.
---@param from? "person"|"client"|hocket.Run client: of this process. nil: anybody.
---@return boolean? ok
---@return hocket.Error?
function origin.put(to, id, said, from)
  if from == "person" then
    said = of_person(to, said)
  elseif from == "client" then
    said = of_client(said)
  elseif from and not (from.was_cut and from.for_clients) then
    said = with(said, "run")
  end
  return store.message(to, { id = id, json = said })
end

--- Whose message it is, by the arguments of the operations `say`, `answer` and `signal`.
---@param args {consent?: boolean, client?: boolean} consent: the user of this machine says it, on the command line; client: a client of this process.
---@return "person"|"client"|nil
function origin.of(args)
  return args.consent == true and "person" or args.client == true and "client" or nil
end

--- Whether whoever has allowed a run what it does has said this as well.
---@param run hocket.Run
---@param message string As it stands in the store.
---@param said table The same, decoded.
---@return boolean
function origin.is_trusted(run, message, said)
  if said.from == "person" then return proof.is_ours { id = MESSAGE, target = run.id, options = message } end
  if said.from == "client" then return run.for_clients and own_key ~= nil and said.key == own_key end
  return others[said.from] ~= nil
end

return origin
