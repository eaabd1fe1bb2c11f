-- A server of ours with one tool.
require("hocket").mcp.serve { name = "echo", tools = { { name = "echo", description = "Echoes",
  parameters = { type = "object", properties = { text = { type = "string" } } }, run = function() return "the same again" end } } }
