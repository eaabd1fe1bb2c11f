-- The scripted model of the router example: it plays the reception and those behind it.
local words = {
  billing = { "invoice", "pay", "refund", "charge" },
  legal = { "contract", "privacy", "complain", "lawful" },
  support = { "crash", "broken", "not work", "error" },
}

local function choose(text)
  for _, name in ipairs { "billing", "legal", "support" } do
    for _, word in ipairs(words[name]) do
      if text:lower():find(word, 1, true) then return name, word end
    end
  end
end

local answers = {
  billing = "I have looked it up: the second charge was made by mistake. You get it back within five days.",
  legal = "You can end the contract at the end of any month. Whether the notice was in time a lawyer would have to look at.",
  support = "Please restart it while you hold the left key, and tell me what you see.",
}

return function(request)
  if request.tools.route_to then
    local name, word = choose(request.messages[1].text)
    if not name then return { text = "Nobody here is the right one for that." } end
    return { calls = { { name = "route_to", arguments = { agent = name, reason = ("It says '%s'."):format(word) } } } }
  end
  for name, known in pairs({ billing = "questions about invoices", legal = "questions about contracts", support = "help when something" }) do
    if request.system:find(known, 1, true) then return { text = answers[name] } end
  end
  return { text = ("Noted: \"%s\". Somebody will answer by tomorrow noon."):format(request.last.text) }
end
