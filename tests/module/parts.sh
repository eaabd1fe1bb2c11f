# parts.sh LUA PAGES: each module of docs/reference/lua loads as the first thing that a script requires; it is the one that "hocket" has.
lua=$1 pages=$2
failures=0 tried=0
for page in "$pages"/hocket.*.md; do
  name=$(basename "$page" .md)
  [ "$name" = hocket ] && continue
  tried=$((tried + 1))
  "$lua" -e 'local name = arg[1] local first = require(name) require "hocket" assert(first == require(name) and package.loaded[name] == first)' - "$name" </dev/null || {
    echo "FAILED: $name"
    failures=$((failures + 1))
  }
done
[ $tried -gt 40 ] || { echo "FAILED: only $tried pages in $pages"; exit 1; }
exit $failures
