"""hocket.py, with the program that HOCKET names and a model that this test plays: a server that speaks OpenAI's protocol."""

import http.server
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import typing
import unittest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "packaging", "python")
sys.path.insert(0, SOURCE)

import hocket  # noqa: E402


class Model(http.server.BaseHTTPRequestHandler):
    """Calls the first tool with `arguments` until it sees a result, which it then repeats."""

    arguments, seen, before = {}, [], None

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(request)
        if self.before and self.before():
            return
        last, tools = request["messages"][-1], request.get("tools")
        if tools and last["role"] == "user":
            call = {"index": 0, "id": "c1", "type": "function",
                    "function": {"name": tools[0]["function"]["name"], "arguments": json.dumps(self.arguments)}}
            delta, end = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        else:
            delta, end = {"role": "assistant", "content": f"I was told: {last['content']}"}, "stop"
        chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
                 "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def price(part: str, count: int = 1) -> str:
    """What a part costs."""
    prices.append((part, count))
    return "3.10" if part == "hinge" else "unknown"


prices = []


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{cls.server.server_port}/v1"
        os.environ["OPENAI_API_KEY"] = "none"
        cls.folder = tempfile.TemporaryDirectory()  # other tests that run beside this one have files in the common one
        os.environ["TMPDIR"] = tempfile.tempdir = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        prices.clear()
        Model.seen.clear()
        Model.before = None
        Model.arguments = {"part": "hinge", "count": 2}
        self.agent = hocket.Agent("You sell parts.", name="seller", model="openai/test", tools=[price])

    def tearDown(self):
        self.assertEqual([f for f in os.listdir(tempfile.gettempdir()) if f.startswith("hocket-")], [])

    def test_an_agent_calls_a_function_of_this_process(self):
        result = hocket.run(self.agent, "What is a hinge?")
        self.assertEqual(result.text, "I was told: 3.10")
        self.assertEqual(prices, [("hinge", 2)])
        self.assertEqual(result.usage["calls"], 2)
        [tool] = Model.seen[0]["tools"]
        self.assertEqual(tool["function"]["name"], "py__price")
        self.assertEqual(tool["function"]["description"], "What a part costs.")
        self.assertEqual(tool["function"]["parameters"]["required"], ["part"])

    def test_a_function_that_raises_is_an_error_that_the_model_reads(self):
        def broken() -> str:
            "Fails."
            raise KeyError("no such part")

        Model.arguments = {}
        agent = hocket.Agent("You sell parts.", model="openai/test", tools=[broken])
        self.assertIn("KeyError", hocket.run(agent, "x").text)

    def test_events_come_in_order_and_end_with_the_run(self):
        types = [event["type"] for event in hocket.stream(self.agent, "What is a hinge?")]
        self.assertEqual((types[0], types[-1]), ("workflow_started", "workflow_finished"))
        self.assertIn("tool_call", types)

    def test_a_stream_that_is_closed_leaves_no_process(self):
        events = hocket.stream(self.agent, "What is a hinge?")
        self.assertEqual(next(events)["type"], "workflow_started")
        child = events.gi_frame.f_locals["child"]
        events.close()
        self.assertIsNotNone(child.returncode)

    def test_what_fails_raises_with_code_and_exit_code(self):
        with self.assertRaises(hocket.Error) as caught:
            hocket.run("there/is/no/such.md", "x")
        self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaises(hocket.Error) as caught:
            hocket.run(self.agent, "x", max_turns=1, strict=True)
        self.assertNotEqual(caught.exception.code, "")
        with self.assertRaises(hocket.Error) as caught:
            list(hocket.stream("there/is/no/such.md", "x"))
        self.assertEqual((caught.exception.code, caught.exception.exit_code), ("invalid", 2))
        self.assertIn("there/is/no/such.md", caught.exception.message)

    def test_a_run_that_is_interrupted_is_cancelled(self):
        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted

        former, over = signal.signal(signal.SIGUSR1, interrupt), threading.Event()
        self.addCleanup(signal.signal, signal.SIGUSR1, former)
        self.addCleanup(over.set)

        def hold():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            return over.wait()

        Model.before = staticmethod(hold)
        try:
            hocket.run(self.agent, "x")
            self.fail("it was not interrupted")
        except Interrupted as interrupted:
            frames = {frame.f_code.co_name: frame for frame, _ in traceback.walk_tb(interrupted.__traceback__)}
        self.assertIsNotNone(frames["run"].f_locals["child"].returncode)

    def test_lua_of_a_folder_runs_only_with_trust(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "main.lua"), "w") as file:
                file.write("return 'ready'\n")
            for options in ({}, {"trust": False}):
                with self.assertRaises(hocket.Error) as caught:
                    hocket.run(folder, "x", store="off", **options)
                self.assertIn("trust", caught.exception.message)
            self.assertEqual(hocket.run(folder, "x", store="off", trust=True).text, "ready")

    def test_the_scripted_model_of_the_folder_plays_an_agent_only_with_trust(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sim.lua"), "w") as file:
                file.write("return function() return 'played' end\n")
            os.chdir(folder)
            try:
                self.agent.model = None
                self.assertEqual(hocket.run(self.agent, "x", model="sim", trust=True).text, "played")
                self.assertNotEqual(hocket.run(self.agent, "x", model="sim").text, "played")
            finally:
                os.chdir(here)

    def test_options_are_those_of_the_program(self):
        with self.assertRaises(hocket.Error) as caught:
            hocket.run(self.agent, "x", no_such_option=1)
        self.assertIn("no-such-option", caught.exception.message)
        with self.assertRaises(hocket.Error) as caught:
            list(hocket.stream(self.agent, "x" * 200000, no_such_option=1))  # more than a pipe takes
        self.assertIn("no-such-option", caught.exception.message)

    def test_a_name_cannot_leave_the_folder(self):
        with self.assertRaises(ValueError):
            hocket.run(hocket.Agent("x", name="../x"), "y")

    def test_a_file_that_serves_its_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            shop, seller = os.path.join(folder, "shop.py"), os.path.join(folder, "seller.md")
            with open(shop, "w") as file:
                file.write(f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {SOURCE!r})\nimport hocket\n@hocket.tool\ndef price(part: str):\n"
                           "    'What a part costs.'\n    print('noise')\n    return {'part': part, 'price': 4}\nhocket.serve()\n")
            server = json.dumps({"shop": {"command": sys.executable, "args": [shop]}})
            with open(seller, "w") as file:
                file.write(f"---\nname: seller\nmodel: openai/test\nmcp: {server}\n---\nYou sell parts.\n")
            Model.arguments = {"part": "bolt"}
            result = hocket.run(seller, "x", approve="shop__price=allow", store=os.path.join(folder, "runs.db"), trust=True)
            self.assertEqual(result.text, 'I was told: {"part": "bolt", "price": 4}')


class Describing(unittest.TestCase):
    def test_annotations_become_a_schema(self):
        def f(a: int, b: float, c: bool, d: typing.List[str], e: typing.Optional[str] = None, g: typing.Literal["x", "y"] = "x"):
            pass

        if sys.version_info >= (3, 10):
            self.assertEqual(hocket._schema(int | None), {"type": "integer"})
        schema = hocket._describe(f)["inputSchema"]
        self.assertEqual(schema["required"], ["a", "b", "c", "d"])
        self.assertEqual(schema["properties"], {
            "a": {"type": "integer"}, "b": {"type": "number"}, "c": {"type": "boolean"},
            "d": {"type": "array", "items": {"type": "string"}}, "e": {"type": "string"}, "g": {"enum": ["x", "y"]}})

    def test_a_function_without_named_parameters_is_refused(self):
        with self.assertRaises(TypeError):
            hocket.tool(lambda *parts: None)

    def test_strange_messages_are_passed_over(self):
        wrote = io.StringIO()
        lines = ["no JSON", "[]", "7", '{"id": 1}', '{"method": "notifications/initialized"}', '{"id": 2, "method": "nothing"}']
        hocket._speak({}, lines, wrote.write)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.daemon:
                thread.join(5)
        self.assertEqual(json.loads(wrote.getvalue())["error"]["code"], -32601)


class Versions(unittest.TestCase):
    def test_module_and_program_are_of_one_version(self):
        said = subprocess.run([os.environ["HOCKET"], "--version"], capture_output=True, text=True).stdout
        self.assertEqual(said.split()[1], hocket.__version__)


if __name__ == "__main__":
    unittest.main()
