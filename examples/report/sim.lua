-- The scripted model of the report example: it takes the topic and the wishes from the request, and
-- answers as the editor and the three specialists would. It knows a little of two topics, and speaks
-- in general terms of all others.
local topics = {
  {
    words = { "heat pump" },
    background = "Heat pumps are refrigerators turned round: they move heat from outside into the house. The principle is from the nineteenth century; what is new is that they work well in frost.",
    findings = {
      "One unit of electricity moves three to four units of heat over a year. What decides is the temperature of the heating water: below 55 °C an old house can be heated too, often with a few larger radiators.",
      "Insulating the roof and the cellar's ceiling first makes the machine smaller and the bill lower.",
    },
    limit = "The yearly figure is an average: on the coldest days it falls to two or less, which is when most heat is needed.",
    risks = {
      "A machine that is too large switches on and off all day, and wears out early.",
      "The price depends on electricity: where it costs more than four times as much as gas, the running costs are no lower.",
    },
    care = "Heating is the largest part of most homes' energy, and the next boiler will stay for twenty years.",
    remember = "Measure the heating water first, insulate what is cheap to insulate, then choose a small machine.",
  },
  {
    words = { "bike", "bicycle", "cycling" },
    background = "Cities gave their streets to cars in the decades after the war; some began to take a part of them back in the seventies, after protests over accidents.",
    findings = {
      "People ride where they feel safe: lanes with a kerb or a row of posts bring new riders, painted lines hardly any.",
      "A lane moves several times as many people an hour as the same width of road with cars.",
    },
    limit = "Most studies count riders before and after on one street, and cannot tell new riders from those who came from the next street.",
    risks = {
      "A network with gaps is used by those who rode anyway.",
      "Shops fear for parking spaces; plans that ignore it are undone after the next election.",
    },
    care = "Half of the trips in a city are shorter than five kilometres.",
    remember = "Separate the lanes, close the gaps, and count before and after.",
  },
}

local function general(topic)
  return {
    background = ("How %s came to be what it is: who began it, what was tried before, what changed."):format(topic),
    findings = { ("What is agreed on about %s, with the figures that carry it."):format(topic), ("What practice has shown about %s where it was tried longest."):format(topic) },
    limit = ("Much of what is said about %s rests on few sources."):format(topic),
    risks = { ("What can go wrong with %s, and who would pay for it."):format(topic), "What is not known yet, and how one could find out." },
    care = ("There are decisions to be made on %s, and they are hard to take back."):format(topic),
    remember = ("Begin small with %s, measure, and decide again after a year."):format(topic),
  }
end

-- ---- Reading the request ---------------------------------------------------------------

-- "A short report on heat pumps, for beginners." -> "heat pumps"
local function topic_of(text)
  local topic = text:match "%f[%w][oO]n%s+(.+)" or text:match "%f[%w][aA]bout%s+(.+)" or text
  topic = topic:gsub("[,;.].*$", ""):gsub("%s+for%s+[%w%s]+$", ""):gsub("%s+$", "")
  return topic ~= "" and topic or "the topic"
end

local function known(topic)
  for _, one in ipairs(topics) do
    for _, word in ipairs(one.words) do
      if topic:lower():find(word, 1, true) then return one end
    end
  end
  return general(topic)
end

local function readers_of(text)
  return text:match "%f[%w]for%s+([%w%s]-)%s*[.,;]?%s*$"
end

-- The tasks carry topic and readers to the specialists, who see nothing else of the request.
local function plan(request)
  local readers = readers_of(request)
  local about = topic_of(request) .. (readers and "; readers: " .. readers or "")
  return {
    { text = "How it came to be: " .. about, assigned_to = "researcher", active_form = "Looking into the history" },
    { text = "What is known today, with figures: " .. about, assigned_to = "researcher", active_form = "Gathering findings" },
    { text = "Limits of the evidence, and risks: " .. about, assigned_to = "critic", active_form = "Looking for weak points" },
    { text = "An opening and a close: " .. about, assigned_to = "writer", active_form = "Writing the opening" },
  }
end

-- ---- Writing ----------------------------------------------------------------------------

local function entry(section, content)
  return { slot = { section = section }, content = content }
end

local write = {}

function write.researcher(facts)
  local sections = { entry("background", facts.background) }
  for _, finding in ipairs(facts.findings) do sections[#sections + 1] = entry("findings", finding) end
  return sections
end

function write.critic(facts)
  local sections = { entry("findings", facts.limit) }
  for _, risk in ipairs(facts.risks) do sections[#sections + 1] = entry("risks", risk) end
  return sections
end

function write.writer(facts, topic, readers)
  return {
    entry("intro", ("This is a short report on %s%s. %s"):format(topic, readers and ", for " .. readers or "", facts.care)),
    entry("summary", facts.remember),
  }
end

return require "hocket.sim.team" {
  latency = 0.15, pause = 0.01,
  plan = plan,
  opening = function(request) return ("I will have a report on %s written."):format(topic_of(request)) end,
  write = function(agent, tasks)
    local about = tasks[1].text:match ": (.*)$"
    local topic, readers = about:match "^(.-); readers: (.*)$"
    topic = topic or about
    return (write[agent] or write.researcher)(known(topic), topic, readers)
  end,
  summary = function(tasks)
    return ("My %s on the board: done, and written into the document."):format(#tasks == 1 and "task" or "tasks")
  end,
  -- Claims first, doubts after them.
  merge = function(_, entries)
    local first, last = {}, {}
    for _, one in ipairs(entries) do
      local list = one.agent == "critic" and last or first
      list[#list + 1] = one.text
    end
    table.move(last, 1, #last, #first + 1, first)
    return table.concat(first, " ")
  end,
  answer = function(document, request)
    return ("# On %s\n\n%s"):format(topic_of(request), document)
  end,
}
