# `hocket help`: commands, the pages of the documentation, sections by their headings; in ASCII where the locale has no more.
. "$(dirname "$0")/lib.sh"

# Each page is the one of docs/, byte by byte.
run hocket help topics; expect 0; has out "guides/sub-agents"; has out "hocket help PAGE"
sed -n 's/^  \([^ ]*\) .*/\1/p' out >topics
# All pages for users are topics, and no other page is.
(cd "$ROOT/docs" && find README.md tutorial guides reference explanation/security.md -name '*.md') | sed 's/\.md$//' | LC_ALL=C sort >pages
LC_ALL=C sort topics | cmp -s - pages || fail "other topics than pages: $(LC_ALL=C sort topics | diff - pages | grep '^[<>]')"
while read -r topic; do
  "$HOCKET" help "$topic" </dev/null >page 2>err || fail "hocket help $topic"
  cmp -s page "$ROOT/docs/$topic.md" || fail "$topic is the page"
done <topics

# By its last part, whatever the case; a command has its own help.
run hocket help FAQ; expect 0; has out "# FAQ and troubleshooting"
run hocket help hocket.flow; expect 0; has out "# hocket.flow"
run hocket help serve; expect 0; has out "usage: hocket serve"

# A section by its heading, and all that mention a word.
run hocket help "Named hosts"; expect 0; has out "# Named hosts"; hasnt out "## Programs from Lua"
run hocket help named hosts; expect 0; has out "# Named hosts"
run hocket help sandbox; expect 0; has out "Sections with 'sandbox'"; has out "guides/tools"
run hocket help rnu; expect 2; has err "did you mean 'run'?"
run hocket write me a poem; expect 2; has err "did you mean 'wait'? To ask a question: hocket run assistant"
run hocket frobnicate; expect 2; has err "no command 'frobnicate'. To ask"
run hocket help no such thing; expect 2; same "$(cat out)" ""
run hocket help ''; expect 2

# A terminal shows it as it shows answers.
need_pty
run "$PTY" -- "$HOCKET" help glossary
expect 0; hasnt out "# Glossary"; has out "Glossary"

# With the locale C all help is ASCII, for people and for pipes.
ascii() { LC_ALL=C grep -n '[^ -~	]' out >wrong && fail "ASCII expected: $(head -n 2 wrong | cat -v)"; }
run env LC_ALL=C "$HOCKET" --help; expect 0; ascii
"$HOCKET" help --json </dev/null | grep -o '{"name":"[a-z]*","usage"' | cut -d'"' -f4 >commands
[ "$(wc -l <commands)" -gt 30 ] || fail "the commands are listed"
while read -r command; do
  run env LC_ALL=C "$HOCKET" help "$command"; expect 0; ascii
done <commands
finish
