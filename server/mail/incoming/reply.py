"""Reading a reply: who wrote it, whether a person did, and its text.

Of what shows that no person wrote a mail, only proofs decide alone. Company gateways and forwarding services mark
people's own mails as bulk or as a list's, so a sign counts only where nothing in the mail can be read as a move or as
words of a player.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from email.utils import parseaddr

from server.config import settings
from server.mail.incoming import html_text, mime, quoting
from server.mail.incoming.mime import Part
from server.mail.incoming.quoting import Known, OwnLine
from server.mail.text import phrases, quoted
from server.store.facts import Fact

# ---- mails that nobody wrote ----

_SUBMITTED = re.compile(r"auto-(?:generated|replied|notified)\b")
"""The words of the registry of RFC 3834."""
_ANSWERS = ("x-autoreply", "x-autorespond", "x-autoresponder", "x-autoreply-from", "x-mail-autoreply")
_PROOFS = (*_ANSWERS, "x-fc-machinegenerated", "x-failed-recipients")
_SIGNS = ("list-id", "list-post", "x-ms-exchange-inbox-rules-loop")
_MACHINES = re.compile(
    r"(?:mailer-?daemon|postmaster|no-?reply|do-?not-?reply|bounces?|autoreply|listserv|majordomo)(?:[+=-].*)?(?:@.*)?"
)
_REPORT = phrases(
    r"""
    undelivered | undeliverable | delivery status notification | mail delivery (?:failed|system)
    returned mail | unzustellbar | onbestelbaar | failure notice
    """,
    re.IGNORECASE,
)
"""With what the subjects of reports begin."""
_ABSENCES = r"""
    auto: | auto(?:matic|mated)?[ -]?(?:reply|response|antwort|answer) | autoresponder
    out of (?:the )?office | antwort automatisch | ooo\b | on (?:annual )?leave
    away from (?:my )?(?:mail|desk|office) | (?:i am |i'm )?(?:currently )?(?:away|on vacation|on holiday)\b
    vacation | holiday | absence | annual leave | automatisch(?:e|es)? (?:antwoord|antwort|beantwoording)
    abwesend | abwesenheit\w* | ich bin (?:nicht )?(?:im urlaub|im buro|im haus) | (?:im )?urlaub
    nicht (?:im (?:buro|haus)|erreichbar) | afwezig\w* | niet aanwezig | (?:op |met )?vakantie
    niet op kantoor | reponse automatique | message (?:d'absence|automatique) | (?:d')?absen(?:t|ce|te)\b
    (?:en )?(?:conges?|vacances)\b | notification d'absence | respuesta automatica
    (?:mensaje|aviso) (?:de ausencia|automatico) | fuera de (?:la )?oficina | ausencia | ausente
    (?:de )?vacaciones | risposta automatica | fuori (?:sede|ufficio) | assen(?:za|te) | (?:in )?ferie
    messaggio automatico | resposta automatica | fora d[oe] escritorio | ausen(?:cia|te) | (?:de |em )?ferias
    aviso de ausencia | auto(?:matisk|matiskt)? ?(?:svar|svarsmeddelande) | frava[er]+nde | fravaer | fravær
    franvar\w* | fra?n?varo | ikke til stede | (?:pa )?(?:semester|ferie)\b | sjalfvirkt svar | fjarverandi
    automaattinen (?:vastaus|poissaoloviesti) | poissa\w* | lomalla | odpowiedz automatyczna
    automatyczna odpowiedz | autoodpowiedz | nieobecno\w* | poza biurem | (?:na )?urlop\w*
    automatick(?:a|y|e) (?:odpoved|reakce) | nepritom\w* | mimo kancelar | dovolen\w* | samodejni odgovor
    odsotn\w* | automatski odgovor | odsutan\w* | (?:na )?godisnj\w* odmor\w*
    automatikus (?:valasz|felelet) | tavollet\w* | hazon kivul | szabadsag\w* | raspuns automat
    (?:mesaj )?absen(?:t|ta)\b | in concediu | plecat din birou | автоматическ\w+ (?:ответ|уведомление)
    автоответ\w* | отсутств\w* | вне офиса | (?:в )?отпуск\w* | автоматична відповідь | автовідповід\w*
    відсутн\w* | (?:у )?відпуст\w* | автоматичен отговор | извън офиса | автоматски одговор
    аутоматски одговор | αυτοματη απαντηση | απουσια\w* | εκτος γραφειου | otomatik (?:yanıt|yanit|cevap)
    ofis dışında | ofis disinda | izinde\w* | izindeyim | avtomatik cavab | automaat(?:ne )?vastus
    kontorist valjas | puhkusel | automatiska atbilde | automātiska atbilde | prombutne | atvalinajum\w*
    automatinis atsak\w* | nebuvim\w* | atostog\w* | 自動(?:返信|応答|回覆|回复) | 自动(?:答复|回复|回覆)
    不在(?:通知|のお知らせ|です|です。)? | 休暇 | 外出 | 休假 | 不在办公室 | 不在辦公室
    자동 ?(?:회신|응답|답장) | 부재 ?중? | 휴가 | (?:ال)?رد (?:ال)?تلقائي\w* | خارج المكتب | اجازة | إجازة
    תשובה אוטומטית | מענה אוטומטי | מחוץ למשרד | پاسخ خودکار | स्वचालित (?:उत्तर|प्रतिक्रिया|जवाब)
    स्वत: उत्तर | ตอบกลับอัตโนมัติ | การตอบกลับอัตโนมัติ | ไม่อยู่ | (?:thu )?tra loi tu đong
    tra loi tu dong | balasan otomatis | jawab(?:an|apan) (?:automatik|otomatis) | jawapan automatik
    di luar kantor | erantzun automatikoa | majibu ya kiotomatiki | awtomatikong tugon
    """
"""With what mail programs begin the subject of an automatic reply, and what people call their absence notes."""


def _folded(text: str) -> str:
    """Return a text in lower case, without accents and other marks."""
    parted = unicodedata.normalize(
        "NFKD", text.casefold().replace("ł", "l").replace("ı", "i").replace("’", "'")
    )
    return "".join(char for char in parted if unicodedata.category(char) not in ("Mn", "Mc", "Cf"))


_SUBJECT = phrases(
    _folded(_ABSENCES),
    before=r"(?:(?:re|aw|antw|sv|vs|rif|ynt|odp|res|atb|回复|回覆|答复) ?[::] ?){0,3}[\s\[(*<«“\"'【-]{0,9}"
    r"(?:(?:i am|i'm|je suis|ik ben|sono|estoy|estou|jestem|jag ar|jeg er|olen|jsem|som|я|eu|sunt"
    r"|notification automatique|notification|reponse|accuse :) (?:(?:in|on|en|de|na|pa|в|у|d') ?)?)?",
)
_ANSWER = re.compile(
    _folded(
        r"(?:\s*[\[({*<][^\])}>]{1,30}[\])}*>]{1,3})*\s*"
        r"(?:re|r|aw|antw(?:ort|oord)?|sv|svar|vs|vastaus|rif|r[eé]p(?:onse)?|ref|ynt|yanıt|odp|odpov[eě]ď|odg(?:ovor)?"
        r"|resp?|resposta|respuesta|risposta|atb(?:ilde)?|ats(?:akymas)?|bls|balas(?:an)?|jawab(?:an)?|v[aá]|v[aá]lasz"
        r"|απ|απάντηση|σχετ|отв(?:ет)?|відп(?:овідь)?|отг(?:овор)?|одг(?:овор)?|trả lời|tl|erantzuna|vast"
        r"|cevap|на|תשובה|jawapan|tanggapan|tugon|erantzun|hh|回[复復覆]|答[复復覆]|返信|회신|답장|답변|השב|תגובה|رد|پاسخ|ตอบ|ตอบกลับ|उत्तर|जवाब)\.?"
        r" ?(?:\[\d+\]|\(\d+\)|\^\d+|\d)? ?:"
    )
)
"""With what mail programs begin the subject of an answer, perhaps behind the mark of a gateway."""
LONGEST_SUBJECT = 200


def proof(message: Part, envelope_sender: str) -> Fact | None:
    """Return what proves that no person wrote a mail, or None."""
    if is_null(envelope_sender):
        return Fact("no_sender")
    submitted = _submitted(message)
    if _SUBMITTED.match(submitted):
        return Fact("automatic", {"said": quoted(submitted[:40])})
    if _precedence(message) in ("auto_reply", "auto-reply"):
        return Fact("bulk")
    found = next((name for name in _PROOFS if _is_set(message, name)), None)
    if found is not None:
        return Fact("automatic", {"said": quoted(found)})
    return Fact("report") if message.kind == "multipart/report" else None


def sign(message: Part, envelope_sender: str, sender: str) -> Fact | None:
    """Return what suggests that no person wrote a mail without proof, or None.

    Args:
        sender: the address in its From header.
    """
    submitted = _submitted(message)
    if submitted not in ("", "no"):
        return Fact("automatic", {"said": quoted(submitted[:40])})
    if _precedence(message) in ("bulk", "junk", "list"):
        return Fact("bulk")
    found = next((name for name in _SIGNS if message.header(name)), None)
    if found is not None:
        return Fact("automatic", {"said": quoted(found)})
    if _MACHINES.fullmatch(sender) or _MACHINES.fullmatch(envelope_sender.strip("<> ").lower()):
        return Fact("machine")
    report = _REPORT.match(mime.decode_header(message.header("subject")).strip()) is not None
    return Fact("automatic_subject") if report or is_absence(message) else None


def is_null(envelope_sender: str) -> bool:
    """Whether a mail was sent with an empty envelope sender; Postfix names that "MAILER-DAEMON" to a program."""
    return envelope_sender.strip("<> ").partition("@")[0].lower() in ("", "mailer-daemon")


def is_absence(message: Part) -> bool:
    """Whether the subject is that of an absence note, in one of some forty languages."""
    subject = mime.decode_header(message.header("subject"))[:LONGEST_SUBJECT]
    return _SUBJECT.match(_folded(subject).strip()) is not None


def is_reply(message: Part, domain: str) -> bool:
    """Whether a mail is an answer to one of ours, by its subject or by the mail that it names.

    Args:
        domain: of our Message-IDs, lower-case; empty if it is not known.
    """
    named = f"{message.header('in-reply-to')} {message.header('references')}".lower()
    subject = mime.decode_header(message.header("subject"))[:LONGEST_SUBJECT]
    return (domain != "" and f"@{domain}>" in named) or _ANSWER.match(_folded(subject)) is not None


def answers_by_itself(message: Part) -> bool:
    """Whether a mail says that a program has answered with it, as absence notes do."""
    answered = _submitted(message).startswith("auto-replied") or any(
        _is_set(message, name) for name in _ANSWERS
    )
    return answered or _precedence(message) in ("auto_reply", "auto-reply", "junk")


def _submitted(message: Part) -> str:
    return message.header("auto-submitted").partition(";")[0].strip().lower()


def _precedence(message: Part) -> str:
    return message.header("precedence").strip().lower()


def _is_set(message: Part, name: str) -> bool:
    return message.header(name).strip().lower() not in ("", "no", "false", "0")


# ---- the reply ----
# Pure: a parsed mail in, text out. `receive` decides what is done about it.

LARGEST_MAIL = 5 * 1024 * 1024
"""Bytes of a mail that are read: enough for a photograph in a signature, not for a film."""
LARGEST_COMPARED = 256 * 1024
"""Bytes of a mail without a Message-ID by which another delivery of it is known."""
MOST_CHARACTERS = 2 * mime.LONGEST_BODY
"""Characters of all texts in a mail that are read."""
MOST_OWN_LINES = 40
"""The writer's own lines; a mail with more is no answer to a question."""
LONGEST_FROM = 1000
"""Characters of a From header with one person."""
_ADDRESS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\u0080-\U0010ffff-]{1,64}@[A-Za-z0-9.\u0080-\U0010ffff_-]{1,255}"
_BARE = re.compile(_ADDRESS)
_IN_ANGLES = re.compile(rf"([^<>]*)<\s*({_ADDRESS})\s*>\s*")
_LETTER = re.compile(r"(?:^|>)[^<>]*\w")
"""Any text between tags, seen or not."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed mail.

    Args:
        sender: the only address in its From, lower-case; empty if there is none, or more than one.
        lines: the writer's own lines, without quotes and signature and, unless all are talk, without greetings.
        doubtful: whether more of it could be the writer's: the quote begins where nothing but an address says so.
        ignored: why it is not a person's reply; None if it may be one.
        doubt: what suggests that no person wrote it; then it counts only if it can be read.
        answers: whether it is an answer to one of our mails, as mail programs make them.
    """

    sender: str
    lines: tuple[OwnLine, ...] = ()
    ignored: Fact | None = None
    doubt: Fact | None = None
    doubtful: bool = False
    answers: bool = False


def parse_reply(
    message: Part, envelope_sender: str, *, talk: bool = False, known: Known | None = None
) -> Reply:
    """Read a parsed mail as a reply; never raises.

    Args:
        envelope_sender: of `MAIL FROM`, empty for `<>`.
        talk: all that its writer wrote is meant for people.
        known: as of `known_of`; what the mail itself says about its writer is added.
    """
    if message.size > LARGEST_MAIL:
        return Reply("", ignored=Fact("too_big"))
    sender, name = author(message)
    reason = proof(message, envelope_sender)
    if reason is not None:
        return Reply(sender, ignored=reason)
    known = known or Known()
    addresses = known.addresses | ({quoting.without_tag(sender)} if sender else set())
    known = replace(known, names=(name, *known.names), addresses=addresses)
    own = quoting.own_text(body_text(message), known, talk=talk)
    doubt = sign(message, envelope_sender, sender)
    answers = is_reply(message, known.domain)
    return Reply(sender, own.lines[: MOST_OWN_LINES + 1], doubt=doubt, doubtful=own.doubtful, answers=answers)


def known_of(names: Sequence[str], address: str) -> Known:
    """Return what tells the words of a person from those of others, whom they quote: their addresses and ours.

    Args:
        names: by which we know the person, and by which they may sign.
    """
    ours = settings()
    sender, from_address = parseaddr(ours.mail_from)
    return Known(
        names=tuple(names),
        addresses=frozenset(quoting.without_tag(each) for each in (address, from_address) if each),
        domain=(ours.mail_domain or "").lower(),
        site=ours.base_url.lower().rstrip("/").partition("://")[2],
        sender=sender,
    )


def fingerprint(message: Part, recipient: str) -> str:
    """Return what identifies a delivered mail (models: Received): its Message-ID, or else its body, and its recipient.

    Args:
        recipient: of the envelope.
    """
    mail_id = message.header("message-id").strip()
    begun = message.shortened(LARGEST_COMPARED).body
    same = mail_id.encode("utf-8", "replace") or hashlib.sha256(mime.with_newlines(begun)).digest()
    return hashlib.sha256(recipient.lower().encode("utf-8", "replace") + b"\n" + same).hexdigest()


def author(message: Part) -> tuple[str, str]:
    """Return address and name from the From header; both empty unless there is exactly one header with one person."""
    headers = message.all_headers("from")
    if len(headers) != 1 or len(headers[0]) > LONGEST_FROM:
        return "", ""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', " ", headers[0])
    for _ in range(3):
        bare = re.sub(r"\([^()]*\)", " ", bare)
    name = mime.decode_header(headers[0].partition("<")[0]).strip().strip('"')
    angles = _IN_ANGLES.fullmatch(bare)
    if angles is not None:
        alone = not re.search(r"[@,:;]", angles[1]) or angles[1].strip(" '") == angles[2]
        return (angles[2].lower(), name) if alone else ("", "")
    return (bare.strip().lower(), "") if _BARE.fullmatch(bare.strip()) else ("", "")


def subject(message: Part) -> str:
    """Return the decoded subject."""
    return mime.decode_header(message.header("subject"))


@dataclass(frozen=True, slots=True)
class _Text:
    """Text of a mail.

    Args:
        html: whether its writer wrote it as HTML.
        named: whether it has the name of a file.
    """

    text: str
    html: bool = False
    named: bool = False

    def __bool__(self) -> bool:
        return bool(self.text.strip())


def body_text(message: Part) -> str:
    """Return what the writer of a mail saw as its text: all its parts, HTML converted to text; empty if it has none.

    Mails within the mail and attached files are not its text.
    """
    return _text(message, _Left()).text


@dataclass(slots=True)
class _Left:
    """How many parts of a mail, and characters of their texts, may still be read."""

    parts: int = mime.MOST_PARTS
    characters: int = MOST_CHARACTERS


def _text(part: Part, left: _Left) -> _Text:
    """Return the text of a part and of those in it."""
    left.parts -= 1
    if part.is_attachment or left.parts < 0:
        return _Text("")
    if not part.kind.startswith("multipart/"):
        return _leaf(part, left)
    found = [_text(child, left) for child in part.children()]
    if part.kind == "multipart/alternative":
        # The writer's program made the plain text of what they saw, and says there what it likes.
        seen = [each for each in found if each.html] or [each for each in found if each]
        return seen[-1] if seen else _Text("")
    files = all(each.named for each in found if each)
    texts = _once(each for each in found if each and (files or not each.named))
    return _Text("\n".join(each.text for each in texts), any(each.html for each in found))


def _once(texts: Iterable[_Text]) -> list[_Text]:
    """Return texts without those that only repeat another as HTML, or as plain text."""
    kept: dict[str, _Text] = {}
    for each in texts:
        letters = "".join(filter(str.isalnum, each.text))
        twin = kept.get(letters)
        if twin is None or twin.html == each.html:
            kept[letters if twin is None else f"{letters} {len(kept)}"] = each
    return list(kept.values())


def _leaf(part: Part, left: _Left) -> _Text:
    if part.kind not in ("text/plain", "text/html"):
        return _Text("")
    text = part.text()[: left.characters]
    left.characters -= len(text)
    if part.kind == "text/html":
        return _Text(unarmored(html_text.as_text(text)), bool(_LETTER.search(text)), part.is_named)
    if part.parameter("format").lower() == "flowed":
        text = unflow(text, joined=part.parameter("delsp").lower() == "yes")
    return _Text(unarmored(text), named=part.is_named)


def unarmored(text: str) -> str:
    """Return a text that is signed by PGP without its armour (RFC 9580, section 7); any other unchanged."""
    lines = text.strip().split("\n")
    if lines[0].rstrip() != "-----BEGIN PGP SIGNED MESSAGE-----":
        return text
    bare = [line.rstrip() for line in lines]
    begins = bare.index("") + 1 if "" in bare else len(lines)
    ends = (
        bare.index("-----BEGIN PGP SIGNATURE-----") if "-----BEGIN PGP SIGNATURE-----" in bare else len(lines)
    )
    after = (
        bare.index("-----END PGP SIGNATURE-----") + 1 if "-----END PGP SIGNATURE-----" in bare else len(lines)
    )
    return "\n".join([*(line.removeprefix("- ") for line in lines[begins:ends]), *lines[max(ends, after) :]])


def unflow(text: str, *, joined: bool = False) -> str:
    """Join the lines of a flowed text, in which a blank at the end of a line means that it continues (RFC 3676).

    Args:
        joined: that blank is not part of the text (`DelSp=yes`).
    """
    lines: list[str] = []
    depth_before = -1
    for line in text.split("\n"):
        bare = line.lstrip(">")
        depth = len(line) - len(bare)
        bare = bare.removeprefix(" ")
        if depth_before == depth and len(lines[-1]) < mime.LONGEST_HEADER:
            lines[-1] += bare
        else:
            lines.append(">" * depth + (" " if depth else "") + bare)
        flows = bare.endswith(" ") and bare != "-- "
        if flows and joined:
            lines[-1] = lines[-1][:-1]
        depth_before = depth if flows else -1
    return "\n".join(lines)
