# Figures of the page: browser.sh HOCKET TURNS. Says that it is skipped where there is no browser (./dev browser installs one).
HOCKET=$(realpath "$1") CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || :)}
[ -n "$CHROMIUM" ] && command -v node >/dev/null || {
  echo "skipped: no chromium, or no node: ./dev browser installs both"
  exit 0
}
export HOCKET CHROMIUM
node "$(dirname "$0")/browser.mjs" "$2"
code=$?
[ $code = 77 ] || exit $code
echo "skipped: the browser does not start here"
