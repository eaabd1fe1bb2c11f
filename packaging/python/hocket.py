"""hocket from Python: one file, without dependencies.

    import hocket

    @hocket.tool
    def price(part: str) -> str:
        "What a part costs."
        return {"hinge": "3.10"}.get(part, "unknown")

    seller = hocket.Agent("You sell parts. Ask for the price before you name it.", tools=[price])
    print(hocket.run(seller, "What is a hinge?").text)

run() waits for an answer, stream() yields events as they happen, and @tool makes a function something that an agent can
call. All of them start the program `hocket`, which comes with the package; HOCKET names another one.

Functions run in this process, on threads: two calls of a model can run at the same time. An Agent's folder is temporary, so
its runs are not kept. Runs of a file or a folder are.
"""

import dataclasses
import inspect
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import types
import typing

__version__ = "0.1.0"
__all__ = ["Agent", "Error", "Result", "program", "run", "serve", "stream", "tool"]

PROTOCOL = "2025-11-25"
SERVER = "py"  # agents call a function by the name py__NAME


class Error(Exception):
    """A run that failed: `code` and `message` as hocket names them, `exit_code`, and `result` if there is one."""

    def __init__(self, code, message, exit_code=None, result=None):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.exit_code, self.result = code, message, exit_code, result


@dataclasses.dataclass
class Result:
    """What a run came to. `raw` is all that `hocket run --json` prints."""

    text: typing.Optional[str]
    ok: bool
    run: str
    finish: typing.Optional[str]
    usage: dict
    raw: dict


@dataclasses.dataclass
class Agent:
    """An agent that is not in a file: its prompt, the functions that it may call, and keys of agent files (docs/reference/agents.md)."""

    prompt: str
    name: str = "agent"
    model: typing.Optional[str] = None
    tools: typing.Sequence[typing.Callable] = ()
    keys: dict = dataclasses.field(default_factory=dict)


# ---- The program ---------------------------------------------------------------------------


def program():
    """The path of the program: HOCKET, that of this package, or the first one in PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    schemes = [sysconfig.get_path("scripts")]
    if f"{os.name}_user" in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    for path in [os.environ.get("HOCKET"), *(os.path.join(s, "hocket") for s in schemes), os.path.join(here, "bin", "hocket")]:
        if path and os.access(path, os.X_OK):
            return path
    found = shutil.which("hocket")
    if not found:
        raise Error("not_found", "the program hocket is not installed (pip install hocket)")
    return found


# ---- Functions as tools --------------------------------------------------------------------

_tools = []  # what @tool has seen, for serve()
_types = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array", dict: "object"}
_unions = (typing.Union, getattr(types, "UnionType", typing.Union))  # the second, `int | None`, is of Python 3.10 and later


def _schema(kind):
    """The JSON Schema of an annotation. What it does not know may be anything."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in _unions and type(None) in arguments and len(arguments) == 2:
        return _schema(next(a for a in arguments if a is not type(None)))
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    schema = {"type": _types[origin or kind]} if (origin or kind) in _types else {}
    if origin is list and arguments:
        schema["items"] = _schema(arguments[0])
    return schema


def _describe(function):
    """The tool that a function is for a model: its name, its first lines of documentation, and its parameters."""
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a tool takes named parameters, and '{name}' is none")
        properties[name] = _schema(hints.get(name, str))
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "name": function.__name__,
        "description": inspect.getdoc(function) or function.__name__,
        "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": False},
    }


def tool(function):
    """Makes a function a tool. Its annotations say what a model may pass, its documentation when to call it."""
    function.hocket_tool = _describe(function)
    _tools.append(function)
    return function


def _call(functions, params):
    """What a call of a tool answers: text, or an error that the model can read."""
    function = functions.get(params.get("name"))
    if function is None:
        return {"content": [{"type": "text", "text": f"there is no function {params.get('name')!r}"}], "isError": True}
    try:
        value = function(**(params.get("arguments") or {}))
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    except Exception as error:  # the model's to read: its arguments may be wrong
        return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
    return {"content": [{"type": "text", "text": text}]}


def _answer(functions, message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": {"name": "hocket.py", "version": __version__}}
    if method == "tools/list":
        return {"tools": [f.hocket_tool for f in functions.values()]}
    if method == "tools/call":
        return _call(functions, params)
    return {} if method == "ping" else None


def _speak(functions, lines, write):
    """Serves the Model Context Protocol until `lines` end. A call has a thread of its own."""

    def reply(message):
        result = _answer(functions, message)
        end = {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}) + "\n")

    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message and "method" in message:
            threading.Thread(target=reply, args=(message,), daemon=True).start()


def _named(functions):
    return {f.__name__: f if hasattr(f, "hocket_tool") else tool(f) for f in functions}


def serve(functions=None):
    """Serves functions on stdin and stdout, for a file that an agent names as its server (mcp:). Without any: all tools."""
    out, lock = os.fdopen(os.dup(1), "w"), threading.Lock()
    os.dup2(2, 1)  # what functions print is no message

    def write(text):
        with lock:
            out.write(text)
            out.flush()

    _speak(_named(_tools if functions is None else functions), sys.stdin, write)


def _relay(path):
    """What hocket starts for functions of this process: it passes on what both say."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)

        def back():
            while True:
                data = s.recv(65536)
                if not data:
                    os._exit(0)
                os.write(1, data)

        threading.Thread(target=back, daemon=True).start()
        while True:
            data = os.read(0, 65536)
            if not data:
                return
            s.sendall(data)


class _Functions:
    """A socket in a folder of ours alone, behind which functions of this process are served."""

    def __init__(self, folder, functions):
        self.functions, self.path = _named(functions), os.path.join(folder, "s")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        lock = threading.Lock()

        def write(text):
            with lock:
                try:
                    connection.sendall(text.encode())
                except OSError:
                    pass  # it has ended meanwhile

        with connection, connection.makefile("r", encoding="utf-8") as lines:
            _speak(self.functions, lines, write)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


# ---- Running -------------------------------------------------------------------------------


def _front_matter(agent, functions):
    keys = {"name": agent.name, **agent.keys}
    if agent.model:
        keys["model"] = agent.model
    if functions:
        server = {"command": sys.executable, "args": [os.path.abspath(__file__), "relay", functions.path]}
        keys["mcp"] = {**keys.get("mcp", {}), SERVER: server}
    return "---\n" + "".join(f"{name}: {json.dumps(value)}\n" for name, value in keys.items()) + f"---\n{agent.prompt}\n"


def _options(options):
    """KEY=VALUE of Python as options of `hocket run`: max_cost=0.5 is --max-cost=0.5, True a flag, a list an option for each."""
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            flag = "--" + name.replace("_", "-")
            if one is True:
                yield flag
            elif one is not None and one is not False:
                yield f"{flag}={one}"


class _Command:
    """The command line of a run, and the folder of an agent that is not in a file for as long as the run takes."""

    def __init__(self, target, options):
        self.folder = self.functions = None
        if isinstance(target, Agent):
            target, options = self._write(target, dict(options))
        self.words = [program(), "run", *_options(options)]
        self.target = os.fspath(target)

    def _write(self, agent, options):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", agent.name):
            raise ValueError(f"an agent cannot be called {agent.name!r}")
        self.folder = tempfile.TemporaryDirectory(prefix="hocket-")
        if agent.tools:
            self.functions = _Functions(self.folder.name, agent.tools)
            rules = options.get("approve") or []
            rules = [rules] if isinstance(rules, str) else list(rules)
            options["approve"] = rules + [f"{SERVER}__{name}=allow" for name in self.functions.functions]
        if options.get("model") == "sim" and options.get("trust") and os.path.isfile("sim.lua"):
            shutil.copy("sim.lua", self.folder.name)  # it plays the model, as beside the file of an agent
        options.setdefault("store", "off")
        options.setdefault("trust", True)  # what this folder has is of this process
        path = os.path.join(self.folder.name, agent.name + ".md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_front_matter(agent, self.functions))
        return path, options

    def start(self, *flags):
        return subprocess.Popen([*self.words, *flags, self.target, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, encoding="utf-8")

    def close(self):
        if self.functions:
            self.functions.close()
        if self.folder:
            self.folder.cleanup()


def _send(child, request):
    try:
        with child.stdin:
            child.stdin.write(request)
    except BrokenPipeError:
        pass  # it has ended, and says why


def run(target, request="", **options):
    """Runs an Agent, a file or a folder with a request, and returns its Result. A run that fails raises Error.

    Options are those of `hocket run` with underscores: model="openai/gpt-6.1-terra", max_cost=0.5, timeout=60. trust=True
    runs Lua and servers of a file or folder that nobody has looked at. An exception, as of Ctrl-C, cancels the run.
    """
    command = _Command(target, options)
    try:
        child = command.start("--json")
        try:
            out, errors = child.communicate(request)
        except BaseException:
            child.terminate()
            child.communicate()  # until it has ended
            raise
    finally:
        command.close()
    try:
        raw = json.loads(out)
    except ValueError:
        raise Error("failed", errors.strip() or f"hocket ended with {child.returncode}", child.returncode) from None
    result = Result(raw.get("text"), raw.get("ok", False), raw.get("run"), raw.get("finish"), raw.get("usage") or {}, raw)
    if not result.ok:
        error = raw.get("error") or {}
        raise Error(error.get("code", "failed"), error.get("message", errors.strip()), child.returncode, result)
    return result


def stream(target, request="", **options):
    """Runs as run() does, and yields each event (docs/reference/events.md) as a dict when it happens.

    A run that fails raises Error behind its last event. Closing the generator cancels the run.
    """
    command = _Command(target, options)
    child = None
    errors, last = [], {}
    reader = threading.Thread(target=lambda: errors.extend(child.stderr), daemon=True)
    try:
        child = command.start("--events=-", "--quiet")
        reader.start()
        _send(child, request)
        for line in child.stdout:
            event = json.loads(line)
            last = event if event["type"] == "error" else last
            yield event
        child.wait()
        reader.join()
        if child.returncode:
            message = last.get("message") or "".join(errors).strip() or f"hocket ended with {child.returncode}"
            raise Error(last.get("code", "failed"), message, child.returncode)
    finally:
        if child:
            if child.poll() is None:
                child.terminate()
            child.stdout.close()  # before the wait: a program that nobody reads does not end
            child.wait()
            reader.join()
            child.stderr.close()
        command.close()


if __name__ == "__main__" and len(sys.argv) == 3 and sys.argv[1] == "relay":
    _relay(sys.argv[2])
