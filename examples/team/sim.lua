-- The scripted model of the team example: it plays the lead and the three members of the panel. They discuss for two rounds
-- and vote in the second.
local parts = {
  ["the analyst"] = { "Half of our users ask for it. Without it the mobile version is of little use to them.",
    "Logging in again after a week is fine with users." },
  ["the developer"] = { "Three weeks with the library that we have. Sessions that never end are the easy way.",
    "Sessions of a week are as easy. I would build that." },
  ["the security reviewer"] = { "Sessions that never end are not acceptable: a lost phone is an open door.",
    "With a week, and a list of devices that one can log out, no risk is left that I would not carry." },
}

local function round_of(request)
  local round
  for _, message in ipairs(request.messages) do round = message.text:match "This is round (%d+)" or round end
  return tonumber(round)
end

local function report(text)
  local lines, n = { "# Report of the panel", "" }, 0
  for name, said in text:gmatch "<message%-%w+ of=\"([^\"]*)\">\n(.-)\n</message%-" do
    lines[#lines + 1] = ("- %s: %s"):format(name, said)
    n = n + 1
  end
  lines[#lines + 1] = ("\nDecided: sessions of a week, with a list of devices. %d contributions."):format(n)
  return table.concat(lines, "\n")
end

return function(request)
  for part, says in pairs(parts) do
    if request.system:find("on a panel as " .. part, 1, true) then
      if request.last.role == "tool" then return { text = "(listening)" } end
      local round = round_of(request)
      local calls = { { name = "broadcast", arguments = { message = says[math.min(round, #says)] } } }
      if round >= 2 then calls[2] = { name = "vote_conclude", arguments = { reason = "My questions are answered." } } end
      return { calls = calls, latency = 0.1 }
    end
  end
  return { text = report(request.last.text) }
end
