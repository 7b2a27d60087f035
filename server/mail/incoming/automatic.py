"""Whether a person wrote a mail: headers that prove that none did (RFC 3834), and signs that merely suggest it.

Only proofs decide alone. Company gateways and forwarding services mark people's own mails as bulk or as a list's, so a
sign counts only where nothing in the mail can be read as a move or as words of a player.
"""

from __future__ import annotations

import re
import unicodedata

from server.mail.incoming import mime
from server.mail.incoming.mime import Part
from server.mail.text import phrases, quoted
from server.store.facts import Fact

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
