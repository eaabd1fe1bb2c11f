-- The scripted model of the advisors example: it plays the manager and the three who look at a request first. A
-- request with the word "outage" makes the technical reviewer fail.
local views = {
  ["which laws and house rules"] = "Customers' names leave the country by this. That is allowed with a contract on the processing of data; there is none yet.",
  ["what can go wrong"] = "The provider can raise its price after a year, and moving away again would take months. Likely enough to plan for it.",
  ["whether it can be done"] = "It can be done: the export exists. Two weeks of work, one more to test it.",
}

local function advice(text)
  local list = {}
  for name, said in text:gmatch "<advice%-%w+ of=\"([^\"]*)\">\n(.-)\n</advice%-" do list[#list + 1] = { name = name, said = said } end
  return list
end

return function(request)
  local text = request.last.text
  for part, view in pairs(views) do
    if request.system:find(part, 1, true) then
      if part == "whether it can be done" and text:find("outage", 1, true) then return { status = 400, error = "no answer during an outage" } end
      return { text = view, latency = 0.2 }
    end
  end
  local lines = { "Decision: yes, under one condition.", "", "Reasons:" }
  for _, one in ipairs(advice(text)) do lines[#lines + 1] = ("- %s (%s)"):format(one.said:match "^[^%.]*%.", one.name) end
  for name in text:gmatch "### From ([%w-]+)\n\n%(No analysis" do lines[#lines + 1] = ("- %s has not answered; its part is open."):format(name) end
  return { text = table.concat(lines, "\n") .. "\n\nCondition: the contract on the processing of data is signed first." }
end
