#!/bin/sh
# Builds hocket.dll with its tests, and runs them under wine: `./dev windows`.
#   test.sh [OPTIONS of ctest]
set -eu
windows=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$windows/../.." && pwd)
build=$source/build/windows
"$windows/libraries.sh"
"$windows/love.sh"
"$windows/build.sh" "$build"
HOCKET_WINE_HOME=$HOME
WINEPREFIX=${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/windows}/wine
export HOCKET_WINE_HOME WINEPREFIX WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
if [ ! -d "$WINEPREFIX" ]; then
    wine wineboot -i >/dev/null 2>&1
    wine reg add 'HKCU\Software\Wine' /v Version /d win10 /f >/dev/null 2>&1 # it says Windows 7 otherwise
fi
# Wine's services begin here, and stay. Begun by a test they keep its output open, and ctest waits for that until they end.
wineserver -p >/dev/null 2>&1 || :
wine cmd /c exit >/dev/null 2>&1 </dev/null || :
export HOCKET_TEST_SLOWER=4
linux=$source/build/dev/lua/5.1 # saves go to Linux and back where that is built as the sources are
if [ -f "$linux/hocket.so" ] && [ -z "$(find "$source/src" "$source/lua" -newer "$linux/hocket.so" -type f | head -n 1)" ]; then
    export HOCKET_LINUX_MODULE="${HOCKET_LINUX_MODULE-$linux}"
fi
status=0
ctest --test-dir "$build" --output-on-failure "$@" || status=$?
wineserver -k >/dev/null 2>&1 || :
exit "$status"
