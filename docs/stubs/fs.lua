---@meta hocket.fs

--- Files, for scripts. Paths are the process's own.
---
---     local fs = require "hocket.fs"
---     assert(fs.mkdir "notes" and fs.write("notes/today.txt", "Buy flour."))
---     print(fs.read "notes/today.txt", fs.list("notes")[1], fs.info("notes").kind)
local fs = {}

--- Reads a file.
---@param path string
---@param max? integer Bytes; a larger file is an error.
---@return string? text
---@return hocket.Error?
function fs.read(path, max) end

--- Writes a file completely: a reader sees the old one or the new one.
---@param path string
---@param text string
---@param options? {exclusive?: boolean, executable?: boolean} exclusive: fail if the file exists.
---@return true? ok
---@return hocket.Error?
function fs.write(path, text, options) end

--- Makes a directory and its parents.
---@param path string
---@return true? ok
---@return hocket.Error?
function fs.mkdir(path) end

--- Information about a path; nil without an error if it does not exist.
---@param path string
---@return {kind: "file"|"directory"|"other", size: integer, modified: number}? info
---@return hocket.Error?
function fs.info(path) end

--- The names in a directory, sorted; directories end with a slash.
---@param path string
---@return string[]? names
---@return hocket.Error?
function fs.list(path) end

--- The absolute path without links; nil if it does not exist.
---@param path string
---@return string?
function fs.real(path) end

--- Whether a path begins at the top: with "/", on Windows also with a drive and a slash ("C:/") or a share ("//server/share").
---@param path string
---@return boolean
function fs.is_absolute(path) end

return fs
