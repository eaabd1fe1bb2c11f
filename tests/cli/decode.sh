# `hocket decode`: recorded answers, as files and from stdin.
. "$(dirname "$0")/lib.sh"

printf 'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n' >half
{ cat half; printf 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'; } >whole
printf '{"error":{"message":"slow \\u0000 down \\"you\\"","type":"requests"}}' >limit
printf '\377\376not json' >noise

run hocket decode openai_chat whole
expect 0; empty err; has out '"text":"Hello"'; has out '"finish_reason":"stop"'
same "$(wc -l <out)" 1
for chunk in 1 7 random:3; do
  run hocket decode openai_chat whole --chunk $chunk
  expect 0; has out '"text":"Hello"'
done
what="decode -"; hocket decode openai_chat - <whole >out 2>err; code=$?
expect 0; has out '"text":"Hello"'
run hocket decode openai_chat half
expect 1; has out '"text":"Hello"'; has err "ended"
run hocket decode openai_chat limit --status 429
expect 0; has out '"status":429'; has out '"type":"requests"'
run hocket decode gemini noise
expect 1; has err "ended without"
what="decode </dev/null"; hocket decode gemini - </dev/null >out 2>err; code=$?
expect 1; has err "empty"

run hocket decode; expect 2
run hocket decode gemini; expect 2
run hocket decode gemni whole; expect 2; empty out; has err "did you mean 'gemini'?"
run hocket decode gemini /no/such/file; expect 2; has err "No such file"
run hocket decode gemini whole --chunk 0; expect 2
run hocket decode gemini whole --status 9; expect 2

# Every recorded answer of real servers (HOCKET_WIRE), each in a process of its own: some.
if [ -n "${HOCKET_WIRE:-}" ]; then
  n=0
  for file in "$HOCKET_WIRE"/anthropic/*/*.response.sse; do
    [ $n -lt 10 ] || break
    run hocket decode anthropic "$file"
    expect 0; has out '"finish_reason"'
    n=$((n + 1))
  done
fi
finish
