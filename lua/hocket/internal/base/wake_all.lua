--- Wakes all fibers of a list, in its order, and empties it. Needs no memory: who is not woken waits for ever.
---@param waiting hocket.Fiber[]
return function(waiting)
  local n = #waiting
  for i = 1, n do waiting[i]:wake() end
  for i = n, 1, -1 do waiting[i] = nil end
end
