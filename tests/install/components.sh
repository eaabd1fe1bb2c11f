#!/bin/sh
# `cmake --install` by components: each has its own files and no other's, together they are the whole; and the target
# `uninstall` removes what was installed, and nothing else.
#   components.sh BUILD_DIR
set -eu
build=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp"
unset DESTDIR

fail() {
    echo "components: $1" >&2
    exit 1
}
files() { (cd "$1" && find . ! -type d | LC_ALL=C sort); }

# The manifests lie in the folder of the build, which other tests install from at the same time: so a build that has
# the same rules, in a folder of its own.
mkdir own
for script in cmake_install uninstall; do
    # shellcheck disable=SC2016
    sed "s|$build/install_|$tmp/own/install_|g; s|$build/\\\${CMAKE_INSTALL_MANIFEST}|$tmp/own/\${CMAKE_INSTALL_MANIFEST}|" "$build/$script.cmake" >own/$script.cmake
done
put() { # PREFIX [COMPONENT]
    cmake "-DCMAKE_INSTALL_PREFIX=$1" ${2:+"-DCMAKE_INSTALL_COMPONENT=$2"} -P own/cmake_install.cmake >log 2>&1 && return
    cat log
    fail "installing ${2:-everything} failed"
}

# ---- The parts ----------------------------------------------------------------------------
put "$tmp/whole"
for component in program library development lua; do
    put "$tmp/$component" $component
    files $component >"$component.files"
    [ "$(wc -l <"$component.files")" -ge 3 ] || fail "the component $component has too few files: $(cat $component.files)"
done
cat ./*.files | LC_ALL=C sort -u >parts
files whole >all
cmp -s parts all || fail "the components together are not the whole: $(diff parts all)"
shared=$(cat ./*.files | grep -v '/LICENSE$' | LC_ALL=C sort | uniq -d)
[ -z "$shared" ] || fail "several components have $shared"

grep -qx ./bin/hocket program.files && grep -q 'man/man1/hocket-run[.]1' program.files || fail "program lacks bin/hocket or its man pages"
grep -q '/libhocket[.]so[.]0$' library.files && ! grep -q '/libhocket[.]so$' library.files || fail "library has a link for linkers, or lacks the library"
grep -q '/hocket[.]h$' development.files && grep -q '/libhocket[.]so$' development.files || fail "development lacks the header or the link"
grep -q 'lua/5[.]4/hocket[.]so$' lua.files || fail "lua lacks the module"
program/bin/hocket run --model sim --quiet --store off assistant Hello >answer || fail "the program alone does not run"

# ---- Removing -----------------------------------------------------------------------------
remove() { cmake -P own/uninstall.cmake >log 2>&1; }
remove || fail "it does not remove: $(cat log)"
[ -z "$(files whole)" ] && [ -d whole ] || fail "removing has left $(files whole)"
remove && fail "there is nothing to remove any more"
grep -q 'nothing was installed' log || fail "it does not say that nothing was installed: $(cat log)"

mkdir -p again/bin again/share/man/man1 again/share/empty
echo mine >again/bin/other
put "$tmp/again" program
remove || fail "it does not remove a component"
[ "$(find again | LC_ALL=C sort | tr '\n' ' ')" = "again again/bin again/bin/other again/share again/share/empty " ] ||
    fail "removing has left or taken something: $(find again)"

# What cannot be removed is named, and found by the next try.
put "$tmp/again" program
mv again/bin/hocket kept
mkdir -p again/bin/hocket/inner
remove && fail "it removes what is no file"
grep -q '1 cannot be removed' log && grep -q again/bin/hocket log || fail "it does not say what it left: $(cat log)"
rm -r again/bin/hocket
mv kept again/bin/hocket
remove || fail "a second try finds nothing: $(cat log)"
[ ! -e again/bin/hocket ] || fail "a second try leaves the program"

# A folder whose name is a pattern that does not match itself.
mkdir -p "odd [1]/bin"
echo mine >"odd [1]/bin/other"
put "$tmp/odd [1]" program
remove || fail "it does not remove below a folder with brackets: $(cat log)"
[ "$(files "odd [1]")" = ./bin/other ] || fail "removing has taken what is not ours: $(files "odd [1]")"

mkdir stage
export DESTDIR="$tmp/stage"
put /usr/local program
[ -x stage/usr/local/bin/hocket ] || fail "DESTDIR is not honoured"
remove || fail "it does not remove what went below DESTDIR"
[ -z "$(files stage)" ] && [ -d stage/usr/local/bin ] && [ -d stage/usr/local/share/man ] && [ ! -d stage/usr/local/share/man/man1 ] || fail "removing has left $(files stage), or took a folder of the system: $(find stage)"
echo "components: well, $(wc -l <all) files"
