# What the scripts of this folder share.
# shellcheck shell=sh
here=$(cd "$(dirname "$0")" && pwd)
cache=${HOCKET_STATIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/static}

die() {
    echo "static: $*" >&2
    exit 1
}

# apt_of ARCHITECTURE WORD…: apt with lists of its own, so that those of the machine stay as they are.
apt_of() {
    arch=$1
    state=$cache/apt/$1
    shift
    mkdir -p "$state/lists" "$state/archives/partial"
    for kind in deb deb-src; do
        echo "$kind http://deb.debian.org/debian bookworm main"
        echo "$kind http://deb.debian.org/debian-security bookworm-security main"
    done >"$state/sources.list"
    apt-get -qq -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" \
        -o Dir::Cache="$state" -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User="$(id -un)" "$@"
}
