--- What is put into the store for a run that a worker begins (`hocket work`), now or at its time: its row and the files that it
--- needs. Nothing of it is done here; what is wrong with its target, and whether its Lua may run, is said here.
local bundle = require "hocket.internal.pool.bundle"
local consent = require "hocket.internal.run.consent"
local edition = require "hocket.internal.base.edition"
local models = require "hocket.internal.base.lazy" "hocket.model"
local provider_file = require "hocket.internal.base.lazy" "hocket.internal.runner.provider_file"
local provider_place = require "hocket.internal.runner.provider_place"
local rule_check = require "hocket.internal.session.rule_check"
local plain_name = require "hocket.internal.base.lazy" "hocket.internal.base.plain_name"
local retry = require "hocket.internal.pool.retry"
local runs = require "hocket.internal.base.lazy" "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"
local trust = require "hocket.internal.runner.trust"
local failure = system.failure

--- Whose workers take a run that says nothing else.
local POOL = "default"
--- Bytes of an input.
local MAX_INPUT = 16 << 20

-- Options of a run that mean the process that does it, or a file of its machine.
local only_here = { record = true, replay = true, workdir = true, mod = true, keep = true, conversation = true }

local function check(args)
  runs.check_options(args.options or {})
  if not utf8.len(args.target) or args.target:find "\0" then return failure("invalid", "the target is not valid UTF-8, or has a NUL in it") end
  if not utf8.len(args.input or "") then return failure("invalid", "the input is not valid UTF-8") end
  if #(args.input or "") > MAX_INPUT then return failure("limit", "the input is larger than %d MiB", MAX_INPUT >> 20) end
  for name in pairs(args.options or {}) do
    if only_here[name] then return failure("unsupported", "the option '%s' is not for a run that a worker does", name) end
  end
  local project = args.project or (args.options or {}).project
  local wrong = project ~= nil and plain_name.wrong(project, "project") or plain_name.wrong(args.pool or POOL, "pool")
  if wrong then return failure("invalid", "%s", wrong) end
  return true
end

local submission = {}

--- Whether runs of a target may run its Lua and ask its providers, where nobody is asked: said before the first of them begins.
---@param target {kind: string, dir: string, path: string, agent?: hocket.Agent}
---@param options table Of the runs.
---@param here? boolean They begin in this process, where a scripted model may stand in.
---@return table? admitted As of trust.admit.
---@return hocket.Error?
function submission.admit(target, options, here)
  local run = { options = options }
  local admitted, err = trust.admit(run, target, false, here and trust.stands_in(run, target))
  local path = admitted and target.dir and provider_place(target.dir)
  local ok = admitted
  if path then ok, err = provider_file.load(run, target, path) end
  return ok and admitted, err
end

-- With the providers that its folder brings.
local function check_model(id)
  if id == nil then return true end
  local ok, err = false, nil
  if type(id) == "string" then ok, err = models.is_known(id) end
  if ok then return true end
  if err then return nil, err end
  return failure("invalid", "there is no model '%s'", tostring(id))
end

-- As the run begins with them: nobody is there for it, and what it asks waits in the store.
local function options_of(args, cwd)
  local options = {}
  for name, value in pairs(args.options or {}) do options[name] = value end
  options.interactive, options.simulate, options.deltas = nil, nil, nil
  options.park, options.unattended, options.cwd, options.edition = true, true, cwd, edition.NOW
  return options
end

---@class hocket.Submission
---@field target string As `hocket run` takes it.
---@field input? string
---@field options? table As `hocket run` has them.
---@field pool? string
---@field due_ms? integer Not before.
---@field id? string
---@field caller? string Id of the run that asks for it.
---@field project? string
---@field waits? boolean A store that is away is awaited.

--- As core.store.submit takes it.
---@async
---@param args hocket.Submission
---@return table?
---@return hocket.Error?
function submission.prepare(args)
  require "hocket.internal.runner.builtins"
  local ok, err = check(args)
  if not ok then return nil, err end
  local target
  target, err = targets.find(args.target, nil, args.options)
  if not target then return nil, err end
  local options = args.options or {}
  local wrong = rule_check.early(options, { args.target })
  if wrong then return nil, wrong end
  local admitted
  admitted, err = submission.admit(target, options)
  if not admitted then return nil, err end
  ok, err = check_model(options.model)
  if not ok then return nil, err end
  local files
  files, err = bundle.of(target.path, admitted, options.files)
  if not files then return nil, err end
  local made, id = options_of(args, files.cwd), args.id or system.run_id()
  made.project = args.project or made.project
  return { id = id, target = args.target, input = args.input, options = consent.marked(id, args.target, args.input, made),
    pool = args.pool or POOL, due_ms = args.due_ms, caller = args.caller, project = made.project, files = files.files, files_of = files.generation }
end

-- Who has no log that knows of it tries no more where the store is away: it may be there.
local function put(made, waits)
  if not waits then return store.submit(made) end
  return retry(store.submit, made)
end

--- Puts it into the store, to be begun by a worker.
---@async
---@param args hocket.Submission
---@return {id: string, text: string, pool: string}?
---@return hocket.Error?
function submission.submit(args)
  local made, err = submission.prepare(args)
  local id
  if made then id, err = put(made, args.waits) end
  if not id then return nil, err end
  return { id = id, text = id, pool = made.pool }
end

return submission
