-- A name for a file that is not there. On Windows os.tmpname gives one at the top of the drive, where a person may not write.
local n = 0
return function()
  local dir = os.getenv "HOCKET_TEST_TMPDIR"
  if not dir then return os.tmpname() end
  n = n + 1
  return ("%s/hocket-test-%s-%d"):format(dir, tostring({}):match "(%x+)$", n)
end
