-- Never ends by itself, and catches what it can; `mod` bounds it.
local n = 0
while true do
  pcall(function()
    while true do n = n + 1 end
  end)
end
