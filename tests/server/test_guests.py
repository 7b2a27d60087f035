"""Lists of people as they are typed, and as mail programs, address books and tables copy them."""

from __future__ import annotations

import pytest

from server import validation
from server.errors import InvalidInput, InvalidLines
from server.web.http import refusal_text

ANN, BOB = "ann@example.org", "bob@example.org"


@pytest.mark.parametrize(
    ("pasted", "guests"),
    [
        (
            f"Smith, Ann <{ANN}>; Jones, Bob <{BOB}>",
            [("Smith, Ann", ANN), ("Jones, Bob", BOB)],
        ),
        (f'"Smith, Ann" <{ANN}>, Bob <{BOB}>', [("Smith, Ann", ANN), ("Bob", BOB)]),
        (f"{ANN} <{ANN}>; {BOB} <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"'{ANN}' <{ANN}>", [("Ann", ANN)]),
        (f'"Ann ({ANN})" <{ANN}>', [("Ann", ANN)]),
        (f"Ann\t{ANN}\nBob\t{BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"{ANN}\tAnn Smith", [("Ann Smith", ANN)]),
        (f"{ANN} {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"{ANN},{BOB};", [("Ann", ANN), ("Bob", BOB)]),
        (f"<mailto:{ANN}>", [("Ann", ANN)]),
        (f"mailto:{ANN}?subject=A%20game&body=x", [("Ann", ANN)]),
        (f"<MAILTO:{ANN}?subject=x>, Bob <{BOB}>,", [("Ann", ANN), ("Bob", BOB)]),
        (f"[{ANN}](mailto:{ANN})", [("Ann", ANN)]),
        (f"'Ann' <{ANN}>", [("Ann", ANN)]),
        (f"Ann Smith {ANN}", [("Ann Smith", ANN)]),
        (f"Ann ({ANN})", [("Ann", ANN)]),
        (f"{ANN} (Ann)", [("Ann", ANN)]),
        (f"Ann <{ANN}>; Bob <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"Ann <{ANN}> Bob <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"Ann <{ANN}>\n\n; Bob <{BOB}>\r\n", [("Ann", ANN), ("Bob", BOB)]),
        (f"Name,Email\nAnn,{ANN}\n", [("Ann", ANN)]),
        (f"First Name;Last Name;E-mail\nAnn;Smith;{ANN}", [("Ann Smith", ANN)]),
        (f'"Smith, Ann",{ANN},+31 6 1234,Delft', [("Smith, Ann", ANN)]),
        (f"Ann Smith,Ann,,Smith,,,* Home,{ANN},,", [("Ann Smith", ANN)]),
        (f"Ann\u00a0Smith\u00a0<{ANN}>", [("Ann Smith", ANN)]),
        (f"安娜＜{ANN}＞；小波＜{BOB}＞", [("安娜", ANN), ("小波", BOB)]),
        (f"Ann <{ANN}>，Bob <{BOB}>、", [("Ann", ANN), ("Bob", BOB)]),
        (f"\ufeff\u200e{ANN}\u200e", [("Ann", ANN)]),
        (f"• Ann <{ANN}>\n- {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"1. Ann <{ANN}>\n2) {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"> Ann <{ANN}>\n>> {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"To: Ann <{ANN}>, Bob <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"Smith, Ann\n <{ANN}>", [("Smith, Ann", ANN)]),
        (f"{ANN}.", [("Ann", ANN)]),
        (f'"Ann ""Annie"" Smith" <{ANN}>', [('Ann "Annie" Smith', ANN)]),
        (f"Zoë d’Arc <{ANN}>", [("Zoë d’Arc", ANN)]),
        (f"{ANN}, Bob <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        *(
            (f"{ANN} (Ann){sign}{BOB} (Bob)", [("Ann", ANN), ("Bob", BOB)])
            for sign in (", ", "; ", " ", ";\n")
        ),
        *(
            (f"{ANN}{sign}{BOB}", [("Ann", ANN), ("Bob", BOB)])
            for sign in (" and ", " und ", " & ", " + ", "/")
        ),
        (f"Ann <{ANN}>, and Bob <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"{ANN}, Ann Smith; {BOB}, Bob", [("Ann Smith", ANN), ("Bob", BOB)]),
        (f"Ann <{ANN}> <{BOB}>", [("Ann", ANN), ("Bob", BOB)]),
        (f"Ann Smith <{ANN}<mailto:{ANN}>>", [("Ann Smith", ANN)]),
        (f"Ann (work) <{ANN}>; Bob <{BOB}> (home)", [("Ann (work)", ANN), ("Bob", BOB)]),
        (f"Ann - {ANN}\n{BOB} – Bob", [("Ann", ANN), ("Bob", BOB)]),
        (f"'{ANN}'\n`{BOB}`", [("Ann", ANN), ("Bob", BOB)]),
        (f"{ANN}!\n{BOB}…", [("Ann", ANN), ("Bob", BOB)]),
        (f"E-mail\n{ANN}\n{BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"| Name | Email |\n|---|---|\n| Ann | {ANN} |", [("Ann", ANN)]),
        (f"[1/1/26, 10:00:00 PM] Ann: {ANN}\n01.02.26, 10:00 - Bob: {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"☐ Ann {ANN}\n#2 {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"1 {ANN}\n2: {BOB}", [("Ann", ANN), ("Bob", BOB)]),
        (f"a) {ANN}\nb) {BOB}", [("Ann", ANN), ("Bob", BOB)]),
    ],
)
def test_a_pasted_list_is_read(pasted: str, guests: list[tuple[str, str]]) -> None:
    assert [tuple(guest) for guest in validation.parse_guests(pasted)] == guests


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Ann",
            "Ann <ann>",
            "<>",
            f"Ann <{ANN}",
            f"Ann {ANN}>",
            f"Ann <{ANN}> and more",
            f"{ANN} {BOB} both",
        ),
        *(f"{ANN}, Carl, {BOB}, Dora", "@", "ann@", "@example.org", "ann@example", f"Ann <{ANN}>> Bob"),
    ],
)
def test_a_line_that_is_none_is_quoted(line: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validation.parse_guests(f"Zoe <zoe@example.org>\n{line}")
    assert refused.value.field == "players"
    assert isinstance(refused.value, InvalidLines)
    assert [number for number, _why in refused.value.lines] == [2]
    with pytest.raises(InvalidInput) as alone:
        validation.parse_guests(line)
    assert not isinstance(alone.value, InvalidLines)


@pytest.mark.usefixtures("app")
def test_each_wrong_line_has_its_error() -> None:
    with pytest.raises(InvalidLines) as refused:
        validation.parse_guests(f"Ann\nBob <{BOB}>\n\nCarl <carl>\nevil.com <x@example.org>", "guests")
    assert [number for number, _why in refused.value.lines] == [1, 4, 5]
    told = refusal_text(refused.value).splitlines()
    assert told[0] == "Line 1: “Ann” is not an email address like ann@example.org."
    assert "carl" in told[1]
    assert "evil.com" in told[2]
    assert refused.value.field == "guests"


def test_a_long_text_is_read_in_linear_time() -> None:
    for shape in (
        "a" * 40_000,
        "a@" * 20_000,
        "<" * 40_000,
        ", " * 20_000,
        '"' * 40_000,
        "a@b.c " * 6_000,
        "(" * 40_000,
    ):
        with pytest.raises(InvalidInput):
            validation.parse_guests(shape + "x\n")
