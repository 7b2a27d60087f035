"""The OpenAPI document (docs/formats.md §7), made of what each route of the API declares beside itself."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_type_hints

from flask import Flask
from pydantic import BaseModel, ConfigDict, TypeAdapter

from byzanz import __version__
from byzanz.games import latest
from byzanz.rules import PUBLIC

READS, WRITES = "300/minute", "120/minute"
"""Calls that one address may make."""
LONGEST_BODY = 16 * 1024
"""Bytes; a move is far shorter."""


class Body(BaseModel):
    """The base of all bodies: the string under a field is its description."""

    model_config = ConfigDict(strict=True, extra="forbid")


class ErrorDetail(Body):
    """Why a call was refused."""

    code: str
    message: str
    legal: list[str]
    """The legal moves, if a move was refused as illegal; else empty."""


class ErrorBody(Body):
    """The body of every unsuccessful response."""

    error: ErrorDetail


View = TypeVar("View", bound=Callable[..., Any])
Answer: TypeAlias = "str | tuple[type[Body] | type[str] | None, str]"
"""What an answer means: that of an error, or its body (`str`: JSON Lines; None: empty) and its meaning."""


class Call(NamedTuple):
    """What a route declares.

    Args:
        summary: what it does.
        answers: by their status, apart from those that every call can give.
        body: what is sent; query: what may stand in the query.
    """

    summary: str
    answers: Mapping[int, Answer]
    body: type[Body] | None
    query: type[Body] | None


_CALLS: dict[Callable[..., Any], Call] = {}
EVERY_CALL: dict[int, Answer] = {
    429: "Too many requests from this address; wait a minute.",
    503: "The database did not answer, or the clock of the server is wrong (`unavailable`). `message` says whether "
    "nothing has changed or nobody knows. Wait `Retry-After` seconds; a move is repeated with the same `request_id`, "
    "which plays nothing twice.",
}
WITH_PATH: dict[int, Answer] = {404: "There is no such seat or game."}
WITH_BODY: dict[int, Answer] = {
    400: "The body is not JSON.",
    413: f"The body is longer than {LONGEST_BODY} bytes.",
    415: "The body is not sent as application/json.",
}


def describes(
    summary: str,
    answers: Mapping[int, Answer],
    *,
    body: type[Body] | None = None,
    query: type[Body] | None = None,
) -> Callable[[View], View]:
    """Declare what a route takes and answers; it stands right below the route.

    The name of the function is the operation's, and the types of its arguments describe the parameters of the path.
    """

    def declare(view: View) -> View:
        _CALLS[view] = Call(summary, answers, body, query)
        return view

    return declare


def document(app: Flask, root: str = "") -> dict[str, Any]:
    """Return the OpenAPI document of all routes that declare something.

    Args:
        root: the path under which the server lies.
    """
    _describe(Body)
    paths: dict[str, dict[str, Any]] = {}
    models: set[type[Body]] = {ErrorBody}
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        if view in _CALLS:
            (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            path = re.sub(r"<(\w+)>", r"{\1}", rule.rule)
            paths.setdefault(path, {})[method.lower()] = _operation(view, rule.arguments)
            models |= set(_models(_CALLS[view]))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Byzanz",
            "version": __version__,
            "description": "Seats, moves and records. A token opens one seat and nothing else.",
        },
        "servers": [{"url": f"{root}/"}],
        "paths": paths,
        "components": {"schemas": _schemas(models)},
    }


def _describe(model: type[Body], inherited: Mapping[str, str] = {}) -> None:
    """Make the strings under the fields of a model, and of those that derive from it, their descriptions.

    pydantic would do so for each class that it makes (`use_attribute_docstrings`), a twentieth of a server's start.
    """
    (made,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(made, ast.ClassDef)
    words = dict(inherited)
    for name, text in pairwise(made.body):
        match name, text:
            case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str() as below)):
                words[field] = inspect.cleandoc(below)
    for field in words:
        model.model_fields[field].description = words[field]
    model.model_rebuild(force=True)
    for derived in model.__subclasses__():
        _describe(derived, words)


def _operation(view: Callable[..., Any], arguments: set[str]) -> dict[str, Any]:
    call = _CALLS[view]
    types = get_type_hints(view, include_extras=True)
    parameters = [
        _parameter("path", name, TypeAdapter(types[name]).json_schema()) for name in sorted(arguments)
    ]
    if call.query:
        asked = call.query.model_json_schema()["properties"]
        parameters += [_parameter("query", name, schema) for name, schema in asked.items()]
    answers = (
        EVERY_CALL | (WITH_PATH if arguments else {}) | (WITH_BODY if call.body else {}) | {**call.answers}
    )
    found: dict[str, Any] = {
        "operationId": view.__name__,
        "summary": call.summary,
        "parameters": parameters,
        "responses": {str(status): _response(answer) for status, answer in answers.items()},
    }
    if call.body:
        found["requestBody"] = {"required": True, "content": _json(call.body)}
    return found


def _parameter(where: str, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("title", None)
    meaning = schema.pop("description")
    return {"name": name, "in": where, "required": where == "path", "description": meaning, "schema": schema}


def _response(answer: Answer) -> dict[str, Any]:
    model, meaning = (ErrorBody, answer) if isinstance(answer, str) else answer
    if model is None:
        return {"description": meaning}
    if issubclass(model, Body):
        return {"description": meaning, "content": _json(model)}
    return {"description": meaning, "content": {"application/jsonl": {"schema": {"type": "string"}}}}


def _json(model: type[Body]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _models(call: Call) -> Iterable[type[Body]]:
    if call.body:
        yield call.body
    for answer in call.answers.values():
        if isinstance(answer, tuple) and answer[0] and issubclass(answer[0], Body):
            yield answer[0]


def _schemas(bodies: Iterable[type[Body]]) -> dict[str, Any]:
    examples = {rules.slug: rules.view(rules.setup(rules.seats[0], {}), PUBLIC) for rules in latest()}
    views = {f"VIEW_{slug}": TypeAdapter(type(view)) for slug, view in examples.items()}
    models = {model.__name__: TypeAdapter(model) for model in bodies}
    found: dict[str, Any] = {}
    for name, adapter in (models | views).items():
        schema = adapter.json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        found |= schema.pop("$defs", {})
        found[name] = schema
    return found
