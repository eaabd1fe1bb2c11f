#!/bin/sh
# ./dev lint: the format of the C sources, luacheck (.luacheckrc), clang-tidy's checks (.clang-tidy), the
# layers, the flags of structs, the titles of commits, the words of new text. Prints every complaint and the seconds of each part; the exit status is 1 when there is a complaint.
set -u
cd "$(dirname "$0")/.." || exit 2
failed=0
check() {
    what=$1 begun=$(date +%s)
    shift
    if "$@"; then
        echo "lint: $what: ok, $(($(date +%s) - begun)) s"
    else
        echo "lint: $what: FAILED, see above"
        failed=1
    fi
}

format() {
    git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

tidy() {
    cmake --preset dev -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -Wno-dev >/dev/null &&
        cmake --build --preset dev -- --quiet >/dev/null && # for the sources that are generated
        git ls-files 'src/*.c' ':!src/os/windows' ':!src/os/macos' ':!src/bind/empty_packs.c' | # headers of other systems are not here; ./dev ports compiles these
        xargs -P "$(nproc)" -n 8 clang-tidy -p build/dev --quiet
}

check flags sh tests/flags.sh .
check titles sh tests/titles.sh .
check words sh tests/words/words.sh last
check format format
check luacheck luacheck -q lua
check clang-tidy tidy
check layers sh tests/test_layers.sh .
exit $failed
