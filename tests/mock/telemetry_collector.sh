#!/bin/sh
# What OpenTelemetry's own collector makes of a team's spans, metrics and logs. Needs a Go, and the collector's modules:
#   ./dev peers                       builds it
#   HOCKET_OTEL_COLLECTOR=…/collector ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
collector=${HOCKET_OTEL_COLLECTOR:-}
[ -x "$collector" ] || { echo "skipped: set HOCKET_OTEL_COLLECTOR to a program built of tests/mock/collector (./dev peers)"; exit 77; }
folder=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# A port that is free: whoever has it before us makes the collector end.
port=$((20000 + $$ % 20000))
while :; do
  cat >collector.yaml <<END
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$port"}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [debug]}
    metrics: {receivers: [otlp], exporters: [debug]}
    logs: {receivers: [otlp], exporters: [debug]}
END
  "$collector" --config collector.yaml >seen 2>&1 &
  pid=$!
  until grep -q "Everything is ready" seen; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  grep -q "Everything is ready" seen && break
  grep -q "address already in use" seen || { cat seen; exit 1; }
  port=$((port + 1))
done

env -i PATH=/usr/bin:/bin HOME="$folder" XDG_STATE_HOME="$folder" HOCKET_TELEMETRY_WAIT=600 OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:$port" OTEL_SERVICE_NAME=travel \
  "$HOCKET" run --trust -q --model sim "$here/../../examples/travel/agents" "Two days in Rome" >plan 2>err </dev/null || { cat err; exit 1; }
kill $pid
wait $pid
pid=

failed=0
count() { grep -c "^ *Name  *: $1\$" seen; }
least() { n=$(count "$1"); [ "$n" -ge "$2" ] || { echo "FAILED: $2 spans '$1' at least, there are $n"; failed=1; }; }
least "invoke_workflow facilitator" 1
least "invoke_agent facilitator" 1
least "invoke_agent food" 1
least "execute_tool call_food" 1
least "execute_tool write_section" 6
least "chat default" 10
for text in "service.name: Str(travel)" "gen_ai.operation.name: Str(execute_tool)" "gen_ai.client.token.usage" "gen_ai.client.operation.duration"; do
  grep -qF "$text" seen || { echo "FAILED: the collector has not seen $text"; failed=1; }
done
traces=$(grep "Trace ID  *: ." seen | sort -u | wc -l)
[ "$traces" -eq 1 ] || { echo "FAILED: one trace expected, there are $traces"; failed=1; }
grep -q "telemetry" err && { cat err; failed=1; }
grep "Trace ID  *: ." seen | wc -l | sed 's/$/ spans and records/'
exit $failed
