---@meta hocket.internal.core.fiber

--- The primitives under `hocket.flow`. A fiber is a coroutine that hocket resumes; whatever waits can only be
--- called in one. Scripts should use `hocket.flow`.
local fiber = {}

---@class hocket.Fiber
local Fiber = {}

--- Starts a child of the running fiber.
---@param fn function
---@return hocket.Fiber
function fiber.spawn(fn, ...) end

--- Starts a fiber without a parent.
---@param fn function
---@return hocket.Fiber
function fiber.detach(fn, ...) end

--- Starts a child of another fiber.
---@param parent hocket.Fiber
---@param fn function
---@return hocket.Fiber
function fiber.spawn_under(parent, fn, ...) end

--- Starts a child that a cancel of the running fiber does not reach. See `flow.shield`.
---@param fn function
---@return hocket.Fiber
function fiber.shelter(fn, ...) end

--- Waits for a wake.
---@async
---@param seconds? number
---@return boolean woken
function fiber.park(seconds) end

--- Makes the running fiber, and everything that it starts from now on, a run with a clock of its own for its time limits.
function fiber.begin_work() end

--- What the running fiber, and everything that it starts, waits for from now on. See hocket.internal.base.idle_wait.
---@param kind? "work"|"run"|"people"
---@return "work"|"run"|"people" before
function fiber.away(kind) end

--- Seconds on the clock of the run's work, as it goes on: a replay does not see the same.
---@return number
function fiber.work() end

--- Seconds for which that clock has stood still so far.
---@return number
function fiber.still() end

--- The program may break into code of the whole run that works for longer than that from now on; nil: it may not.
---@param seconds? number
function fiber.limit_run(seconds) end

--- Code of the running fiber, and of the ones that it spawns from now on, raises `timeout` where it works for longer than that, waits included.
---@param seconds number
---@internal
function fiber.limit_code(seconds) end

--- The same until a time of day, whoever turns the clock.
---@async
---@param time number In seconds since 1970.
---@return boolean woken
function fiber.park_until(time) end

--- The same for what only the program brings that hocket is part of (an answer, an input): a run that waits for it has
--- something under way.
---@async
---@param seconds? number
---@return boolean woken
function fiber.park_for_program(seconds) end

--- Waits.
---@async
---@param seconds number
function fiber.sleep(seconds) end

--- Waits until a time of day.
---@async
---@param time number Seconds since 1970.
function fiber.sleep_until(time) end

--- Lets everything else go on when this turn has taken a millisecond, or what the pump has left: for loops over many things.
--- Returns at once otherwise, and where nobody can wait.
---@async
function fiber.rest() end

--- How often fibers of this host have gone on: the same number as long as none has waited.
---@return integer
function fiber.steps() end

--- See `flow.on_begin`.
---@param fn? function
function fiber.on_begin(fn) end

--- The running fiber, or nil outside of any.
---@return hocket.Fiber?
function fiber.self() end

--- Whether the running fiber was asked to end.
---@return boolean
function fiber.cancelled() end

--- The fibers that end before the running one.
---@return hocket.Fiber[]
function fiber.children() end

--- A value that children inherit.
---@return any
function fiber.context() end

--- The context's `within`, where it is a table: the run that a fiber belongs to.
---@return table?
---@internal
function fiber.within() end

--- Sets it for the running fiber.
---@param value any
function fiber.set_context(value) end

--- Seconds on a clock that never goes back.
---@return number
function fiber.now() end

--- Seconds on the machine's clock, also in a run that is kept: never for what decides how it goes on.
---@return number
function fiber.real_now() end

--- Whether now() has come to a time: for code that asks very often.
---@param time number
---@return boolean
function fiber.has_come(time) end

--- For programs whose main chunk is no fiber: turns the loop until `fn` has ended.
---@param fn function
---@return any ...
function fiber.run(fn, ...) end

--- Wakes it when it waits; a hint, so whoever is woken looks again.
function Fiber:wake() end

--- Ends it and its children; true when it was still running.
---@return boolean
function Fiber:cancel() end

--- The value that it hands down to its children.
---@return any
function Fiber:context() end

--- Waits for the end of a child, also when the running fiber is cancelled.
---@async
---@param seconds? number
---@return boolean ended
function Fiber:outlast(seconds) end

--- Says that its parent waits for its end, whatever else there is: so a wait of it holds the parent up.
function Fiber:hold_up() end

--- Makes it a service, with everything that it starts from now on: that it waits for its clients is no reason to say that a run
--- goes on.
function Fiber:serve() end

--- Says that it does nothing of its own, but for others: that it waits for them is as it should be.
function Fiber:help() end

--- "ready", "running", "waiting", "closing" or "done".
---@return string
function Fiber:status() end

--- Whether it was asked to end.
---@return boolean
function Fiber:cancelled() end

--- The running fiber is woken when this one is done.
function Fiber:watch() end

--- Takes `watch` back.
function Fiber:unwatch() end

--- `true` and its values, or `false` and its error; nothing while it runs.
---@return boolean? ok
---@return any ...
function Fiber:result() end

--- Waits for its end, and raises nothing of what it raised.
---@async
---@param seconds? number
---@return boolean ended
function Fiber:join(seconds) end

--- Waits for its results; raises what it raised.
---@async
---@param seconds? number
---@return any ... Its results, or `nil, error` when the time is over.
function Fiber:wait(seconds) end

--- Starts a fiber without a parent, which is no part of a run that is kept: for what serves several.
---@param fn function
---@param ... any
---@return hocket.Fiber
---@internal
function fiber.outside(fn, ...) end

return fiber
