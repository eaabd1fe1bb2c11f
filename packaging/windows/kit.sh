#!/bin/sh
# Makes a folder to copy to Windows: the library with its headers and modules, and the tests, which run.cmd runs there.
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
mkdir -p "$kit/include/hocket" "$kit/tests/c"
cp "$build/hocket.dll" "$build/hocket.lib" "$build/libhocket.dll.a" "$build/hocket.def" "$build"/hocket_*.exe "$build"/test_*.exe "$kit/"
cp "$source/include/hocket/hocket.h" "$kit/include/hocket/"
cp -r "$build/lua" "$build/engines" "$kit/"
cp -r "$source/tests/lua" "$source/tests/module" "$kit/tests/"
cp -r "$source/examples" "$kit/"
find "$build/tests" -name 'test_*.exe' -exec cp {} "$kit/tests/c/" \;
find "$kit/lua" "$kit/engines" -type f ! -name '*.dll' ! -name '*.exe' -delete
sed 's/$/\r/' "$windows/run.cmd" >"$kit/run.cmd"

# Each test: its kind, its name, and what is run. test_parse reads the whole project.
{
    for exe in "$kit"/tests/c/*.exe; do echo "c $(basename "$exe" .exe) tests/c/$(basename "$exe")"; done
    for exe in "$kit"/test_*.exe; do echo "c $(basename "$exe" .exe) $(basename "$exe")"; done
    grep '^[a-z]' "$source/tests/windows/lua.txt" | grep -v test_parse | while read -r file _; do echo "lua $(basename "$file" .lua) tests/lua/$file"; done
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
