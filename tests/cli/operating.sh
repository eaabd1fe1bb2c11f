# The files for operators in docs/examples: the unit passes systemd's own check, and each command of the compose file is one that
# this program takes.
. "$(dirname "$0")/lib.sh"
EXAMPLES="$ROOT/docs/examples"
mkdir home; export HOME="$WORK/home"

cat >commands.lua <<'X'
local path = ...
local text = assert(require("hocket").fs.read(path))
local told = assert(require("hocket.yaml").decode(text))
for name, service in pairs(told.services) do
  if service.image == "hocket" then print(name .. " " .. table.concat(service.command, " ")) end
end
X
cp "$EXAMPLES/compose.yaml" .
run hocket run -q commands.lua compose.yaml; expect 0; cp out commands
same "$(wc -l <commands)" 3
# shellcheck disable=SC2034 # the name is for people
while read -r name word rest; do
  run hocket "$word" --help; expect 0; cp out help
  for option in $rest; do
    case $option in --*) grep -q -e "$option" help || fail "$word has no $option" ;; esac
  done
done <commands
# As the compose file starts it, in an empty folder, on another port.
mkdir empty
(cd empty && exec "$HOCKET" serve --listen 127.0.0.1:0 --behind-proxy --name localhost --store "$WORK/home/runs.db") >serve.out 2>&1 & server=$!
until grep -q serving serve.out; do kill -0 $server 2>/dev/null || { cat serve.out; fail "serve has ended"; break; }; sleep 0.05; done
kill $server; wait $server

finish
