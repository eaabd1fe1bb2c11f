-- Asked before and after what the agents of this folder do.
return {
  timeout = 2,
  before_model = { match = "*", run = function(event)
    if event.agent == "clerk" then return { context = "The shop is open from nine to five." } end
  end },
  after_agent = { match = "clerk", run = function(event)
    return event.result and { answer = (event.result:gsub("%d%d%d%d%d%d%d%d%d+", "[account]")) }
  end },
}
