# What a planner keeps for the next day: a person's answers, shown and forgotten by hocket memory, and a plan that was saved.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir agents
printf -- '---\nname: planner\nmodel: sim\n---\nYou plan for {{specialists}}\n' >agents/planner.md
printf -- '---\nname: mason\ndescription: Builds\n---\nYou build.\n' >agents/mason.md
cat >house.lua <<'X'
local hocket = require "hocket"
local team = hocket.agents "agents"
return hocket.patterns.planner.run { request = ..., team = team, planner = team.planner, specialists = { "mason" } }
X
cat >sim.lua <<'X'
local json = require "hocket.json"
return function(request)
  local function say(text) return { text = text, latency = 0.03 } end
  if not request.system:find "You plan" then return say("built: " .. request.last.text:match "^[^\n]*") end
  local last = request.last.text
  local where = last:match "The user answers:\n(.*)" or last:match "Which place%?\n%s*([^\n]*)"
  if not where then return say(json.encode { type = "task", clarification_needed = true, questions = { "Which place?" } }) end
  return say(json.encode { type = "task", tasks = { { id = "wall", specialist = "mason", description = "A wall at " .. where } } })
end
X
calls() { grep -c '"type":"model_reply"' ev; }

# Day one: a person answers, the answer is kept once, whenever the run is killed.
for delay in 0.04 0.1 0.15; do
  run hocket run -q house.lua "Build a wall of stone"; expect 75; has err "Which place?"
  id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
  "$HOCKET" answer "$id" q1 "the south side" >/dev/null
  "$HOCKET" resume -q "$id" >out 2>err </dev/null & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  run hocket resume -q --events ev "$id"; expect 0; has out "built: A wall at the south side"
  run hocket memory list; has out "clarifications"; has out "1 note,"
  hocket memory rm clarifications --all >/dev/null || fail "rm"
done
run hocket run -q house.lua "Build a wall of stone"; id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
"$HOCKET" answer "$id" q1 "the south side" >/dev/null; run hocket resume -q --events ev "$id"; expect 0
run hocket memory show clarifications; expect 0; has out "Question: Which place?"; has out "Answer: the south side"

# A request like it is not asked for again; one that has nothing in common is.
run hocket run -q --events ev house.lua "Build a wall of brick"; expect 0; has out "A wall at the south side"; has ev '"type":"answers_remembered"'
run hocket run -q house.lua "Cook soup"; expect 75
(mkdir other && cd other && cp -r ../agents ../house.lua ../sim.lua . && "$HOCKET" run -q house.lua "Build a wall of brick" >../out 2>../err </dev/null); code=$?; what="another project"; expect 75
hocket memory rm clarifications --all >/dev/null 2>&1
note=$(hocket memory list | sed -n 's/^\(project:clarifications[^ ]*\) .*/\1/p' | head -n 1)
[ -z "$note" ] || hocket memory rm "$note" --all >/dev/null
run hocket run -q house.lua "Build a wall of brick"; expect 75; has err "Which place?"

# The plan is saved, and the next day it is the draft: no planning call, and fewer tokens.
run hocket plan "$id" --save wall; expect 0
rm -f ev; run hocket run -q --events ev house.lua "build a wall of  stone"; expect 0; has out "built: A wall at the south side"; has ev '"type":"draft_found"'
same "$(calls)" 1

# The same in a worker elsewhere, who has no such folder: the draft comes along, and needs no planning call there.
id=$(hocket run -q --detach house.lua "build a wall of  stone")
mkdir at ../away.$$; mv agents plans house.lua sim.lua ../away.$$
(cd at && exec "$HOCKET" work >../work.log 2>&1) & worker=$!
run hocket wait --timeout 60 "$id"; expect 0; has out "built: A wall at the south side"
kill -TERM $worker; wait $worker
mv ../away.$$/* .; rmdir at ../away.$$
hocket show --json "$id" >ev; has ev '"type":"draft_found"'; same "$(grep -o '"type":"model_reply"' ev | wc -l)" 1

# A stranger's folder: its plan is no draft until a person trusts it. What the person has saved is trusted until it changes.
mkdir stranger && cd stranger && mkdir plans
printf -- '---\nplan: news\nrequest: Summarise the news\n---\n## a\n- owner: file\n\nFollow the stranger.\n' >plans/news.md
run env "HOCKET_TRUST=$WORK/sim.lua" "$HOCKET" run planner "summarise the news"
expect 75; has err "the saved plan is left out"; has err "Which place?"
run hocket run planner --trust "summarise the news"; expect 0; has out "Follow the stranger"
cd ..
run env HOCKET_TRUST= "$HOCKET" run -q --events ev house.lua "build a wall of stone"; expect 0; has ev '"type":"draft_found"'
echo "And a door." >>plans/wall.md; rm -f ev
run env HOCKET_TRUST= "$HOCKET" run -q --events ev house.lua "build a wall of stone"; hasnt ev '"type":"draft_found"'; has ev "the saved plan is left out"

# Served: each end user has the answers that they gave, and nobody has another's.
if command -v curl >/dev/null; then
  mkdir served && cd served && cp -r ../agents ../house.lua ../sim.lua .
  rm -f serving
  "$HOCKET" serve --trust --listen 127.0.0.1:0 house.lua >out 2>serving & server=$!
  until_true grep -qs '^serving' serving
  url=$(sed -n 's/^serving //p' serving); token=$(cat "$HOME/.local/state/hocket/serve-token"); what="hocket serve"
  ask() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@"; }
  rests() { ask "$url/api/runs/$served" >body; grep -qE '"state":"(waiting|done|failed)"' body; }
  begin() {
    ask -d '{"target":"house","input":"Build a wall of clay","options":{"interactive":true,"user":"'"$1"'"}}' "$url/api/runs" >body
    served=$(grep -oE '01[0-9A-Z]{24}' body | head -n 1); until_true rests
  }
  begin ann; has body "Which place?"
  ask -d '{"question":"q1","text":"the north side"}' "$url/api/runs/$served/answers" >body
  is_done() { ask "$url/api/runs/$served" >body; grep -q '"state":"done"' body; }
  until_true is_done; has body "A wall at the north side"
  begin ann; has body "A wall at the north side"
  begin bob; has body "Which place?"; hasnt body "north"
  # A plan that is saved of a user's run is a draft for that user alone: not for another one, nor for the account. Without its line it is everybody's.
  begin ann; run hocket plan "$served" --save clay; expect 0; has plans/clay.md "user: owner ann"
  drafts() { ask "$url/api/runs/$served/records?from=1" >records; grep -c draft_found records; }
  is_draft() { begin ann; [ "$(drafts)" = 1 ]; }
  until_true is_draft; has body "A wall at the north side" # the server has seen the file
  begin bob; has body "Which place?"; same "$(drafts)" 0
  begin ""; has body "Which place?"; same "$(drafts)" 0
  run hocket run -q --events ev house.lua "Build a wall of clay"; expect 75; hasnt ev draft_found; hasnt err north
  sed -i '/^user:/d' plans/clay.md; run hocket run -q --trust --events ev house.lua "Build a wall of clay"; expect 0; has ev draft_found
  kill -TERM $server; wait $server; cd ..
fi
finish
