# A collector that reads OTLP with the classes that protobuf has made of OpenTelemetry's own definitions: an unknown member, or one of
# another type, is an error there. Ids are hexadecimal in OTLP's JSON, where protobuf's has base64.
import base64, http.server, json, subprocess, sys, threading

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

requests = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest, "/v1/logs": ExportLogsServiceRequest}
ids = {"traceId", "spanId", "parentSpanId"}
taken, wrong = {path: [] for path in requests}, []


def from_hex(value):
    if isinstance(value, dict):
        return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids else from_hex(v) for k, v in value.items()}
    return [from_hex(v) for v in value] if isinstance(value, list) else value


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            taken[self.path].append(json_format.ParseDict(from_hex(json.loads(body)), requests[self.path]()))
        except Exception as e:
            wrong.append(f"{self.path}: {e}")
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
hocket, example, folder = sys.argv[1:4]
for names in "", "gen_ai_latest_experimental":
    env = {"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": folder, "HOME": folder, "HOCKET_TELEMETRY_WAIT": "600", "OTEL_SEMCONV_STABILITY_OPT_IN": names,
           "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event"}
    subprocess.run([hocket, "run", "--model", "sim", "--trust", "-q", example, "Two days in Rome"], env=env, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=600)
assert not wrong, wrong
spans = [s for r in taken["/v1/traces"] for rs in r.resource_spans for ss in rs.scope_spans for s in ss.spans]
by_id = {s.span_id: s for s in spans}
roots = [s for s in spans if not s.parent_span_id]
assert len(by_id) == len(spans) and len(roots) == 2 and len({s.trace_id for s in spans}) == 2, (len(spans), len(roots))
assert all(s.parent_span_id in by_id for s in spans if s.parent_span_id)
assert taken["/v1/metrics"] and taken["/v1/logs"]
print(f"{len(spans)} spans")
