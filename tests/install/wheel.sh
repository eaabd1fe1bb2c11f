#!/bin/sh
# The wheel: two are equal byte by byte; pip installs one into an environment without network, where the module finds its
# program; pip removes it again.
#   wheel.sh SOURCE_DIR PROGRAM
set -eu
source=$1 program=$2
command -v python3 >/dev/null || exit 77
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp"
unset HOCKET

fail() {
    echo "wheel: $1" >&2
    exit 1
}

platform=linux_$(uname -m)
python3 "$source/packaging/wheel.py" "$program" "$platform" one >/dev/null
python3 "$source/packaging/wheel.py" "$program" "$platform" two >/dev/null
cmp one/*.whl two/*.whl || fail "two wheels of one program differ"
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "wheel: python3-venv is missing: not installed"; exit 77; }

python3 -m venv env
(cd env && find . ! -type d ! -name '*.pyc' | LC_ALL=C sort) >before
env/bin/pip install --quiet --no-index --disable-pip-version-check one/*.whl || fail "pip does not install it"
[ "$(env/bin/hocket --version)" = "$("$program" --version)" ] || fail "the program is not in the environment"
PATH=/usr/bin:/bin env/bin/python -I -c 'import hocket, os, sys
assert hocket.program() == os.path.join(sys.prefix, "bin", "hocket"), hocket.program()
assert "hello" in hocket.run(hocket.Agent("You repeat."), "hello", model="sim").text' || fail "the module does not run"
env/bin/pip check --quiet --disable-pip-version-check || fail "pip finds something wrong"
env/bin/pip uninstall --quiet --yes --disable-pip-version-check hocket
(cd env && find . ! -type d ! -name '*.pyc' | LC_ALL=C sort) >after
cmp -s before after || fail "uninstalling leaves or takes something: $(diff before after)"
echo "wheel: well"
