"""Names of players that fit beside a line or above a column of a chart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def short_names(names: Sequence[str], most: int = 9) -> tuple[str, ...]:
    """Return names of at most so many characters, of which no two look alike; one without such a form stays whole.

    Args:
        names: of which no two are equal.
    """
    whole = {name for name in names if len(name) <= most}
    forms = {
        name: (
            name.split()[0],
            f"{name[: most - 1]}…",
            f"{name[: most - 4]}…{name[-3:]}",
            f"{name[: most - 2]}…{number}",
        )
        for number, name in enumerate(names, start=1)
        if name not in whole
    }
    return tuple(
        name
        if name in whole
        else next((form for form in forms[name] if _is_clear(form, name, whole, forms, most)), name)
        for name in names
    )


def _is_clear(
    form: str, name: str, whole: Collection[str], forms: Mapping[str, Sequence[str]], most: int
) -> bool:
    """Whether a form of a name is short enough and cannot be mistaken for another name."""
    others = (form in theirs for other, theirs in forms.items() if other != name)
    return len(form) <= most and form not in whole and not any(others)
