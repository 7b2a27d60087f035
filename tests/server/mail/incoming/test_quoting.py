"""Which lines of an email are its writer's: those above the quote, else those below it, without courtesies."""

from __future__ import annotations

import pytest

from server.mail.incoming import quoting
from server.mail.text import normalize_line

QUOTE = "> Bid for the lot, or pass.\n> Your hand\n"


def own(text: str, name: str = "Alice Palaiologa") -> tuple[str, ...]:
    """Return the lines of Alice's own in a text."""
    return quoting.own_text(text, quoting.Known((name,))).lines


@pytest.mark.parametrize(
    "introduction",
    [
        *(
            "On Mon, 2 Mar 2026, Byzanz wrote:",
            "At 10:00, Byzanz wrote :",
            "Byzanz <x@y> wrote on 2 Mar 2026:",
        ),
        *(
            "Byzanz wrote:",
            "Byzanz wrote at ten o'clock:",
            "On Mon, 2 Mar 2026 at 10:00 Byzanz\n<x@y> wrote:",
        ),
        *("On Mon, 2 Mar 2026\nat 10:00\nByzanz\n<x@y> wrote:", "on 2 Mar 2026 Byzanz wrote"),
        *("Op ma 2 mrt 2026 schreef Byzanz <x@y>:", "Op 2 mrt 2026 heeft Byzanz geschreven:"),
        *("Byzanz schreef:", "Byzanz schreef op 2 maart 2026:", "Am 2.3.2026 um 10:00 schrieb Byzanz:"),
        *("Am 2.3.2026 hat Byzanz geschrieben:", "Byzanz schrieb:", "Byzanz schrieb am 2. März 2026:"),
        *("Byzanz hat am 2. März 2026 geschrieben:", "Byzanz hat um 10:00 Uhr geschrieben:"),
        *("From: Byzanz\nSent: Monday", "*Von:* Byzanz\n\n*Gesendet:* Montag", "Van: Byzanz\nDatum: maandag"),
        *("__________", "---- Byzanz ----", "-----Original Message-----", "*** Weitergeleitet ***"),
        *("Begin forwarded message:", "Ursprüngliche Nachricht", "Oorspronkelijk bericht:"),
        *("Anfang der weitergeleiteten Nachricht:", "Begin doorgestuurd bericht", "Original message"),
        *("> a quote", "  > a quote", "\u200e> a quote", "\xa0> a quote"),
    ],
)
def test_what_is_quoted_ends_ones_own_words(introduction: str) -> None:
    assert own(f"pass\n\n{introduction}\nbid olive1\n") == ("pass",)


@pytest.mark.parametrize(
    "line",
    [
        *("bid olive1 on 2026", "On Mon I wrote it", "From: me", "-- x", "- pass", "_________"),
        *("On Mon\nat ten\nof the clock\nof the day\nByzanz 2026 said:"),
    ],
)
def test_what_only_looks_like_a_quote_does_not(line: str) -> None:
    assert own(f"bid olive1\n{line}\nbid olive2\n")[-1] == "bid olive2"


def test_a_block_of_headers_is_known_in_any_language_by_an_address_in_its_first_lines() -> None:
    block = ["Lähettäjä: Byzanz <x@y>", "Lähetetty: maanantai", "Aihe: Re: Byzanz"]
    assert own("\n".join(["pass", *block])) == ("pass",)
    assert own("\n".join(["pass", *block[1:]])) == ("pass", "Lähetetty: maanantai", "Aihe: Re: Byzanz")
    assert len(own("\n".join(["pass", *block[1:], "Vastaanottaja: Ann <x@y>"]))) == 4


def test_a_line_above_a_blank_introduces_no_quote() -> None:
    assert own(f"pass\nOn Monday\n\nByzanz wrote:\n{QUOTE}") == ("pass", "On Monday")
    assert own("pass\nFrom: Rome") == ("pass", "From: Rome")


@pytest.mark.parametrize(
    "introduction",
    [
        *(
            "Byzanz wrote:",
            "On Mon, 2 Mar 2026, Byzanz wrote:",
            "On Mon, 2 Mar 2026 at 10:00 Byzanz\n<x@y> wrote:",
        ),
        *("Byzanz schrieb:", "Byzanz Game Server\n<x@y> wrote:", "Op 2 mrt 2026\nschreef Byzanz:"),
        *("On Mon, 2 Mar 2026\nByzanz\nwrote:", "Byzanz\n<x@y>\nwrote:"),
    ],
)
def test_a_move_right_above_what_introduces_a_quote_is_the_writers(introduction: str) -> None:
    assert own(f"pass\n{introduction}\n{QUOTE}") == ("pass",)
    assert own(f"{introduction}\n{QUOTE}") == ()


@pytest.mark.parametrize(
    ("between", "lines"),
    [
        ("x@y.example skrev:\n> hello", ("pass",)),
        ("Den 2 mars 2026 kl. 10:00\nByzanz skrev:\n\n> hello", ("pass",)),
        ("x@y.example\nskrev Byzanz:\n> hello", ("pass",)),
        ("Byzanz\nskrev:\n> hello", ("pass", "Byzanz")),
        ("Byzanz skrev\n> hello", ("pass", "Byzanz skrev")),
    ],
)
def test_words_in_another_language_that_introduce_a_quote_belong_to_it(
    between: str, lines: tuple[str, ...]
) -> None:
    assert own(f"pass\n{between}") == lines


def test_all_that_stands_over_our_own_marker_in_its_paragraph_is_ours() -> None:
    marker = "##- Write above this line -##"
    assert own(f"pass\n\nByzanz sendte:\nBid now\n\n{marker}\nbid olive1") == ("pass",)
    assert own(f"pass\nbid olive1\n\n> {marker}\nbid olive2") == ("pass", "bid olive1")
    assert own(f"pass\n\n> Bid now\n> {marker}\nbid olive2") == ("pass",)


# What is known in every language


KNOWN = quoting.Known(
    names=("Alice Example", "Alice"),
    addresses=frozenset({"alice@example.org", "games@example.org"}),
    domain="play.test",
    site="byzanz.test",
    sender="Byzanz",
)
TOKEN = "abcdefghijklmnopqrstuvwx23"


def own_lines(text: str, *, talk: bool = False) -> tuple[str, ...]:
    """Return Alice's own lines in a text, as far as her addresses and ours tell."""
    return quoting.own_text(text, KNOWN, talk=talk).lines


@pytest.mark.parametrize("talk", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        *(f"Byzanz <talk+{TOKEN}@play.test> blabla:", f"blabla 2026, <play+{TOKEN}@PLAY.TEST>:"),
        *(
            "bounce+1x-abcdefghij@play.test blabla:",
            "anything@play.test:",
            "2.3.26 Byzanz <games@example.org>",
        ),
        *(
            "Alice <alice@example.org> blabla:",
            "blabla 11:00, alice+games@example.org",
            "ＡＬＩＣＥ＠example.org：",
        ),
        *("mailto:alice@example.org", f"https://byzanz.test/t/{TOKEN}", f"<http://BYZANZ.test/u/{TOKEN}>"),
        *("alice@example.org", "(alice@example.org)", "Byzanz <games@example.org>blabla:  Bid or pass."),
    ],
)
def test_a_line_with_an_address_of_ours_or_of_the_writer_begins_the_quote(line: str, talk: bool) -> None:
    for gap in ("\n", "\n\n"):
        for quote in ("bid olive1\n", "> bid olive1\n", "\nbid olive1\n\nblabla\n"):
            assert own_lines(f"pass{gap}{line}\n{quote}", talk=talk) == ("pass",)


@pytest.mark.parametrize(
    "line",
    [
        "bob@example.org:",
        "games@byzanz.test.evil.example",
        "alice@example.org.evil.example",
        "https://byzanz.test.x/t",
    ],
)
def test_an_address_of_others_begins_no_quote(line: str) -> None:
    assert own_lines(f"pass\n\n{line}\nbid olive1") != ("pass",)


@pytest.mark.parametrize(
    "wrapped",
    [
        "Den mån 2 mars 2026 kl 11:00\nByzanz <games@example.org> skrev:",
        "Den mån 2 mars 2026 kl 11:00 Byzanz\n<games@example.org>\nskrev:",
        "Den mån 2 mars 2026\nkl 11:00 Byzanz <\ngames@example.org>\nskrev:",
        "Fra: Byzanz\nTil: Alice <alice@example.org>\nEmne: Byzanz",
        "*Från:* Byzanz\n*Datum:* i dag\n*Till:* alice@example.org",
        "Byzanz\n<games@example.org> 于2026年3月2日周一 11:00写道：",
        "2026년 3월 2일 오전 11:00, games@example.org님이 작성:",
    ],
)
def test_the_lines_above_an_address_that_belong_to_it_are_quoted(wrapped: str) -> None:
    for gap in ("\n", "\n\n"):
        assert own_lines(f"pass{gap}{wrapped}\n\nbid olive1") == ("pass",)
        assert own_lines(f"say hi\npass{gap}{wrapped}\n> bid olive1\n") == ("say hi", "pass")


def test_where_quoted_lines_follow_an_address_the_quote_ends_with_them() -> None:
    assert own_lines("Byzanz <games@example.org> blabla\n\n> bid olive1\n\npass") == ("pass",)
    assert own_lines("> bid olive1\n\npass\n\nAlice\nalice@example.org\n") == ("pass",)
    assert own_lines("Byzanz <games@example.org> blabla\n\nbid olive1\n\npass") == ()


def test_a_sentence_with_an_address_leaves_doubt() -> None:
    text = "Well played!\nYou can reach me at alice@example.org from now on.\nSee you\n\n> q\n"
    assert quoting.own_text(text, KNOWN, talk=True).doubtful
    assert own_lines(text, talk=True) == ("Well played",)
    assert own_lines(text) == (
        "Well played",
        "You can reach me at alice@example.org from now on",
    )  # so nothing is played
    assert not quoting.own_text(
        text.replace("alice@example.org", "bob@example.net"), KNOWN, talk=True
    ).doubtful
    single = "Well played!\nMy email: alice@example.org\nSee you"
    assert quoting.own_text(single, KNOWN, talk=True).doubtful
    page = "Well played!\nLook at https://byzanz.test/g/abc there.\n"
    assert len(own_lines(page, talk=True)) == 2  # people talk about public pages


@pytest.mark.parametrize(
    "block",
    [
        "От: Byzanz\nОтправлено: 26 июня 2014 г. 15:05\nКому: Alice Example",
        "寄件者：Byzanz\n寄件日期：2026年3月2日\n收件者：Bob",
        "จาก: x\nส่งแล้ว: 02.03.2026\nถึง: Alice Example",
        "प्रेषक: Byzanz\nभेजा गया: 2 मार्च 2026\nप्रति: x",
    ],
)
def test_a_block_of_headers_is_known_by_a_name_and_a_date(block: str) -> None:
    assert own_lines(f"pass\n\n{block}\n\nbid olive1") == ("pass",)
    lines = block.replace("Byzanz", "x").replace("Alice Example", "x")
    assert len(own_lines(f"pass\n\n{lines}\n\nbid olive1")) > 1


@pytest.mark.parametrize("greeting", ["Kære Byzanz,", "Szanowny Byzanz!", "亲爱的 Byzanz，"])
def test_our_name_in_the_first_line_is_a_greeting(greeting: str) -> None:
    assert own_lines(f"{greeting}\n\npass\n\n> q") == ("pass",)
    for other in ("Not Byzanz,", "Byzanz,", "Kære Byzanz 2,", "Kære Byzanz", "a b c Byzanz,", "Kære Bob,"):
        assert len(own_lines(f"{other}\n\npass")) == 2
    assert len(own_lines(f"pass\n{greeting}")) == 2


# Closings and what phones add


@pytest.mark.parametrize("mark", ["", ".", ",", "!", "。", "、", "！", "，", "…", "।", "،", " :)", "!! 😊"])
@pytest.mark.parametrize(
    "closing",
    [
        *(
            "Kind regards",
            "Viele Grüße",
            "Bien à toi",
            "Un abrazo",
            "Um abraço",
            "Miłego dnia",
            "Всего доброго",
        ),
        *(
            "よろしくお願いします",
            "宜しくお願い致します",
            "お疲れ様です",
            "수고하세요",
            "此致\n敬礼",
            "谢谢",
            "祝您愉快",
        ),
        *(
            "İyi günler",
            "Hezký den",
            "Köszönettel",
            "Ha det bra",
            "Καλή συνέχεια",
            "תודה רבה",
            "مع تحياتي",
            "با تشکر",
        ),
        *(
            "ขอแสดงความนับถือ",
            "Thân ái",
            "Lijep pozdrav",
            "Лек ден",
            "Su pagarba",
            "நன்றி",
            "ধন্যবাদ",
            "Asante",
            "Cofion gorau",
        ),
    ],
)
def test_a_closing_may_end_as_people_end_sentences(closing: str, mark: str) -> None:
    for ending in ("", "\nAlice", "\nalice."):
        lines = quoting.own_text(f"pass\n\n{closing}{mark}{ending}\n\n> q", KNOWN).lines
        assert lines == ("pass",), ending


@pytest.mark.parametrize(
    "ending",
    [
        *(
            "Cu stimă\nAlice Example",
            "\nQualunque cosa\nAlice",
            "Blabla,\nalice",
            "\nBlabla bla\nA",
            "\nBlabla, Alice",
        ),
        *(
            "Odesláno z iPhonu",
            "iPhoneから送信",
            "Отправлено с Samsung Galaxy",
            "\nnội dung\nAlice\n\nGửi từ iPhone",
        ),
        *("Hanki Outlook for Android<https://aka.ms/AAb9ysg>", "Skickat från Outlook\nHämta Outlook för iOS"),
    ],
)
def test_closings_and_what_programs_add_are_known_in_any_language(ending: str) -> None:
    lines = [line for line in quoting.own_text(f"pass\n{ending}\n\n> q", KNOWN).lines if not line.closes]
    assert lines == ["pass"]


@pytest.mark.parametrize(
    "ending",
    [
        *(
            "Blabla\nAlice",
            "\nnot yet\nAlice",
            "\nJust kidding\nAlice",
            "\n不要\nAlice",
            "\nAnnuler,\nAlice",
            "\nblabla",
        ),
        *("\nHow about 3\nAlice", "\nBlabla?\nAlice", "\nBlabla\nBob", "\nBlabla\nAlice\nPS: blabla"),
        *(
            "https://elsewhere.example/x",
            "my iPhone died\nbid olive1",
            "\nmy iPhone died, so wait",
            "\nBlabla" + " bla" * 20 + "\nAlice",
        ),
    ],
)
def test_what_may_say_more_stays(ending: str) -> None:
    lines = [line for line in quoting.own_text(f"pass\n{ending}\n\n> q", KNOWN).lines if not line.closes]
    assert len(lines) > 1


@pytest.mark.parametrize("mark", ["ᐧ", ":-)", "...", "👍", "-", "—", "***", "ㅤ"])
def test_a_line_without_letters_and_digits_is_no_line(mark: str) -> None:
    assert own_lines(f"pass\n\n{mark}\n\n> q") == ("pass",)
    assert own_lines(f"{mark}\npass") == (
        () if mark in "-—" else ("pass",)
    )  # under a dash stands a signature


@pytest.mark.parametrize("mark", ["?", "???", "？", "❓", "&" * 20])
def test_a_mark_that_asks_or_is_long_is_one(mark: str) -> None:
    assert len(own_lines(f"pass\n{mark}")) == 2


def test_lines_below_a_quote_count_if_there_are_none_above() -> None:
    assert own(f"{QUOTE}\npass\n") == ("pass",)
    assert own(f"Hello,\n{QUOTE}pass\n") == ("pass",)
    assert own(f"Byzanz wrote:\n{QUOTE}pass\nbid olive1") == ("pass", "bid olive1")
    assert own(f"bid olive1\n{QUOTE}\npass\n") == ("bid olive1",)
    assert own("From: Byzanz\nSent: Monday\n\npass\n") == ()


def test_lines_between_quotes_count_unless_they_are_squeezed_in() -> None:
    assert own("> Bid for the\nlot, or pass.\n> Your hand\n\npass\n\n> You can\n") == ("pass",)
    assert own("> Your hand\nbid olive1\n\n> You can\npass\n") == ("bid olive1", "pass")


# Courtesies


@pytest.mark.parametrize(
    "words", ["Hi Byzanz", "Hallo", "Goedemorgen allemaal", "Guten Tag", "Thanks a lot!"]
)
def test_a_greeting_is_no_line_of_ones_own(words: str) -> None:
    assert own(f"{words},\npass\n") == ("pass",)
    assert own(f"{words},\n") == ()


@pytest.mark.parametrize(
    "ending", ["--", "-- ", "—", "–", "---", "Sent from my phone", "Von meinem Telefon gesendet"]
)
def test_a_signature_ends_ones_own_words(ending: str) -> None:
    assert own(f"pass\n{ending}\nbid olive1\n") == ("pass",)


def test_a_farewell_ends_ones_own_words_but_at_their_beginning() -> None:
    assert own("pass\nKind regards,\nbid olive1\n") == ("pass",)
    assert own("Best wishes\npass\n") == ("pass",)


@pytest.mark.parametrize("signed", ["Alice", "- alice", "Alice Palaiologa", "A", "AP", "palaiologa", "A."])
def test_ones_own_name_at_the_end_is_a_signature(signed: str) -> None:
    assert own(f"pass\n{signed}") == ("pass",)
    assert own(f"pass\n{signed}\n{signed}") == ("pass",)
    assert own(f"{signed}\npass") == (normalize_line(signed), "pass")
    assert own(signed) == (normalize_line(signed),)


def test_another_name_is_a_line() -> None:
    assert own("pass\nBob") == ("pass", "Bob")
    assert own("pass\nAlice", name="") == ("pass", "Alice")
    assert own("pass\nalice", name="alice@example.org") == ("pass",)


# Single lines


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("  bid\xa0olive1,  olive2 ", "bid olive1 olive2"),
        ("pass.", "pass"),
        ("pass!…", "pass"),
        ("pass。", "pass"),
        ("pass । :-)", "pass"),
        ("bid olive1、olive2！", "bid olive1 olive2"),
        ("pass :(", "pass"),
        ("pass!?…", "pass!?"),
        ("pass ?", "pass ?"),
        *((f"pass{mark}", "pass?") for mark in "?？؟;;﹖❓❔⁇⸮⁉"),
        ("¿pass?", "?pass?"),
        ("\u200fpass\u200e", "pass"),
        ("\u2066pass\u2069", "pass"),
        ("\u1427", ""),
        ("\u3164pass\u2800", "pass"),
        ("“pass”", "pass"),
        ('"pass."', "pass"),
        ('" pass "', "pass"),
        ("'*pass*'.", "pass"),
        ("buy\u2011off", "buy-off"),
        ("pa\u00adss\u200b", "pass"),
        ("pass \U0001f600", "pass"),
        ("pass\U0001f600now", "pass now"),
        ("pass\ue000", "pass"),
        ("pass\u0378", "pass"),
        ("pa\u0378ss", "pa ss"),
        ("pass \u2603\ufe0f", "pass"),
        ("ｐａｓｓ", "pass"),
        ("• pass", "pass"),
        ("- pass", "pass"),
        ("1. pass", "pass"),
        ("12) pass", "pass"),
        ("- - pass", "- pass"),
        ("-pass", "-pass"),
        ("123. pass", "123. pass"),
        ("\u2028", ""),
    ],
)
def test_a_line_is_read_without_what_clients_and_phones_add(line: str, plain: str) -> None:
    assert normalize_line(line) == plain


def test_no_more_is_read_than_there_may_be() -> None:
    assert own("x" * 5000) == ("x" * (quoting.LONGEST_LINE + 1),)
    assert own("Hi\n" * (quoting.MOST_LINES_READ - 1) + "pass\nbid olive1\n") == ("pass",)
