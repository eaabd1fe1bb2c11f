# hocket skill install: where it is written, that it is a skill, and that its snippets work as they stand.
. "$(dirname "$0")/lib.sh"
run hocket skill install claude; expect 0; has out "wrote ./.claude/skills/hocket/SKILL.md"
run hocket skill install; expect 0; [ -f .agents/skills/hocket/SKILL.md ] || fail "without a word"
run hocket skill install codex; expect 0 # it wrote that itself
run hocket skill install opencode; expect 0
cmp -s .claude/skills/hocket/SKILL.md .opencode/skills/hocket/SKILL.md || fail "one text for all"
run hocket check .claude/skills/hocket/SKILL.md; expect 0; has out "1 skill"
skill=.claude/skills/hocket/SKILL.md
hasnt $skill "@KEYS@"; hasnt $skill "@MODULES@"; has $skill '- `max_turns` (a whole number from 1 on)'; has $skill '- `hocket.flow`: '
echo mine >$skill; run hocket skill install claude; expect 1; has err "somebody else wrote it"; same "$(cat $skill)" mine
run hocket skill install emacs; expect 2; has err "agents, claude, codex, opencode"
run hocket skill; expect 2
run hocket skill remove; expect 2

# Its snippets, one after the other.
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' .agents/skills/hocket/SKILL.md >snippets
[ -s snippets ] || fail "it has no snippets"
mkdir bin; printf '#!/bin/sh\nexec "%s" "$@"\n' "$HOCKET" >bin/hocket; chmod +x bin/hocket
run env PATH="$PWD/bin:$PATH" sh -eu snippets; expect 0
has out "OK: 2 agents"; has out "Lunch: "; has out "Da Enzo"
finish
