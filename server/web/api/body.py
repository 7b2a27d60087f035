"""The base of all bodies of the API."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """The base of all bodies: the string under a field is its description."""

    model_config = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)
