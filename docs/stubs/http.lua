---@meta hocket.http

--- Plain HTTP requests. A status of 404 or 500 is an answer, not an error.
---
---     local hocket = require "hocket"
---     local served = assert(hocket.sim.serve { reply = function() return "yes" end })
---     local answer = assert(hocket.http.request { url = served.base .. "/models", timeout = 5 })
---     print(answer.status, answer.body)
local http = {}

---@class hocket.HttpRequest
---@field url string
---@field method? string GET, or POST when there is a body.
---@field headers? table<string, string>
---@field body? string
---@field timeout? number Seconds for the whole request; 60.
---@field connect_timeout? number Seconds; 10.
---@field max_body? integer Bytes of the answer; 32 MiB.
---@field redirects? integer The most redirects to follow; 0.
---@field idempotent? boolean In a durable run: make it again if a process has ended during it. Without it, that is an error with the code "unknown", except for GET, HEAD and OPTIONS.
---@field public? boolean Connect only to public internet addresses, without a proxy: "denied" otherwise.

--- Sends a request and waits for the whole answer.
---@async
---@param request hocket.HttpRequest
---@return {status: integer, headers: table<string, string>, body: string}? answer
---@return hocket.Error?
function http.request(request) end

---@class hocket.HttpOpen As hocket.HttpRequest, without `max_body`.
---@field timeout? number Seconds for the whole request; no limit.
---@field idle_timeout? number Seconds between two pieces; no limit.

--- Sends a request and waits for the head of the answer; read the body as it arrives. For event streams.
---@async
---@param request hocket.HttpOpen
---@return hocket.HttpStream?
---@return hocket.Error?
function http.open(request) end

return http
