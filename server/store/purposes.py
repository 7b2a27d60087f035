"""What links open. Beneath the models: the table of mail kinds names purposes, and indexes are made from that table."""

from __future__ import annotations

from enum import StrEnum


class LinkPurpose(StrEnum):
    """What a link opens; the column has its text."""

    SEAT = "seat"
    STOP = "stop"
    INVITE = "invite"
    ORGANISE = "organise"
    SIGNIN = "signin"
    REPLY = "reply"
    TALK = "talk"
    FEED = "feed"
    NOINVITE = "noinvite"
    NOPLAYERS = "noplayers"
    KEEP = "keep"
    WISH = "wish"
    MOVE = "move"
    OBJECT = "object"
