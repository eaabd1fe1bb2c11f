# Public collections of agents and skills, as they are: HOCKET_COLLECTIONS names a folder with checkouts of them, by OWNER+NAME or NAME.
. "$(dirname "$0")/lib.sh"
[ -d "${HOCKET_COLLECTIONS:-}" ] || { echo "skipped: HOCKET_COLLECTIONS names no folder with public collections"; finished=yes; exit 77; }
unset HOCKET_TRUST
place() { # OWNER NAME
  for dir in "$HOCKET_COLLECTIONS/$1+$2" "$HOCKET_COLLECTIONS/$2"; do [ -d "$dir" ] && { echo "$dir"; return; }; done
}
accepted() { # LEAST% NAME FILES: how many a check accepts, and why it refuses others
  n=0; good=0
  while read -r file; do
    n=$((n + 1))
    if "$HOCKET" check "$file" >out 2>err; then good=$((good + 1)); else grep -v warning: out | head -n 1; fi
  done <"$3"
  echo "$2: $good of $n are accepted"
  [ $n = 0 ] || [ $((good * 100)) -ge $(($1 * n)) ] || fail "$2: fewer than $1 %"
}
run_some() { # FILES: thirty of them on the scripted model
  sort -R "$1" | head -n 30 | while read -r file; do
    timeout 60 "$HOCKET" run -q --model sim "$file" "Hello" >out 2>err </dev/null || echo "$file: $(head -n 1 err)"
  done >failed
  [ ! -s failed ] || { cat failed; fail "they do not run"; }
}
run_skills() { # FILES: thirty of them, each read by the agent that has it
  mkdir -p reads
  printf -- 'local json = require "hocket.json"\nreturn function(request)\n  local name = request.system:match "THE SKILL ([a-z0-9-]+)"\n  if request.last.role == "tool" then return "read " .. name .. ": " .. request.last.text end\n  return { calls = { { name = "read_skill", arguments = { path = name } } } }\nend\n' >reads/sim.lua
  sort -R "$1" | head -n 30 | while read -r file; do
    name=$(basename "$(dirname "$file")")
    printf -- '---\nskills: ["%s"]\n---\nTHE SKILL %s.\n' "$(dirname "$file")" "$name" >reads/reader.md
    timeout 60 "$HOCKET" run -q --trust --model sim reads/reader.md "Hello" >out 2>err </dev/null || echo "$file: $(head -n 1 err)"
    line=$(sed -n '/^---/,/^---/!p' "$file" | grep -m 1 '[[:alnum:]]')
    grep -qF -e "$line" out || echo "$file: its instructions are not read: $(head -c 200 out)"
  done >failed
  [ ! -s failed ] || { cat failed; fail "they are not read"; }
}
agents() { # LEAST% OWNER NAME FIND-EXPRESSION…
  least=$1 owner=$2 name=$3; shift 3
  dir=$(place "$owner" "$name")
  [ -n "$dir" ] || { echo "$name: not there"; return; }
  find "$dir" "$@" >files
  what=$name; accepted "$least" "$name" files; run_some files
}
agents 97 VoltAgent awesome-claude-code-subagents -path '*/categories/*.md' ! -name README.md
agents 97 wshobson agents -path '*/plugins/*/agents/*.md' ! -name README.md
agents 95 github awesome-copilot -path '*/agents/*.agent.md' ! -path '*/plugins/*'
for one in "anthropics skills" "wshobson agents" "github awesome-copilot"; do
  dir=$(place ${one% *} ${one#* }); [ -z "$dir" ] || find "$dir" -name SKILL.md
done >skills
what=skills; accepted 99 skills skills; grep -v quality-playbook skills >whole; run_skills whole
finish
