# The page's modules that need no browser, run by node: modules.sh SOURCES
set -eu
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" = true ] || { echo "skipped: node $(node --version) is older than 18"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A folder of modules says so to node; browsers know it from the page.
mkdir "$work/page" "$work/tests"
cp -r "$1"/page/* "$work/page"
cp "$1"/tests/page/*.mjs "$work/tests"
echo '{"type":"module"}' >"$work/package.json"
for test in "$work"/tests/test_*.mjs; do
  echo "$(basename "$test")"
  node "$test"
done
