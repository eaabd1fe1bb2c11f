"""Checks recorded requests against the types of the providers' own Python SDKs.

    sdk_types.py RECORDING

Typed dictionaries (openai, anthropic) are walked here and not given to pydantic: that ignores
members that it does not know, and looks into no Iterable. Models (google-genai, ollama) check
themselves. Prints every place where a request does not fit, and fails then.
"""

import collections.abc
import json
import os
import sys
import types
import typing

import typing_extensions as te

UNIONS = (typing.Union, types.UnionType)
WRAPPERS = (te.Required, te.NotRequired, typing.Required, typing.NotRequired, te.ReadOnly)
LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
MAPS = (dict, collections.abc.Mapping)
PLAIN = {str: str, bool: bool, int: int, float: (int, float), type(None): type(None)}


def unwrap(hint):
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated or origin in WRAPPERS:
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, (typing.TypeAliasType if hasattr(typing, "TypeAliasType") else te.TypeAliasType, te.TypeAliasType)):
            hint = hint.__value__
        else:
            return hint


def check_dict(value, hint, path):
    """Problems of a value that has to fit a TypedDict."""
    if not isinstance(value, dict):
        return [f"{path}: {hint.__name__} expected, got {json.dumps(value)[:60]}"]
    hints = typing.get_type_hints(hint, include_extras=True)
    problems = [f"{path}: '{name}' of {hint.__name__} is missing" for name in hint.__required_keys__ if name not in value]
    for name, member in value.items():
        if name not in hints:
            problems.append(f"{path}: {hint.__name__} has no '{name}'")
        else:
            problems += check(member, hints[name], f"{path}.{name}")
    return problems


def check_union(value, hint, path):
    """The problems with the member of the union that fits best."""
    all_problems = [check(value, one, path) for one in typing.get_args(hint)]
    return min(all_problems, key=lambda p: (len(p), -max((len(x.split(":")[0]) for x in p), default=0)))


def check(value, hint, path):
    hint = unwrap(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in (typing.Any, object):
        return []
    if te.is_typeddict(hint):
        return check_dict(value, hint, path)
    if origin in UNIONS:
        return check_union(value, hint, path)
    if origin in (typing.Literal, te.Literal):
        return [] if value in args else [f"{path}: {json.dumps(value)[:60]} is none of {args}"]
    if hint in LISTS or origin in LISTS:
        if not isinstance(value, list):
            return [f"{path}: a list expected, got {json.dumps(value)[:60]}"]
        return [p for i, one in enumerate(value) for p in check(one, args[0] if args else object, f"{path}[{i}]")]
    if hint in MAPS or origin in MAPS:
        if not isinstance(value, dict):
            return [f"{path}: an object expected, got {json.dumps(value)[:60]}"]
        return [p for k, one in value.items() for p in check(one, args[1] if args else object, f"{path}.{k}")]
    if hint in PLAIN:
        good = isinstance(value, PLAIN[hint]) and not (isinstance(value, bool) and hint in (int, float))
        return [] if good else [f"{path}: {hint.__name__} expected, got {json.dumps(value)[:60]}"]
    if isinstance(hint, type) or isinstance(origin, type):  # a file, a date, an object of the SDK
        return [f"{path}: {hint} expected"]
    raise TypeError(f"{path}: what is {hint}?")


def openai_chat(body, path):
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
    return check(body, CompletionCreateParamsStreaming if body.get("stream") else CompletionCreateParamsNonStreaming, "body")


def openai_responses(body, path):
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming
    return check(body, ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming, "body")


def anthropic(body, path):
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
    return check(body, MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming, "body")


def model_problems(parse, value, path):
    import pydantic
    try:
        parse(value)
    except pydantic.ValidationError as e:
        return [f"{path}.{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in e.errors()]
    return []


def gemini(body, path):
    from google.genai import types as g
    parts = {"contents": (g.Content, True), "systemInstruction": (g.Content, False), "tools": (g.Tool, True),
             "toolConfig": (g.ToolConfig, False), "generationConfig": (g.GenerationConfig, False)}
    problems = [f"body: there is no '{name}'" for name in body if name not in parts]
    for name, (kind, many) in parts.items():
        if name in body:
            for i, one in enumerate(body[name] if many else [body[name]]):
                problems += model_problems(kind.model_validate, one, f"{name}[{i}]" if many else name)
    return problems


def ollama(body, path):
    from ollama._types import ChatRequest
    known = set(ChatRequest.model_fields)
    return [f"body: there is no '{n}'" for n in body if n not in known] + model_problems(ChatRequest.model_validate, body, "body")


def bedrock(body, path):
    import botocore.session
    import botocore.validate
    model, _, operation = path.removeprefix("/model/").partition("/")
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = service.operation_model("Converse" if operation == "converse" else "ConverseStream").input_shape
    report = botocore.validate.ParamValidator().validate({**body, "modelId": model}, shape)
    return [f"body: {line}" for line in report.generate_report().splitlines()]


def check_frames(path):
    """AWS's own reader takes the frames that our tests are fed with."""
    import botocore.eventstream
    frames = botocore.eventstream.EventStreamBuffer()
    frames.add_data(open(path, "rb").read())
    kinds = [frame.headers[":event-type"] for frame in frames]
    assert kinds[0] == "messageStart" and kinds[-1] == "metadata", kinds


# Version 2 of anthropic's SDK has dropped the sampling parameters from its types. Models that were
# made before take them, and they are sent only where an agent's head names them.
KNOWN = {"anthropic": ("has no 'temperature'", "has no 'top_p'", "has no 'top_k'")}

CHECKS = {"openai": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic, "gemini": gemini, "ollama": ollama, "bedrock": bedrock}


def main(recording):
    counts, bad = {}, 0
    for line in open(recording, encoding="utf-8"):
        request = json.loads(line)
        if "request" not in request or request["to"] not in CHECKS:
            continue
        counts[request["to"]] = counts.get(request["to"], 0) + 1
        for problem in CHECKS[request["to"]](request["body"], request["path"]):
            known = problem.endswith(KNOWN.get(request["to"], ()))
            bad += not known
            print(f"{request['to']}, request {request['request']}: {problem}{' (known)' if known else ''}")
    print(", ".join(f"{name} {counts[name]}" for name in sorted(counts)), f"requests, {bad} problems")
    check_frames(os.path.join(os.path.dirname(__file__), "../fuzz/corpus/bedrock/stream"))
    if set(counts) != set(CHECKS):
        print("not every protocol was recorded")
        return 1
    return 1 if bad else 0


sys.exit(main(sys.argv[1]))
