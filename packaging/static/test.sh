#!/bin/sh
# Builds the static program with all tests that link, and runs them. Those of another processor run by qemu's user mode, ten times
# as long as elsewhere, without the ones of tests/emulated/skipped.txt and the cases of cases.txt, whose names are printed.
#   test.sh ARCH [CTEST OPTIONS]          x86_64 or arm64
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
arch=$1
shift
source=$(cd "$here/../.." && pwd)
build=$source/build/static-tests-$arch
HOCKET_STATIC_TESTS=ON "$here/build.sh" "$arch" "$build"
if [ "$arch" != "$(uname -m)" ]; then
    qemu=$(command -v qemu-aarch64-static) || die "qemu-aarch64-static is missing (Debian package qemu-user-static)"
    "$source/tests/emulated/wrap.sh" "$build" "$qemu"
    skipped=$(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' "$source/tests/emulated/skipped.txt" | paste -s -d '|')
    echo "left out, for the reasons in tests/emulated/skipped.txt:"
    ctest --test-dir "$build" -N -R "$skipped" | sed -n 's/^ *Test *#[0-9]*: /  /p'
    # Written anew by each configuration.
    find "$build" -name CTestTestfile.cmake -exec sed -i 's/TIMEOUT "\([0-9]*\)"/TIMEOUT "\10"/' {} +
    export HOCKET_TEST_SLOWER=10 HOCKET_TEST_LEFT_OUT="$source/tests/emulated/cases.txt"
    set -- -E "$skipped" --timeout 15000 "$@"
fi
exec ctest --test-dir "$build" --output-on-failure "$@"
