--- The words of workflows that go side by side and in rounds, for scripts of people (hocket.workflow) and of models (workflow_run.lua, in a process
--- without hocket). `flow` has map, all and any; `new_error` makes an error of a table.
return function(flow, new_error)
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

  local loop_fields = { max = "number", step = "function", done = "function" }

  function words.loop(spec)
    words.check_fields("loop", spec, loop_fields)
    if not (spec.step and spec.done) then error("'loop' needs the functions 'step' and 'done'", 2) end
    local most, value = spec.max or ROUNDS, nil
    for round = 1, most do
      local result, err = spec.step(round, value)
      value = result
      if value == nil then return nil, err or new_error { code = "agent", message = ("round %d of the loop returned nothing"):format(round) } end
      if spec.done(value, round) then return value, round end
    end
    return nil, new_error { code = "limit", message = ("the loop was not done after %d rounds (max)"):format(most), partial = value }
  end

  return words
end
