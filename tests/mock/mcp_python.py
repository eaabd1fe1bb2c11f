"""The Python SDK's client (PyPI mcp) against our server, in both eras; and our client against its server. Called by mcp_python.sh
with the program and a folder."""
import asyncio
import json
import os
import subprocess
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

program, folder = sys.argv[1], sys.argv[2]

SIM = """
return function(q)
  if q.system:find "You rate" then return '{"stars": 4}' end
  if q.system:find "You ask" and q.last.role ~= "tool" then
    return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } }
  end
  if q.system:find "You wait" then return { text = "late", latency = 30 } end
  return "I say: " .. q.last.text
end
"""
AGENTS = {
    "poet": "description: Writes poems\n---\nYou write poems.",
    "guide": "description: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.",
    "slow": "description: Takes long\n---\nYou wait.",
    "rate": "description: Rates a text\ninput: {type: object, required: [text], properties: {text: {type: string}}}\n"
            "output: {type: object, required: [stars], properties: {stars: {type: integer}}}\n---\nYou rate texts.",
}
SERVER = '''
from mcp.server.mcpserver import MCPServer
server = MCPServer("python")
@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b
server.run("stdio")
'''


def write(name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


async def elicit(_context, params):
    assert "Which city?" in params.message, params.message
    return ElicitResult(action="accept", content={"answer": "Lisbon"})


async def check(mode, expected, server):
    progress = []

    async def on_progress(value, _total, message):
        progress.append((value, message))

    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        assert client.protocol_version == expected, client.protocol_version
        assert mode == expected or client.server_info.name == "hocket" # a client that asks for no more knows no more
        tools = (await client.list_tools()).tools
        assert [one.name for one in tools] == ["guide", "poet", "rate", "slow"], tools
        said = await client.call_tool("poet", {"input": "rain"}, progress_callback=on_progress)
        assert said.content[0].text == "I say: rain", said
        assert progress and [one[0] for one in progress] == sorted(one[0] for one in progress), progress
        rated = await client.call_tool("rate", {"text": "fine"})
        assert rated.structured_content == {"stars": 4}, rated
        asked = await client.call_tool("guide", {"input": "go"})
        assert "Lisbon" in asked.content[0].text, asked
        wrong = await client.call_tool("rate", {"words": "x"})
        assert wrong.is_error, wrong
        prompts = (await client.list_prompts()).prompts
        assert prompts[0].name == "journey" and [one.name for one in prompts[0].arguments] == ["days"], prompts
        got = await client.get_prompt("journey", {"days": "3"})
        assert got.messages[0].content.text == "Plan 3 days.\n", got
        assert (await client.list_resource_templates()).resource_templates
        many = await asyncio.gather(*(client.call_tool("poet", {"input": str(i)}) for i in range(50)))
        assert [one.content[0].text for one in many] == [f"I say: {i}" for i in range(50)]
        try:
            await asyncio.wait_for(client.call_tool("slow", {"input": "x"}), 0.3)
            raise AssertionError("it was to be cancelled")
        except asyncio.TimeoutError:
            pass
        assert (await client.call_tool("poet", {"input": "after"})).content[0].text == "I say: after"
    print("ok: our server,", expected, "over HTTP" if isinstance(server, str) else "")


def check_all(server):
    asyncio.run(check("2026-07-28", "2026-07-28", server))
    asyncio.run(check("auto", "2026-07-28", server))
    asyncio.run(check("legacy", "2025-11-25", server))


def check_http():
    process = subprocess.Popen([program, *ARGS, "--port", "0", "--no-token"], stderr=subprocess.PIPE, text=True)
    try:
        check_all(process.stderr.readline().split()[1])
    finally:
        process.terminate()
        assert process.wait(5) == 0


def check_ours(path):
    for args, expected in ((["tools", "python"], "add  Adds two numbers"), (["call", "python", "add", '{"a":2,"b":3}'], "5")):
        out = subprocess.run([program, "mcp", *args, "--trust", "--in", folder], capture_output=True, text=True)
        assert out.returncode == 0 and out.stdout.strip() == expected, (args, out)
    print("ok: our client")


for name, text in AGENTS.items():
    write(f"agents/{name}.md", f"---\nname: {name}\n{text}")
write("agents/sim.lua", SIM)
write("prompts/journey.md", "# Plans a journey\nPlan {{days}} days.\n")
path = write("server.py", SERVER)
write(".mcp.json", json.dumps({"mcpServers": {"python": {"command": sys.executable, "args": [path]}}}))
ARGS = ["mcp", "serve", "--model", "sim", "--trust", os.path.join(folder, "agents")]
check_all(StdioServerParameters(command=program, args=ARGS))
check_http()
check_ours(path)
