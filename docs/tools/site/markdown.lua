-- Markdown as docs/ has it, to HTML: headings, paragraphs, lists, tables, quotes, fences, and code, links, emphasis in lines.
local markdown = {}

local function escape(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end
markdown.escape = escape

-- As GitHub makes it, and as tests/docs/check_links.lua checks it.
function markdown.anchor(heading)
  local text = heading:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("…", ""):gsub("—", ""):lower()
  return (text:gsub("[^%w%-_ \x80-\xff]", ""):gsub(" ", "-"))
end

-- What stands between backquotes is code, and nothing else is looked for in it: it is put back last.
local function inline(text, link)
  local codes = {}
  local function hold(html)
    codes[#codes + 1] = html
    return "\1" .. #codes .. "\2"
  end
  text = text:gsub("(`+)(.-)%1", function(_, code) return hold("<code>" .. escape(code) .. "</code>") end)
  text = text:gsub("\\([|*_`%[%]<>#])", function(sign) return hold(escape(sign)) end)
  text = escape(text)
  text = text:gsub("!%[([^%]]*)%]%(([^)%s]+)%)", function(alt, to) return hold(('<img alt="%s" src="%s">'):format(alt, link(to))) end)
  text = text:gsub("%[([^%]]*)%]%(([^)%s]+)%)", function(words, to) return ('%s%s</a>'):format(hold(('<a href="%s">'):format(link(to))), words) end)
  text = text:gsub("%*%*(.-)%*%*", "<strong>%1</strong>"):gsub("%f[%w*]%*(%w[^*]*)%*", "<em>%1</em>"):gsub("\\\n", "<br>\n")
  for _ = 1, 3 do text = text:gsub("\1(%d+)\2", function(n) return codes[tonumber(n)] end) end
  return text
end

local function cells(line)
  local out = {}
  for cell in (line:gsub("\\|", "\3"):match "^%s*|(.*)|%s*$" or ""):gmatch "([^|]*)|?" do out[#out + 1] = cell:gsub("\3", "\\|"):match "^%s*(.-)%s*$" end
  if out[#out] == "" then out[#out] = nil end
  return out
end

local Writer = {}
Writer.__index = Writer

function Writer:add(...) self.out[#self.out + 1] = (...):format(select(2, ...)) end

function Writer:inline(text) return inline(text, self.link) end

function Writer:table(lines, i)
  local count = #cells(lines[i + 1])
  local function row(line, tag)
    local html, list = {}, cells(line)
    for n = 1, count do html[n] = ("<%s>%s</%s>"):format(tag, self:inline(list[n] or ""), tag) end
    return "<tr>" .. table.concat(html) .. "</tr>"
  end
  local head = lines[i]:find "%w" and ("<thead>" .. row(lines[i], "th") .. "</thead>") or ""
  self.out[#self.out + 1] = '<div class="wide"><table>' .. head .. "<tbody>"
  i = i + 2
  while lines[i] and lines[i]:find "^%s*|" do
    self.out[#self.out + 1] = row(lines[i], "td")
    i = i + 1
  end
  self.out[#self.out + 1] = "</tbody></table></div>"
  return i
end

function Writer:fence(lines, i)
  local indent, marks, language = lines[i]:match "^(%s*)(```+)(%S*)"
  local code = {}
  i = i + 1
  while lines[i] and not lines[i]:find("^%s*" .. marks) do
    code[#code + 1] = lines[i]:gsub("^" .. indent, "")
    i = i + 1
  end
  self.out[#self.out + 1] = ('<pre><code class="%s">%s</code></pre>'):format(escape(language), escape(table.concat(code, "\n")))
  return i + 1
end

local function item_of(line)
  local indent, rest = line:match "^(%s*)[-*] (.*)$"
  if indent then return #indent, rest, "ul", 2 end
  local number
  indent, number, rest = line:match "^(%s*)(%d+%. )(.*)$"
  if indent then return #indent, rest, "ol", #number end
end

-- A list and all that is indented below its items, which is Markdown itself.
function Writer:list(lines, i)
  local indent, _, kind = item_of(lines[i])
  self.out[#self.out + 1] = "<" .. kind .. ">"
  while lines[i] do
    local at, rest, other, width = item_of(lines[i])
    if at ~= indent or other ~= kind then break end
    local inner = { rest }
    i = i + 1
    while lines[i] and (lines[i]:find("^" .. (" "):rep(indent + width)) or lines[i] == "" and (lines[i + 1] or ""):find("^" .. (" "):rep(indent + width))
      or lines[i] ~= "" and not item_of(lines[i]) and not lines[i]:find "^[#|`]" and inner[#inner] ~= "") do
      inner[#inner + 1] = lines[i]:gsub("^" .. (" "):rep(indent + width), "")
      i = i + 1
    end
    self.out[#self.out + 1] = "<li>"
    self:blocks(inner, true)
    self.out[#self.out + 1] = "</li>"
    while lines[i] == "" and item_of(lines[i + 1] or "") == indent do i = i + 1 end
  end
  self.out[#self.out + 1] = "</" .. kind .. ">"
  return i
end

function Writer:heading(level, text)
  local id = markdown.anchor(text)
  self.out[#self.out + 1] = ('<h%d id="%s">%s</h%d>'):format(level, id, self:inline(text), level)
  self.sections[#self.sections + 1] = { level = level, title = text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("`", ""), id = id, words = {} }
end

function Writer:paragraph(lines, i, tight)
  local text = {}
  while lines[i] and lines[i] ~= "" and not lines[i]:find "^%s*```" and not lines[i]:find "^#+ " and not lines[i]:find "^%s*|" and not (#text > 0 and item_of(lines[i])) do
    text[#text + 1] = lines[i]
    i = i + 1
  end
  local html = self:inline(table.concat(text, "\n"))
  self.out[#self.out + 1] = tight and html or "<p>" .. html .. "</p>"
  return i
end

function Writer:blocks(lines, tight)
  local i = 1
  while i <= #lines do
    local line = lines[i]
    local level, title = line:match "^(#+) (.*)$"
    local section = self.sections[#self.sections]
    if section and not level then section.words[#section.words + 1] = line end
    if line == "" then i = i + 1
    elseif line:find "^%s*```" then i = self:fence(lines, i)
    elseif level then self:heading(#level, title); i = i + 1
    elseif line:find "^%s*|" and (lines[i + 1] or ""):find "^%s*|[%s:|-]+|%s*$" then i = self:table(lines, i)
    elseif item_of(line) then i = self:list(lines, i)
    else
      local before = i
      i = self:paragraph(lines, i, tight)
      if i == before then i = i + 1 end
    end
  end
end

-- `link(target)` says where a link leads. Gives HTML, and the sections: level, title, id, words (their lines).
function markdown.html(text, link)
  local writer = setmetatable({ out = {}, sections = {}, link = link }, Writer)
  local lines = {}
  for line in (text:gsub("%s+$", "") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  writer:blocks(lines)
  return table.concat(writer.out, "\n"), writer.sections
end

return markdown
