-- The researcher without a model: it asks its notes; where they do not say it, it opens a page, which is shown in part, looks for
-- the fact in the rest, writes it down, opens the next; then it asks its notes again.
local topics = { "mills", "bridges", "markets", "schools" }

local function call(name, arguments)
  return { calls = { { name = name, arguments = arguments } } }
end

-- The page that was opened last, as far as the conversation still has it.
local function last_page(request)
  for i = #request.messages, 1, -1 do
    local n, all = (request.messages[i].text or ""):match "Page (%d+) of (%d+)"
    if n then return tonumber(n), tonumber(all), request.messages[i].text end
  end
end

-- What the notes said, each statement once; and how often they were asked.
local function findings(request)
  local found, pages, searches = {}, {}, 0
  for _, message in ipairs(request.messages) do
    if message.name == "memory_search" then
      searches = searches + 1
      for fact, n in message.text:gmatch "(The first of the [^\n]-)%. %[page (%d+)%]" do
        n = tonumber(n)
        if not found[n] then pages[#pages + 1] = n end
        found[n] = fact
      end
    end
  end
  return found, pages, searches
end

local function answer(found, pages)
  local lines = {}
  table.sort(pages)
  for i, n in ipairs(pages) do lines[i] = ("%s [page %d]"):format(found[n], n) end
  return table.concat(lines, "\n")
end

return function(request)
  local last, n, all, text = request.messages[#request.messages], last_page(request)
  if last.role == "user" and last.text:find "Answer with the summary and nothing else" then return ("The pages up to page %d are opened; what they say is in the notes."):format(n or 0) end
  if last.name == "open_page" then return call("search_result", { id = text:match 'kept as "(%w+)"', text = "was built in" }) end
  if last.name == "search_result" then
    return call("memory_write", { text = ("%s. [page %d]"):format(last.text:match "The first of the %a+ of parish %d+ was built in %d+", n) })
  end
  local found, pages, searches = findings(request)
  if #pages == 40 or searches == 2 * #topics then return answer(found, pages) end
  if searches < #topics then return call("memory_search", { query = topics[searches + 1] }) end
  if not n then return call("open_page", { number = 1 }) end
  if n == all then return call("memory_search", { query = topics[searches - #topics + 1] }) end
  return call("open_page", { number = n + 1 })
end
