# Runs one of the tests that need a browser: run.sh NAME. Skipped where there is none (./dev browser installs it).
set -u
here=$(cd "$(dirname "$0")" && pwd)
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || :)}
[ -n "$CHROMIUM" ] && command -v node >/dev/null || {
  echo "skipped: no chromium, or no node: ./dev browser installs both"
  exit 77
}
export CHROMIUM
name=$1
shift
exec node "$here/$name.mjs" "$@"
