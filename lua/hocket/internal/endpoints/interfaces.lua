--- What `hocket serve` speaks: one module for each interface, a function that adds its handlers to the server.
return {
  (require "hocket.internal.endpoints.openai"),
  (require "hocket.internal.endpoints.anthropic"),
  (require "hocket.internal.endpoints.agui"),
  (require "hocket.internal.endpoints.a2a"),
  (require "hocket.internal.endpoints.health"),
  (require "hocket.internal.endpoints.page"),
  (require "hocket.internal.endpoints.metrics"),
  (require "hocket.internal.endpoints.mcp"),
  (require "hocket.internal.endpoints.api"), -- the parentheses: a require has two results
}
