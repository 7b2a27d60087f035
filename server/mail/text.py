"""Texts from people and mail servers, reduced to one line that is safe to store, show and email."""

from __future__ import annotations

import re

from server.store.facts import Fact

_SECRET = re.compile(r"[a-z2-7]{26}|[^\s<>]+@[^\s<>]+")


def one_line(text: str) -> str:
    """A text for a header or a sentence: anything that could end the line or hide in it becomes a blank."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def quoted(text: str) -> Fact:
    """The words of a mail server or a stranger: one line of at most 300 characters, tokens and addresses masked."""
    return Fact("text", {"text": one_line(_SECRET.sub("…", text))[:300]})
