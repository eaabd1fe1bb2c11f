--- What counts of runs say: how far a rate can be trusted, and whether fewer pass than before. Pure.
local stats = {}

--- Of the normal distribution, for 95 %.
local Z = 1.959963984540054

--- The 95 % interval of a rate, after Wilson: sensible also where none or all passed, and where there are few.
---@param passed integer
---@param n integer
---@return number low 0 where nothing is known
---@return number high 1 where nothing is known
function stats.wilson(passed, n)
  if n == 0 then return 0.0, 1.0 end
  local p, z2 = passed / n, Z * Z
  local middle, spread = p + z2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
  local scale = 1 + z2 / n
  local low, high = (middle - spread) / scale, (middle + spread) / scale
  return passed == 0 and 0.0 or low, passed == n and 1.0 or high
end

local log_factorials = { [0] = 0.0 }

local function log_factorial(n)
  for i = #log_factorials + 1, n do log_factorials[i] = log_factorials[i - 1] + math.log(i) end
  return log_factorials[n]
end

local function log_choose(n, k)
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k)
end

--- Fisher's exact test, one-sided: how likely it is that so few pass now, or fewer, were both the same.
---@param passed_before integer
---@param n_before integer
---@param passed_now integer
---@param n_now integer
---@return number p
function stats.fisher(passed_before, n_before, passed_now, n_now)
  local passed, n = passed_before + passed_now, n_before + n_now
  local all, sum = log_choose(n, n_now), 0.0
  for k = math.max(0, passed - n_before), passed_now do
    sum = sum + math.exp(log_choose(passed, k) + log_choose(n - passed, n_now - k) - all)
  end
  return math.min(1.0, sum)
end

---@param list number[] Is sorted by it.
---@return number? median nil of nothing
function stats.median(list)
  local n = #list
  if n == 0 then return nil end
  table.sort(list)
  return (list[(n + 1) // 2] + list[n // 2 + 1]) / 2
end

---@param list number[]
---@return number? mean nil of nothing
function stats.mean(list)
  if #list == 0 then return nil end
  local sum = 0.0
  for _, value in ipairs(list) do sum = sum + value end
  return sum / #list
end

return stats
