#!/bin/sh
# Makes a folder to copy to Windows: the library as it is installed (bin, include, lib, lua), and the tests, which run.cmd runs there.
#   kit.sh [FOLDER]          build/hocket-windows; after `./dev windows`, or packaging/windows/build.sh build/windows
set -eu
windows=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$windows/../.." && pwd)
build=$source/build/windows
kit=${1:-$source/build/hocket-windows}
[ -f "$build/hocket_run_script.exe" ] || {
    echo "kit.sh: there are no tests in $build: ./dev windows builds them" >&2
    exit 1
}
rm -rf "$kit"
mkdir -p "$kit/tests/c"
cmake --install "$build" --prefix "$kit" >/dev/null
cp "$build"/hocket_*.exe "$build"/test_*.exe "$kit/bin/" # beside the DLL
cp -r "$build/engines" "$kit/"
cp -r "$source/tests/lua" "$source/tests/module" "$source/tests/windows" "$kit/tests/"
luajit=${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/windows}/root/luajit
[ ! -d "$luajit" ] || cp -r "$luajit" "$kit/engines/"
cp -r "$source/examples" "$kit/"
find "$build/tests" -name 'test_*.exe' -exec cp {} "$kit/tests/c/" \;
find "$kit/engines" -type f ! -name '*.dll' ! -name '*.exe' -delete
sed 's/$/\r/' "$windows/run.cmd" >"$kit/run.cmd"

# Each test: its kind, its name, what is run, and "kept", a script or nothing (-). test_parse reads the whole project.
{
    for exe in "$kit"/tests/c/*.exe; do echo "c $(basename "$exe" .exe) tests/c/$(basename "$exe") -"; done
    for exe in "$kit"/bin/test_*.exe; do echo "c $(basename "$exe" .exe) bin/$(basename "$exe") -"; done
    grep '^[a-z.]' "$source/tests/windows/lua.txt" | grep -v test_parse |
        while read -r file kept; do echo "lua $(basename "$file" .lua) tests/lua/$file ${kept:--}"; done
    echo "engine engine bin/hocket_engine.exe engines/lua5.4/lua54.exe"
    if [ -d "$luajit" ]; then
        for mode in --save --load; do echo "game npcs$mode engines/luajit/luajit.exe $mode"; done
        for script in bridge same save; do echo "5.1 $script-luajit engines/luajit/luajit.exe tests/module/$script.lua"; done
    fi
    for version in 5.1 5.2 5.3 5.4; do
        scripts='bridge same save'
        [ $version != 5.4 ] || scripts='stock ends same save'
        exe=engines/lua$version/lua$(echo $version | tr -d .).exe
        [ -f "$kit/$exe" ] || continue
        for script in $scripts; do
            grep -q "^module/lua$version/$script " "$source/tests/windows/skipped.txt" || echo "$version $script-$version $exe tests/module/$script.lua"
        done
    done
} | tr / '\\' | sed 's/$/\r/' >"$kit/tests.txt"
echo "$kit: copy it to Windows and run run.cmd there ($(wc -l <"$kit/tests.txt") tests)"
