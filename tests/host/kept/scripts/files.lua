-- Tools for files: what was read is known again in another process.
local hocket = require "hocket"
local clerk = hocket.agent { name = "clerk", prompt = "You keep books.", tools = { "read_file", "write_file", "edit_file", "list_directory" } }
local reply = assert(hocket.run(clerk, [[
call write_file {"path": "book.txt", "content": "one\ntwo\n"}
then
call read_file {"path": "book.txt"}
then
call edit_file {"path": "book.txt", "old_text": "two", "new_text": "three"}
then
call read_file {"path": "book.txt"}
say The book is kept.]]))
return reply.text
