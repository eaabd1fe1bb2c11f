-- The scripted model of the travel example: it reads the request (destination, length of stay,
-- wishes) and answers as the facilitator and the three specialists would. It knows a little of a few
-- cities, and speaks in general terms of all others.
local cities = {
  {
    name = "Lisbon", also = { "lisboa", "lissabon", "lisbonne" }, airport = "the metro's red line from the airport (25 minutes)", area = "Baixa or Chiado",
    transport = "a 24-hour Viva Viagem pass; tram 28 early, before the crowds",
    sights = { "Belém: the monastery's cloister and the tower", "Alfama on foot, up to the castle of São Jorge", "the Chiado and the ruined Carmo convent", "LX Factory and the riverside at Alcântara" },
    museums = { "the tile museum (Museu do Azulejo)", "the Gulbenkian collection" },
    outdoors = { "the oceanarium in the Parque das Nações", "the beach at Carcavelos by train", "the garden of Estrela" },
    food = { "pastéis de nata at a counter, warm", "grilled sardines in Alfama", "bacalhau à Brás in a tasca", "the market hall at Cais do Sodré" },
    evening = "a small fado house in Mouraria", view = "the Miradouro da Senhora do Monte at sunset",
  },
  {
    name = "Porto", also = { "oporto" }, airport = "the metro's violet line from the airport (30 minutes)", area = "Cedofeita or near São Bento",
    transport = "an Andante pass; the Ribeira is best on foot, the hills by funicular",
    sights = { "the Ribeira and the Dom Luís bridge, on the upper deck", "São Bento station and its tiles", "the Clérigos tower and the streets around it", "the port lodges across the river in Gaia" },
    museums = { "the Serralves museum", "the photography centre in the old prison" },
    outdoors = { "the tram along the Douro to Foz and the beach there", "the gardens of the Crystal Palace with their peacocks", "a boat trip under the six bridges", "Sea Life and the City Park" },
    food = { "a francesinha, to be shared", "grilled fish in Matosinhos", "caldo verde and broa in a tasca", "the Bolhão market hall" },
    evening = "a walk along the lit Ribeira", view = "the Jardim do Morro at sunset",
  },
  {
    name = "Rome", also = { "roma", "rom" }, airport = "the train from Fiumicino (32 minutes)", area = "Monti or Trastevere",
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

local numbers = {
  a = 1, one = 1, two = 2, three = 3, four = 4, five = 5, six = 6, seven = 7, eight = 8, nine = 9, ten = 10,
  eleven = 11, twelve = 12, thirteen = 13, fourteen = 14,
}
local most_days = 14

-- The number that stands before a word: "three days", "10-day", "two weeks".
local function number_before(lower, what)
  for word in lower:gmatch("%f[%w](%w+)[%s-]+" .. what .. "s?%f[%W]") do
    local number = numbers[word] or tonumber(word)
    if number then return math.floor(math.max(1, math.min(number, most_days + 1))) end
  end
end

-- The length of the stay, and whether more was asked for than is planned.
local function days_of(text)
  local lower = text:lower()
  local weeks = number_before(lower, "week")
  local days = number_before(lower, "day") or weeks and weeks * 7
    or lower:find "weekend" and (lower:find "long weekend" and 3 or 2) or 3
  return math.min(days, most_days), days > most_days
end

local function stay(days)
  return ("%d day%s"):format(days, days == 1 and "" or "s")
end

-- Letters of other alphabets are bytes from 128 on.
local capital, letter = "^[%u\128-\255]", "^[%a\128-\255][%w\128-\255'-]*$"
local joins = { de = true, da = true, ["do"] = true, del = true, la = true, of = true, am = true, an = true }
local ends = { with = true, without = true, ["for"] = true, ["and"] = true, on = true, by = true, ["in"] = true, a = true, the = true, my = true, this = true, next = true }

-- The words that a name begins with: "São Paulo with children" -> "São Paulo".
local function name_from(rest, goes_on)
  local words = {}
  for word in rest:gmatch "%S+" do
    local bare = word:gsub("[,.;:!?]+$", "")
    if #words == 4 or #bare > 40 or not bare:find(letter) or not goes_on(bare) then break end
    words[#words + 1] = bare
    if bare ~= word then break end
  end
  while joins[words[#words]] do words[#words] = nil end
  return words[1] and table.concat(words, " ")
end

local function is_name(word) return word:find(capital) or joins[word] end
local function is_no_end(word) return not ends[word:lower()] end

-- What stands behind a pattern that ends in a position capture, as a name.
local function name_behind(text, pattern, begins, goes_on)
  for from in text:gmatch(pattern) do
    local rest = text:sub(from, from + 200)
    local name = rest:find(begins) and name_from(rest, goes_on)
    if name then return name end
  end
end

local function place_of(text)
  local name = name_behind(text, "%f[%w][IiTt][no]%s+()", capital, is_name)
  if name then return name end
  local first = text:match "^(.-)%s+for%s" -- "Paris for three days"
  if first and first:find(capital) and name_from(first, is_name) == first then return first end
  name = name_behind(text, "[ydk]s?%s+in%s+()", "^%l", is_no_end) -- "three days in berlin"
  return name and (name:gsub("%f[%w\128-\255]%l", string.upper))
end

local function city_of(text)
  local lower = text:lower()
  for _, city in ipairs(cities) do
    for _, name in ipairs { city.name:lower(), table.unpack(city.also) } do
      if lower:find("%f[%w]" .. name .. "%f[%W]") then return city end
    end
  end
  return general(place_of(text) or "your destination")
end

local function wishes_of(text)
  local lower = text:lower()
  return {
    children = (lower:find "child" or lower:find "kids" or lower:find "family")
      and not (lower:find "without child" or lower:find "without kids" or lower:find "no child" or lower:find "no kids"),
    no_museums = lower:find "no museum" or lower:find "without museum",
    vegetarian = lower:find "vegetarian" or lower:find "vegan",
    cheap = lower:find "cheap" or lower:find "budget",
    slow = lower:find "slow" or lower:find "relax",
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
  local where = ("%s in %s%s"):format(stay(days), city.name, words)
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
    sections[#sections + 1] = { slot = { day = day, time_slot = "morning" }, content = ("Lunch at noon: %s%s."):format(at(city.food, day * 2 - 1), wishes.vegetarian and note or "") }
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
    local days, cut = days_of(request)
    return ("I will plan %s%s in %s with the team."):format(cut and "the first " or "", stay(days), city_of(request).name)
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
    return ("# %s in %s\n\n%s"):format(stay((days_of(request))), city_of(request).name, document)
  end,
}
