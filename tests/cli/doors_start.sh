# What every door begins with, and what it refuses: a plan beside the target that is wrong, and a model that --model replaces.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
server=
at_end() { [ -z "$server" ] || { kill -TERM $server 2>/dev/null; wait $server 2>/dev/null; }; }
discover='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
serve() { # OPTION… TARGET: it serves
  what="hocket serve $*"
  rm -f serving
  "$HOCKET" serve --listen 127.0.0.1:0 "$@" >out 2>serving & server=$!
  until_true grep -qs '^serving' serving
}
end() { kill -TERM $server; wait $server; server=; }
acp() { # TARGET [OPTION…]: a session says hello
  target=$1; shift; what="hocket acp $target $*"
  { echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    echo '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"'$PWD'","mcpServers":[]}}'
    for _ in $(seq 100); do grep -q sessionId out 2>/dev/null && break; sleep 0.1; done
    echo '{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"'$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' out | head -1)'","prompt":[{"type":"text","text":"hi"}]}}'
    for _ in $(seq 100); do grep -qE 'stopReason|"error"' out && break; sleep 0.1; done
  } | "$HOCKET" acp "$@" "$target" >out 2>err
}
watched() { # SEEN TARGET [OPTION…]: a run that watches says SEEN, on out or err, and is ended
  seen=$1; shift; what="hocket run --watch $*"
  "$HOCKET" run --watch --store off "$@" hi >out 2>err & server=$!
  until_true grep -qs -e "$seen" out err; end
}

# ---- A plan beside the target is wrong: everything begins without it, and a server says so ----------------------------
mkdir plans
printf 'local hocket = require "hocket"\nlocal a = hocket.agent { name = "a", prompt = "You are a." }\nreturn function(request) return hocket.run(a, request) end\n' >s.lua
printf -- '---\nplan: wall\n---\n## dig\n- owner: nobody\n- after: [nothing]\n\nDig.\n' >plans/wall.md
printf 'plan: fine\nsteps:\n  - {id: ask, owner: assistant, description: Say it}\n' >plans/fine.yaml
wrong="plans/wall.md:4:1: task 'dig': there is no specialist 'nobody'"
run hocket run -q s.lua hi; expect 0; has out hi
echo hi | "$HOCKET" chat --store off s.lua >out 2>err; code=$?; what=chat; expect 0; has out "You said: hi"
acp s.lua --store off; has out "You said: hi"
serve s.lua
until_true grep -q "$wrong" serving; has serving "the plan is left out until you mend it (hocket check ./plans/wall.md)"
same "$(grep -c "plans/wall.md" serving)" 1
token=$(cat "$HOME/.local/state/hocket/serve-token"); url=$(sed -n 's/^serving //p' serving)
ask() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@" >body; }
ask -d '{"model":"s","messages":[{"role":"user","content":"hi"}]}' "$url/v1/chat/completions"; has body "You said: hi"
# What is changed beside it is taken all the same, and a plan that is mended and broken again is told of again.
printf -- '---\nname: b\n---\nYou.\n' >b.md
sed -i 's/nobody/assistant/; /after/d' plans/wall.md; run hocket check plans/wall.md; expect 0; sleep 1
printf -- '- owner: nobody\n' >>plans/wall.md; sed -i 's/owner: assistant/owner: nobody/' plans/wall.md
until_true sh -c '[ "$(grep -c "plans/wall.md:4:1" serving)" = 2 ]'; rm b.md
end
echo "$discover" | "$HOCKET" mcp serve s.lua >out 2>err; what="mcp serve"; has out '"name":"s"'
watched "$wrong" s.lua; has out "You said: hi"; hasnt err "not watched"
# The plan itself, where it is named, is refused at each door; one that is well is not.
for named in "run --plan" "run" "chat" "serve --listen 127.0.0.1:0" "mcp serve"; do
  run hocket $named plans/wall.md; expect 3; has err "$wrong"
done
acp plans/wall.md --store off; has out "there is no specialist 'nobody'"
run hocket run -q --plan fine hi; expect 0
serve plans/fine.yaml; end

# ---- A model of a provider that nobody knows: what --model replaces is not asked, whoever begins the run ------------------
mkdir one; cd one
printf -- '---\nname: x\ndescription: d\nmodel: nosuch/x\nagents: [y]\ntools: [delegate]\n---\nYou are x.\n' >x.md
printf -- '---\nname: y\ndescription: d\nmodel: nosuch/y\n---\nYou are y.\n' >y.md
unset HOCKET_MODEL
run hocket check x.md; expect 3; has out "x.md:4:8: unknown provider 'nosuch'"
for door in "run -q" "serve --listen 127.0.0.1:0" "mcp serve"; do
  run hocket $door x.md hi; [ $code != 0 ] || fail "it begins"; has err "x.md:4:8: unknown provider 'nosuch'"
done
run hocket run -q --model x=sim x.md hi; [ $code != 0 ] || fail "it begins"; has err "y.md:4:8: unknown provider 'nosuch'"
run hocket serve --listen 127.0.0.1:0 --model x=sim .; expect 3; has err "y.md:4:8: unknown provider 'nosuch'"; hasnt err "x.md"
for models in "--model sim" "--model x=sim --model y=sim"; do
  run hocket run -q $models x.md hi; expect 0; has out "You said: hi"
  echo hi | "$HOCKET" chat --store off $models x.md >out 2>err; code=$?; what="chat $models"; expect 0; has out "You said: hi"
  acp x.md --store off $models; has out "You said: hi"
  serve $models x.md
  url=$(sed -n 's/^serving //p' serving); ask -d '{"model":"x","messages":[{"role":"user","content":"hi"}]}' "$url/v1/chat/completions"; has body "You said: hi"
  printf 'You changed.\n' >>x.md; sleep 0.5; ask "$url/api/agents"; has body '"x"'; hasnt serving "nosuch"; end
  echo "$discover" | "$HOCKET" mcp serve $models x.md >out 2>err; what="mcp serve $models"; has out '"name":"x"'
  watched "You said: hi" x.md $models; hasnt err "not watched"; hasnt err nosuch
done
# Of several models others step in, at each door.
sed -i 's|^model: .*|model: [nosuch/x, sim]|' x.md y.md
run hocket run -q x.md hi; expect 0; has out "You said: hi"
serve x.md; end
cd ..
finish
