"""The table that ./dev peers ends with: each client or server that others wrote, its version, the tests that try it, and what came of them.
peers_table.py CACHE RESULTS…: the folder where they are installed, and ctest's results as JUnit has them; the later ones count."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

cache, results = sys.argv[1], sys.argv[2:]

# Package, where it is from, and the tests without "mock/".
PEERS = [
    ("openai", "npm", "endpoints_node ends_node"), ("@anthropic-ai/sdk", "npm", "endpoints_node ends_node"),
    ("@a2a-js/sdk", "npm", "endpoints_node ends_node"), ("a2a-js-sdk-03", "npm", "endpoints_node ends_node"),
    ("@ag-ui/client", "npm", "endpoints_node ends_node"), ("ag-ui-client-0", "npm", "endpoints_node ends_node"),
    ("openai", "pip", "endpoints_python ends_python"), ("anthropic", "pip", "endpoints_python ends_python"),
    ("a2a-sdk", "pip", "endpoints_python ends_python"), ("mcp", "pip", "mcp_python ends_python"),
    ("agent-client-protocol", "pip", "acp_python ends_python"),
    ("langchain-openai", "pip", "endpoints_python"), ("langchain-anthropic", "pip", "endpoints_python"),
    ("pydantic-ai-slim", "pip", "endpoints_python"), ("schemathesis", "pip", "endpoints_schemathesis"),
    ("@modelcontextprotocol/conformance", "npm", "mcp_conformance mcp_conformance_server"),
    ("@modelcontextprotocol/server-everything", "npm", "mcp_servers"), ("@modelcontextprotocol/server-filesystem", "npm", "mcp_servers"),
    ("@modelcontextprotocol/server-memory", "npm", "mcp_servers"), ("opentelemetry-proto", "pip", "telemetry_python"),
]


def npm(name):
    try:
        with open(os.path.join(cache, "node_modules", name, "package.json")) as file:
            return json.load(file)["version"]
    except OSError:
        return None


def pip():
    python = os.path.join(cache, "python/bin/python")
    if not os.access(python, os.X_OK):
        return {}
    out = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True).stdout
    return {one["name"].lower(): one["version"] for one in json.loads(out)}


# What came of each test, and what it printed.
states, printed = {}, {}
for path in results:
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("name").removeprefix("mock/")
        states[name] = {"run": "passed", "fail": "FAILED"}.get(case.get("status"), "skipped")
        printed[name] = case.findtext("system-out") or ""

rows, installed = [], pip()
for name, source, tests in PEERS:
    version = npm(name) if source == "npm" else installed.get(name)
    came = {states.get(test, "skipped") for test in tests.split()}
    state = "FAILED" if "FAILED" in came else "skipped" if version is None or "skipped" in came else "passed"
    rows.append((name, source, version or "-", state, tests))
for line in printed.get("clients", "").splitlines():
    if row := re.match(r"(\S[^ ]*(?: \S+)*?) {2,}(\S.*?) {2,}(\S.*)$", line):
        state = "FAILED" if row[3] == "FAILED" else "skipped" if row[3].startswith("passed over") else "passed"
        rows.append((row[1], "program", row[2], state, "clients: " + row[3]))
for test, name in (("telemetry_collector", "OpenTelemetry's collector"), ("open_webui", "Open WebUI")):
    if test in states:
        rows.append((name, "program", "pinned", states[test], test))

widths = [max(len(row[i]) for row in rows) for i in range(4)]
for row in rows:
    print("  ".join([*(text.ljust(width) for text, width in zip(row, widths)), row[4]]))
count = {state: sum(row[3] == state for row in rows) for state in ("passed", "FAILED", "skipped")}
print(f"peers: {len(rows)} programs of others: {count['passed']} passed, {count['FAILED']} failed, {count['skipped']} skipped")
