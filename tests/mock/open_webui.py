"""Talks to Open WebUI as its page does. Called by open_webui.sh."""
import json
import sys
import time
import urllib.request

base, folder = sys.argv[1:3]
token = None


def ask(path, body=None):
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(base + path, json.dumps(body).encode() if body is not None else None, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def until(seconds, what):
    end = time.monotonic() + seconds
    while True:
        try:
            value = what()
            if value:
                return value
        except OSError:
            value = None
        assert time.monotonic() < end, value
        time.sleep(0.3)


TOOL = f'''
class Tools:
    def look(self, name: str) -> str:
        """
        Shows a file
        :param name: its name
        """
        return open("{folder}/" + name).read()
'''

until(240, lambda: "true" in ask("/health"))
token = json.loads(ask("/api/v1/auths/signin", {"email": "", "password": ""}))["token"]
assert [one["id"] for one in json.loads(ask("/api/models"))["data"]] == ["guide"]
hello = {"model": "guide", "messages": [{"role": "user", "content": "Hello"}]}
whole = json.loads(ask("/api/chat/completions", {**hello, "stream": False}))
assert whole["choices"][0]["message"]["content"] == "A title.", whole
streamed = ask("/api/chat/completions", {**hello, "stream": True})
assert '"content":"A title."' in streamed and "[DONE]" in streamed, streamed
title = json.loads(ask("/api/v1/tasks/title/completions", {**hello, "chat_id": "x"}))
assert title["choices"][0]["message"]["content"] == "A title.", title

ask("/api/v1/tools/create", {"id": "look", "name": "Look", "meta": {"description": "Shows a file"}, "content": TOOL})
messages = {
    "m1": {"id": "m1", "parentId": None, "childrenIds": ["m2"], "role": "user", "content": "go"},
    "m2": {"id": "m2", "parentId": "m1", "childrenIds": [], "role": "assistant", "content": "", "model": "guide"},
}
chat = json.loads(ask("/api/v1/chats/new", {"chat": {"title": "x", "models": ["guide"], "history": {"currentId": "m2", "messages": messages}}}))["id"]
ask("/api/chat/completions", {
    "model": "guide", "stream": True, "params": {"function_calling": "native"}, "tool_ids": ["look"],
    "messages": [{"role": "user", "content": "go"}], "chat_id": chat, "id": "m2", "session_id": "s1",
})


def answer():
    message = json.loads(ask(f"/api/v1/chats/{chat}"))["chat"]["history"]["messages"]["m2"]
    return message["content"] if message.get("done") else None


said = until(60, answer)
assert "GOT first word" in said and "AND second word" in said, said
