#!/bin/sh
# No type of the public headers has a function's name: in C++ the function would hide it, and the type could only be named with
# `struct` or `enum` before it.
#   header_names.sh SOURCES
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cat "$1"/include/hocket/*.h | sed 's|//.*||' >"$dir/all"
sed -n 's/^\(typedef \)\{0,1\}\(struct\|enum\|union\) \(hocket_[a-z_]*\).*/\3/p' "$dir/all" | sort -u >"$dir/types"
sed -n 's/^[A-Z].*[ *]\(hocket_[a-z_]*\)(.*/\1/p' "$dir/all" | sort -u >"$dir/functions"
[ "$(wc -l <"$dir/types")" -gt 10 ] && [ "$(wc -l <"$dir/functions")" -gt 40 ] || {
    echo "header_names: found $(wc -l <"$dir/types") types and $(wc -l <"$dir/functions") functions: its patterns do not fit the headers" >&2
    exit 1
}
both=$(comm -12 "$dir/types" "$dir/functions")
[ -z "$both" ] || {
    echo "header_names: types and functions of one name: $both" >&2
    exit 1
}
