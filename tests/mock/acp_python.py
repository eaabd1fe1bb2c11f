"""The Python SDK's client (PyPI agent-client-protocol) against `hocket acp`. Called by acp_python.sh with the program and a folder. It reads all that
comes by the types of the protocol's schema; what does not fit is an error."""
import asyncio
import os
import sys

import acp
from acp import schema

program, folder = sys.argv[1], sys.argv[2]

SIM = """
local json = require "hocket.json"
return function(q)
  if q.system:find "You help" then return "I have helped." end
  if q.last.role == "tool" then
    if q.last.text:find "created:" then return { calls = { { name = "call_helper", arguments = { task_ids = { 1 }, message = "Please" } } } } end
    return "It said: " .. q.last.text
  end
  local name, args = q.last.text:match "^call (%S+) (.*)$"
  if name then return { reasoning = "Hm.", text = "I look.", calls = { { name = name, arguments = json.decode(args) } } } end
  if q.last.text == "wait" then return { text = "late", latency = 30 } end
  return "You said: " .. q.last.text
end
"""
CODER = "---\nname: coder\ndescription: Changes files\ntools: [read_file, write_file, ask_user, facilitator]\nagents: [helper]\n---\nYou change files."
HELPER = "---\nname: helper\ndescription: Helps\ntools: [specialist]\n---\nYou help."
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def write(name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class Editor(acp.Client):
    def __init__(self):
        self.updates, self.asked, self.forms, self.answer = [], [], [], "allow"

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call, options))
        return schema.RequestPermissionResponse.model_validate({"outcome": {"outcome": "selected", "optionId": self.answer}})

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, session_id, path, **_):
        with open(path) as file:
            return schema.ReadTextFileResponse(content=file.read())

    async def write_text_file(self, session_id, path, content, **_):
        with open(path, "w") as file:
            file.write(content)

    async def create_elicitation(self, *args, **_):
        self.forms.append((args, _))
        return schema.AcceptElicitationResponse(action="accept", content={"answer": "the second"})

    def of(self, kind):
        return [one for one in self.updates if one.session_update == kind]

    def text(self, kind="agent_message_chunk"):
        return "".join(one.content.text for one in self.of(kind))


async def ask(agent, editor, session, *blocks):
    editor.updates, editor.asked = [], []
    result = await agent.prompt(session_id=session, prompt=[acp.text_block(one) if isinstance(one, str) else one for one in blocks])
    await asyncio.sleep(0)
    return result.stop_reason


async def main():
    write("agents/sim.lua", SIM)
    write("agents/coder.md", CODER)
    write("agents/helper.md", HELPER)
    write("notes.txt", "one\n")
    editor = Editor()
    env = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder + "/state"}
    async with acp.spawn_agent_process(editor, program, "acp", "--trust", "--model", "sim", env=env, cwd=folder) as (agent, process):
        made = await agent.initialize(
            protocol_version=1,
            client_capabilities=schema.ClientCapabilities(
                fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
            ),
        )
        assert made.protocol_version == 1 and made.agent_info.name == "hocket", made
        made = await agent.new_session(cwd=folder, mcp_servers=[])
        session = made.session_id
        assert [one.id for one in made.modes.available_modes] == ["ask", "auto", "plan", "deny"]

        assert await ask(agent, editor, session, "Hello") == "end_turn"
        assert editor.text() == "You said: Hello", editor.text()

        assert await ask(agent, editor, session, 'call write_file {"path": "made.txt", "content": "made"}') == "end_turn"
        assert open(folder + "/made.txt").read() == "made"
        call, options = editor.asked[0]
        assert call.content[0].type == "diff" and call.content[0].new_text == "made", call
        assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
        assert editor.of("tool_call")[0].kind == "edit"
        assert editor.of("tool_call_update")[-1].status == "completed"
        assert editor.text("agent_thought_chunk").find("Hm.") >= 0

        editor.answer = "reject"
        assert await ask(agent, editor, session, 'call write_file {"path": "no.txt", "content": "made"}') == "end_turn"
        assert not os.path.exists(folder + "/no.txt")

        assert await ask(agent, editor, session, 'call ask_user {"question": "Which?"}') == "end_turn"
        assert editor.text().endswith("Which?"), editor.text()
        assert await ask(agent, editor, session, "the second") == "end_turn"
        assert editor.text().endswith("It said: the second"), editor.text()

        tasks = 'call create_tasks {"tasks": [{"text": "Help", "assigned_to": "helper", "active_form": "Helping"}]}'
        assert await ask(agent, editor, session, tasks) == "end_turn"
        assert editor.of("plan")[-1].entries[0].status == "completed", editor.of("plan")[-1]

        blocks = [
            "Look", acp.image_block(PNG, "image/png"), acp.resource_link_block("a.txt", "file:///a.txt"),
            acp.resource_block(acp.embedded_text_resource("file:///b.txt", "what is in it")),
        ]
        assert await ask(agent, editor, session, *blocks) == "end_turn"
        assert "what is in it" in editor.text(), editor.text()

        await agent.set_session_mode(session_id=session, mode_id="auto")
        assert await ask(agent, editor, session, 'call write_file {"path": "auto.txt", "content": "made"}') == "end_turn"
        assert not editor.asked and open(folder + "/auto.txt").read() == "made"

        running = asyncio.create_task(ask(agent, editor, session, "wait"))
        await asyncio.sleep(0.5)
        await agent.cancel(session_id=session)
        assert await running == "cancelled"
        assert await ask(agent, editor, session, "/usage") == "end_turn"
        assert "model calls" in editor.text()

        try:
            await agent.new_session(cwd=folder + "/nowhere", mcp_servers=[])
            raise AssertionError("a folder that is not there was taken")
        except acp.RequestError as wrong:
            assert wrong.code == -32602, wrong
        listed = await agent.list_sessions()
        assert [one.session_id for one in listed.sessions] == [session], listed
        await agent.close_session(session_id=session)
    print("well")


asyncio.run(asyncio.wait_for(main(), 300))
