#!/bin/sh
# Makes the lower layer of the slim image: what tools of agents need to run programs in a sandbox (bubblewrap, a shell, the usual
# small programs), of Debian's packages, with their copyright files. Equal packages make equal bytes.
#   slim.sh ARCH OUT.tar          x86_64 or arm64
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/static/lib.sh"
case $1 in
x86_64) debian=amd64 ;;
arm64) debian=arm64 ;;
*) die "unknown architecture $1" ;;
esac
packages="base-files bubblewrap coreutils dash diffutils findutils gcc-12-base grep libacl1 libattr1 libc6 libcap2 libgcc-s1 libgmp10 libpcre2-8-0
    libselinux1 sed"
out=$(readlink -f "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
umask 022

mkdir -p "$tmp/debs" "$tmp/root/usr/bin" "$tmp/root/usr/sbin" "$tmp/root/usr/lib" "$tmp/root/usr/lib64"
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$tmp/root/$folder"; done
cd "$tmp/debs"
apt_of $debian update
# shellcheck disable=SC2086
apt_of $debian download $packages
for package in ./*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -xf - -C "$tmp/root" --keep-directory-symlink --no-same-owner; done

cd "$tmp/root"
rm -rf boot dev home media mnt opt proc root run srv sys tmp var usr/games usr/include usr/src usr/share/locale usr/share/man usr/share/info \
    usr/share/bash-completion usr/share/lintian usr/share/base-files usr/lib/*/gconv
find usr/share/doc -type f ! -name copyright -exec rm {} +
find . -type d -empty -delete
[ -d usr/lib64 ] || rm lib64
mkdir -p dev proc sys var/tmp var/lib/dpkg/status.d
chmod 1777 var/tmp
for package in "$tmp"/debs/*.deb; do dpkg-deb -f "$package" >"var/lib/dpkg/status.d/$(dpkg-deb -f "$package" Package)"; done # for scanners
for package in $packages; do [ -s "usr/share/doc/$package/copyright" ] || die "$package has no copyright file"; done
find usr/bin usr/lib -type f -exec sh -c 'for file; do readelf -dW "$file" 2>/dev/null; done' sh {} + | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort -u |
    while read -r library; do
        [ -n "$(find usr/lib* -name "$library")" ] || die "$library is in none of the packages"
    done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf "$out" .
