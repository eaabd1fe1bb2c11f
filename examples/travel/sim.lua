-- The scripted model of the travel example: it reads the request (destination, length of stay,
-- wishes) and answers as the facilitator and the three specialists would. It knows a little of a few
-- cities, and speaks in general terms of all others.
local cities = {
  lisbon = {
    name = "Lisbon", airport = "the metro's red line from the airport (25 minutes)", area = "Baixa or Chiado",
    transport = "a 24-hour Viva Viagem pass; tram 28 early, before the crowds",
    sights = { "Belém: the monastery's cloister and the tower", "Alfama on foot, up to the castle of São Jorge", "the Chiado and the ruined Carmo convent", "LX Factory and the riverside at Alcântara" },
    museums = { "the tile museum (Museu do Azulejo)", "the Gulbenkian collection" },
    outdoors = { "the oceanarium in the Parque das Nações", "the beach at Carcavelos by train", "the garden of Estrela" },
    food = { "pastéis de nata at a counter, warm", "grilled sardines in Alfama", "bacalhau à Brás in a tasca", "the market hall at Cais do Sodré" },
    evening = "a small fado house in Mouraria", view = "the Miradouro da Senhora do Monte at sunset",
  },
  porto = {
    name = "Porto", airport = "the metro's violet line from the airport (30 minutes)", area = "Cedofeita or near São Bento",
    transport = "an Andante pass; the Ribeira is best on foot, the hills by funicular",
    sights = { "the Ribeira and the Dom Luís bridge, on the upper deck", "São Bento station and its tiles", "the Clérigos tower and the streets around it", "the port lodges across the river in Gaia" },
    museums = { "the Serralves museum", "the photography centre in the old prison" },
    outdoors = { "the tram along the Douro to Foz and the beach there", "the gardens of the Crystal Palace with their peacocks", "a boat trip under the six bridges", "Sea Life and the City Park" },
    food = { "a francesinha, to be shared", "grilled fish in Matosinhos", "caldo verde and broa in a tasca", "the Bolhão market hall" },
    evening = "a walk along the lit Ribeira", view = "the Jardim do Morro at sunset",
  },
  rome = {
    name = "Rome", airport = "the train from Fiumicino (32 minutes)", area = "Monti or Trastevere",
    transport = "a 48-hour pass; the centre is best on foot",
    sights = { "the Colosseum and the Forum, booked ahead", "the Pantheon and Piazza Navona", "St Peter's early in the morning", "Trastevere and the Gianicolo" },
    museums = { "the Borghese gallery, booked ahead", "the Capitoline museums" },
    outdoors = { "bicycles on the Via Appia", "the Villa Borghese with its boats", "the orange garden on the Aventine" },
    food = { "cacio e pepe in a trattoria", "pizza al taglio at noon", "supplì and a market lunch in Testaccio", "gelato without bright colours" },
    evening = "the squares when the crowds are gone", view = "the Pincio terrace at sunset",
  },
}

local function general(name)
  return {
    name = name, airport = "public transport from the airport or station", area = "a quiet street near the centre",
    transport = "a pass for the whole stay; the centre on foot",
    sights = { "the old town on foot", "the main square and what stands around it", "the best-known landmark, early", "a quarter where people live" },
    museums = { "the city museum", "the art collection" },
    outdoors = { "the largest park", "the waterfront or a hill nearby", "the botanical garden" },
    food = { "breakfast at a bakery", "lunch at the market", "the local dish in a plain place", "something sweet in the afternoon" },
    evening = "a walk through the lit centre", view = "the best view at sunset",
  }
end

-- ---- Reading the request ---------------------------------------------------------------

local numbers = { one = 1, a = 1, two = 2, three = 3, four = 4, five = 5, six = 6, seven = 7, eight = 8, ten = 10 }

local function days_of(text)
  local lower = text:lower()
  local days
  for word in lower:gmatch "(%w+)[%s-]+days?" do
    days = days or math.tointeger(tonumber(word)) or numbers[word]
  end
  if not days and lower:find "weekend" then days = 2 end
  if not days and lower:find "week" then days = 7 end
  return math.max(1, math.min(days or 3, 14))
end

local function city_of(text)
  for key, city in pairs(cities) do
    if text:lower():find(key, 1, true) then return city end
  end
  local name = text:match "%f[%w][iI]n%s+(%u[%w'-]*%s?%u?[%w'-]*)" or text:match "%f[%w][tT]o%s+(%u[%w'-]*)"
  return general(name and name:gsub("%s+$", "") or "your destination")
end

local function wishes_of(text)
  local lower = text:lower()
  return {
    children = lower:find "child" ~= nil or lower:find "kids" ~= nil or lower:find "family" ~= nil,
    no_museums = lower:find "no museum" ~= nil or lower:find "without museum" ~= nil,
    vegetarian = lower:find "vegetarian" ~= nil or lower:find "vegan" ~= nil,
    cheap = lower:find "cheap" ~= nil or lower:find "budget" ~= nil,
    slow = lower:find "slow" ~= nil or lower:find "relax" ~= nil,
  }
end

local function wish_words(wishes)
  local words = {}
  if wishes.children then words[#words + 1] = "with children" end
  if wishes.no_museums then words[#words + 1] = "no museums" end
  if wishes.vegetarian then words[#words + 1] = "vegetarian" end
  if wishes.cheap then words[#words + 1] = "on a budget" end
  if wishes.slow then words[#words + 1] = "at a slow pace" end
  return #words > 0 and ", " .. table.concat(words, ", ") or ""
end

-- The tasks carry the wishes to the specialists, who see nothing else of the request.
local function plan(request)
  local city, days, words = city_of(request), days_of(request), wish_words(wishes_of(request))
  local where = ("%d day%s in %s%s"):format(days, days == 1 and "" or "s", city.name, words)
  return {
    { text = "Arrival, where to stay and getting around: " .. where, assigned_to = "logistics", active_form = "Working out arrival and transport" },
    { text = "What to book ahead, and what each day costs: " .. where, assigned_to = "logistics", active_form = "Looking at tickets and costs" },
    { text = "Lunch and dinner for each day: " .. where, assigned_to = "food", active_form = "Choosing lunch and dinner" },
    { text = "A breakfast place and something sweet: " .. where, assigned_to = "food", active_form = "Finding breakfast" },
    { text = "What to see in the morning and afternoon of each day: " .. where, assigned_to = "sightseeing", active_form = "Choosing sights" },
    { text = "One special evening: " .. where, assigned_to = "sightseeing", active_form = "Choosing an evening" },
  }
end

-- ---- Writing ----------------------------------------------------------------------------

local function at(list, i)
  return list[(i - 1) % #list + 1]
end

local write = {}

function write.logistics(city, days, wishes)
  local sections = {
    { slot = { day = 0, time_slot = "general" }, content = ("Arrive by %s. Stay in %s. Get around with %s."):format(city.airport, city.area, city.transport) },
    { slot = { day = 0, time_slot = "general" }, content = wishes.cheap and "Plan about 60 € a day for each person, with picnics less." or "Plan about 110 € a day for each person; book timed tickets a week ahead." },
    { slot = { day = 1, time_slot = "morning" }, content = wishes.children and "Leave the bags where you stay; take a pushchair with large wheels, the streets are cobbled." or "Leave the bags where you stay before you set out." },
  }
  if days > 1 then
    sections[#sections + 1] = { slot = { day = days, time_slot = "evening" }, content = "Collect the bags and leave with an hour to spare." }
  end
  return sections
end

function write.food(city, days, wishes)
  local sections = {}
  local note = wishes.vegetarian and " (ask for the vegetarian dishes)" or wishes.children and " (early, and half portions)" or ""
  for day = 1, days do
    sections[#sections + 1] = { slot = { day = day, time_slot = "morning" }, content = ("Lunch at noon: %s."):format(at(city.food, day * 2 - 1)) }
    sections[#sections + 1] = { slot = { day = day, time_slot = "evening" }, content = ("Dinner: %s%s."):format(at(city.food, day * 2), note) }
  end
  return sections
end

function write.sightseeing(city, days, wishes)
  local sections = {}
  local afternoons = (wishes.children or wishes.no_museums) and city.outdoors or city.museums
  for day = 1, days do
    sections[#sections + 1] = { slot = { day = day, time_slot = "morning" }, content = ("See %s."):format(at(city.sights, day)) }
    sections[#sections + 1] = { slot = { day = day, time_slot = "afternoon" }, content = wishes.slow and "An afternoon without a plan." or ("Go to %s."):format(at(afternoons, day)) }
  end
  sections[#sections + 1] = { slot = { day = 1, time_slot = "evening" }, content = ("Watch the city from %s, then %s."):format(city.view, city.evening) }
  return sections
end

return require "hocket.sim.team" {
  latency = 0.15, pause = 0.01,
  plan = plan,
  opening = function(request)
    return ("I will plan %d days in %s with the team."):format(days_of(request), city_of(request).name)
  end,
  write = function(agent, tasks)
    local text = tasks[1].text
    return (write[agent] or write.logistics)(city_of(text), days_of(text), wishes_of(text))
  end,
  summary = function(tasks)
    local ids = {}
    for i, task in ipairs(tasks) do ids[i] = task.id end
    return ("Tasks %s are done; it is all in the document."):format(table.concat(ids, " and "))
  end,
  merge = function(_, entries)
    local texts = {}
    for i, entry in ipairs(entries) do texts[i] = entry.text end
    return table.concat(texts, " ")
  end,
  answer = function(document, request)
    return ("# %d days in %s\n\n%s"):format(days_of(request), city_of(request).name, document)
  end,
}
