"""A JSON parser without recursion, for trees nested deeper than the json module can follow."""

from __future__ import annotations

import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # what json itself uses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANK = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}


def loads(text: str, object_pairs_hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    """Parse JSON text of any depth; the same results and errors as `json.loads`.

    >>> loads('{"a": [1, null, {"b": "c"}]}', dict)
    {'a': [1, None, {'b': 'c'}]}
    """
    # One entry for every open bracket: the items so far, and for an object also the key that waits for a value.
    open_items: list[list[Any]] = []
    open_keys: list[str | None] = []
    position = _skip(text, 0)
    while True:
        # Here a value is due.
        character = text[position : position + 1]
        if character in ("[", "{") and character:
            start = _skip(text, position + 1)
            if text[start : start + 1] != ("]" if character == "[" else "}"):
                open_items.append([])
                open_keys.append(None)
                if character == "{":
                    open_keys[-1], position = _key(text, start)
                else:
                    position = start
                continue
            value: Any = [] if character == "[" else object_pairs_hook([])
            position = start + 1
        else:
            value, position = _scalar(text, position)
        # Here a value is complete: hand it to the brackets around it, closing those that end.
        while open_items:
            key = open_keys[-1]
            open_items[-1].append(value if key is None else (key, value))
            position = _skip(text, position)
            character = text[position : position + 1]
            if character == ",":
                position = _skip(text, position + 1)
                if key is not None:
                    open_keys[-1], position = _key(text, position)
                break
            if character != ("]" if key is None else "}"):
                raise JSONDecodeError("Expecting ',' delimiter", text, position)
            position += 1
            items = open_items.pop()
            open_keys.pop()
            value = items if key is None else object_pairs_hook(items)
        else:
            position = _skip(text, position)
            if position < len(text):
                raise JSONDecodeError("Extra data", text, position)
            return value


def _skip(text: str, position: int) -> int:
    return _BLANK.match(text, position).end()  # type: ignore[union-attr]  # matches the empty string at least


def _key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] != '"':
        raise JSONDecodeError("Expecting property name enclosed in double quotes", text, position)
    key, position = scanstring(text, position + 1)
    position = _skip(text, position)
    if text[position : position + 1] != ":":
        raise JSONDecodeError("Expecting ':' delimiter", text, position)
    return key, _skip(text, position + 1)


def _scalar(text: str, position: int) -> tuple[Any, int]:
    if text[position : position + 1] == '"':
        string, position = scanstring(text, position + 1)
        return string, position
    match = _LITERAL.match(text, position)
    if match is None:
        raise JSONDecodeError("Expecting value", text, position)
    literal = match.group()
    if literal in _CONSTANTS:
        return _CONSTANTS[literal], match.end()
    return (int if literal.lstrip("-").isdigit() else float)(literal), match.end()
