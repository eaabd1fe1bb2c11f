#!/bin/sh
# No struct has more than twelve members that are only true or false: what it is doing is one enum, and what was asked of it
# a set of bits. Structs inside of a struct count for both. tests/flags.txt names those that still have more, with their
# number, which only falls.
#   flags.sh [DIRECTORY]
set -u
cd "${1:-.}" || exit 2
find src include -name '*.[ch]' | LC_ALL=C sort | xargs awk -v most=12 '
function wrong(text) { print "flags: " text | "cat >&2"; bad = 1 }
# The end of a member, a function or an initialiser.
function statement(text,  commas) {
    if (depth == 0 || !is_struct[depth]) return
    if (text ~ /^ *bool +[a-z_]/) count[depth] += gsub(/,/, ",", text) + 1
    else if (text ~ /: *1 *(,|$)/) count[depth] += gsub(/: *1/, "", text)
}
function open(text) {
    depth++
    is_struct[depth] = text ~ /(struct|union) *[A-Za-z0-9_]* *$/ && text !~ /[()=]/
    count[depth] = 0
    sub(/ *$/, "", text)
    sub(/.* /, "", text)
    name[depth] = text
}
function close_brace() {
    if (depth == 0) return
    if (is_struct[depth]) {
        if (depth > 1 && is_struct[depth - 1]) count[depth - 1] += count[depth]
        judge(name[depth], count[depth])
    }
    depth--
}
function judge(struct, n) {
    if (n > largest) { largest = n; of = struct }
    if (struct in allowed) {
        seen[struct] = 1
        if (n > allowed[struct]) wrong(file ": struct " struct " has " n " flags, and tests/flags.txt says " allowed[struct])
        else if (n <= most) wrong(file ": struct " struct " has " n " flags: remove its line from tests/flags.txt")
        else if (n < allowed[struct]) wrong(file ": struct " struct " has " n " flags: say so in tests/flags.txt")
    } else if (n > most) wrong(file ": struct " struct " has " n " flags, at most " most ": give it a state, or a set of bits")
}
FILENAME == "tests/flags.txt" {
    if ($0 !~ /^#/ && NF) allowed[$2] = $1
    next
}
FNR == 1 { file = FILENAME; depth = 0; text = ""; comment = 0; directive = 0; files++ }
directive || /^ *#/ { directive = /\\$/; next }
{
    line = $0
    gsub(/"([^"\\]|\\.)*"|\x27([^\x27\\]|\\.)*\x27/, "0", line)
    sub(/\/\/.*/, "", line)
    while (comment ? (at = index(line, "*/")) : (at = index(line, "/*"))) {
        if (!comment) { text = take(text " " substr(line, 1, at - 1)) }
        line = substr(line, at + 2)
        comment = !comment
    }
    if (!comment) text = take(text " " line)
}
# Ends what ends in the text; returns the rest.
function take(all,  at, c) {
    while (match(all, /[;{}]/)) {
        c = substr(all, RSTART, 1)
        at = substr(all, 1, RSTART - 1)
        all = substr(all, RSTART + 1)
        if (c == "{") open(at)
        else if (c == "}") close_brace()
        else statement(at)
    }
    return all
}
END {
    for (struct in allowed) if (!(struct in seen)) wrong("tests/flags.txt names struct " struct ", of which there is none")
    if (files == 0) wrong("there is no source to look at")
    if (!bad) print "flags: " largest + 0 " at most, in struct " of
    exit bad
}' tests/flags.txt
