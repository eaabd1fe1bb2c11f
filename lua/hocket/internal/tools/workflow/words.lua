--- The words of workflows that go side by side and in rounds, for scripts of people (hocket.workflow) and of models (workflow/run.lua, in a process
--- without hocket). `flow` has map, all and any; `new_error` makes an error of a table; `check(goal, value)` says whether a goal holds, or what is missing.
return function(flow, new_error, check)
  local words = {}

  --- Agents of a workflow that work at once where it does not say otherwise; rounds of a loop.
  local AT_ONCE, ROUNDS = 64, 10

  -- Raises where a table has a field that nobody knows, or one of another type: two levels up.
  function words.check_fields(what, given, known)
    if type(given) ~= "table" then error(("bad argument #1 to '%s' (a table expected, got %s)"):format(what, type(given)), 3) end
    for name, value in pairs(given) do
      local kinds = known[name]
      if not kinds then error(("unknown field '%s' of '%s'"):format(tostring(name), what), 3) end
      if not kinds:find(type(value), 1, true) then error(("bad field '%s' of '%s' (%s expected, got %s)"):format(tostring(name), what, kinds, type(value)), 3) end
    end
  end

  local function limit_of(opts)
    return { limit = opts and opts.limit or AT_ONCE }
  end

  -- Raises where a list is none, or longer than declared; returns one whose length stays.
  local function check_list(what, list, opts)
    if type(list) ~= "table" then error(("bad argument #1 to '%s' (a list expected, got %s)"):format(what, type(list)), 3) end
    local most = opts and opts.max
    if most ~= nil and math.type(most) ~= "integer" then error(("bad option 'max' of '%s' (a whole number expected, got %s)"):format(what, tostring(most)), 3) end
    if getmetatable(list) then list = table.move(list, 1, #list, 1, {}) end -- the length of another one may differ at each look
    if most and #list > most then error({ code = "limit", message = ("%s of %d items: at most %d were declared (max)"):format(what, #list, most) }, 0) end
    return list
  end

  function words.map(list, fn, opts)
    return flow.map(check_list("map", list, opts), fn, limit_of(opts))
  end

  function words.parallel(list, opts)
    return flow.all(list, limit_of(opts))
  end

  function words.pipeline(list, stages, opts)
    if type(stages) ~= "table" then error(("bad argument #2 to 'pipeline' (a list of functions expected, got %s)"):format(type(stages)), 2) end
    return flow.map(check_list("pipeline", list, opts), function(item, i)
      local value = item
      for _, stage in ipairs(stages) do
        local next_one, err = stage(value, i)
        if next_one == nil then return nil, err end
        value = next_one
      end
      return value
    end, limit_of(opts))
  end

  function words.race(list)
    return flow.any(list)
  end

  local loop_fields = { max = "number", same = "number", step = "function", done = "function", goal = "string table" }
  --- Equal results of a goal in a row after which a loop ends.
  local SAME = 3

  function words.loop(spec)
    words.check_fields("loop", spec, loop_fields)
    if not spec.step or (spec.done == nil) == (spec.goal == nil) then error("'loop' needs the function 'step', and 'done' or 'goal'", 2) end
    local most, value, why, equal = spec.max or ROUNDS, nil, nil, 0
    for round = 1, most do
      local result, err = spec.step(round, value, why)
      value = result
      if value == nil then return nil, err or new_error { code = "agent", message = ("round %d of the loop returned nothing"):format(round) } end
      if spec.done and spec.done(value, round) then return value, round end
      if spec.goal then
        local holds, missing = check(spec.goal, value)
        if holds then return value, round end
        if holds == nil then return nil, missing end
        equal = missing == why and equal + 1 or 1
        why = missing
        if equal >= (spec.same or SAME) then
          return nil, new_error { code = "state", message = ("the goal of the loop failed %d times with the same result: %s"):format(equal, why), partial = value }
        end
      end
    end
    return nil, new_error { code = "limit", message = ("the loop was not done after %d rounds (max)%s"):format(most, why and ": " .. why or ""), partial = value }
  end

  return words
end
