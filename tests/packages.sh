#!/bin/sh
# ./dev names the packages that it needs, on systems where it cannot install them. packages.sh [SOURCE]
set -u
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/  /' "$work/said" 2>/dev/null
}

# Each package that ./dev names has a row of four words, and no row stands twice.
for name in $(sed -n 's/^[a-z]*_packages="\(.*\)"$/\1/p' "$root/dev") gcovr musl-tools; do
    [ "$(grep -c "^$name " "$root/cmake/packages.txt")" = 1 ] || fail "a row for $name"
done
awk '!/^#/ && NF != 4 { print "FAILED: " $0; wrong = 1 } END { exit wrong }' "$root/cmake/packages.txt" || failures=$((failures + 1))

# A system with this name, without dpkg; a program asks what is installed, and knows of curl alone.
mkdir "$work/bin"
for tool in sh awk sed tr dirname nproc cat mktemp rm grep head; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
for asker in apk rpm pacman; do
    printf '#!/bin/sh\nfor last; do :; done\ncase $last in curl | libcurl-devel | curl-dev) exit 0 ;; esac\nexit 1\n' >"$work/bin/$asker"
    chmod +x "$work/bin/$asker"
done
on() { # ID [ID_LIKE]
    printf 'ID=%s\nID_LIKE="%s"\n' "$1" "${2:-}" >"$work/os"
    env -i PATH="$work/bin" TMPDIR="$work" HOCKET_OS_RELEASE="$work/os" NO_COLOR=1 sh "$root/dev" coverage >"$work/said" 2>&1
}
has() { grep -qF -e "$1" "$work/said" || fail "'$1' expected"; }
hasnt() { ! grep -qF -e "$1" "$work/said" || fail "'$1' not expected"; }

on alpine
has "apk add build-base cmake samurai pkgconf lua5.4-dev libuv-dev"; has "never tried on alpine"; hasnt "curl-dev"; hasnt "liblua"
on rocky "rhel centos fedora"
has "dnf install gcc gcc-c++ make cmake"; hasnt "libcurl-devel"; has "no package there that is known: lua5.2 lua5.3"
on arch
has "pacman -S --needed base-devel cmake ninja"; has "no package there that is known: gcovr"
on plan9
has "This is not Debian, Alpine, Fedora or Arch"; has "libcurl4-openssl-dev"

# On Debian it says how far apt-get is, whatever the language, and fails where a package was not installed.
for tool in env wc touch; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
printf '#!/bin/sh\n[ ! -e "%s/installed" ] || echo "install ok installed"\n' "$work" >"$work/bin/dpkg-query"
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
[ "$1" = install ] || exit 0
[ "$LC_ALL" = C ] || exit 1
echo "Reading package lists..."
echo "0 upgraded, 2 newly installed, 0 to remove and 3 not upgraded."
for n in 1 2; do echo "Get:$n http://deb.debian.org/debian bookworm/main amd64 lib$n amd64 1.0-1 [12 kB]"; done
for n in 1 2; do echo "Unpacking lib$n:amd64 (1.0-1) ..."; done
for n in 1 2; do echo "Setting up lib$n:amd64 (1.0-1) ..."; done
END
chmod +x "$work/bin/dpkg-query" "$work/bin/apt-get" "$work/bin/id"
on debian
has "Installing "; has "  fetching 2 packages"; has "  1 of 2: lib1:amd64"; has "  2 of 2: lib2:amd64"; hasnt "Reading"; has "apt-get could not install: build-essential"
[ "$(grep -c fetching "$work/said")" = 1 ] || fail "one line about fetching"
echo 'touch "'"$work"'/installed"' >>"$work/bin/apt-get"
on debian
has "  2 of 2: lib2:amd64"; hasnt "could not install"

sh "$root/dev" packages cake >"$work/said" 2>&1 && fail "a system that is unknown"
has "debian|alpine|fedora|arch"
[ $failures = 0 ] && echo "the packages of four systems are named"
exit $failures
