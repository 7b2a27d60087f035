"""Why a mail server refuses an email: the address is bad, the failure may pass, or the server objects to us.

One function reads what a mail server says, at once (smtp) or in a report (bounces). Only a bad address may be held
against its owner: what the server says about our host, our domain or our texts is for the operator to mend.

Enhanced codes (RFC 3463, RFC 7372 and the registry of RFC 5248) decide where servers use them in one sense. Many do
not, so the words of the large receivers go first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from server.mail.text import phrases

Cause = Literal["failed", "expired", "ours"]
"""`failed`: the address is bad. `expired`: it may work later. `ours`: the server refuses us, not the recipient."""
LONGEST = 2000
"""Characters that are read: a reply has some lines, and servers that say more repeat themselves."""
_ENHANCED = re.compile(r"(?<![0-9.])([245])\.([0-9]{1,3})\.([0-9]{1,3})(?!\.?[0-9])")
_REPLY = re.compile(r"(?<![0-9.:-])([45])[0-9]{2}(?=[ -])(?!-[0-9]{3}\b)")
LONGEST_WORD = 60
_HOST = re.compile(r"(?:[a-z0-9_-]{1,60}\.){1,8}[a-z]{2,20}\W{0,5}")
_LISTS = re.compile(r"spamhaus|spamcop|barracudacentral|sorbs|uceprotect|ipcheck\.proofpoint|csi\.mimecast")
"""Block lists that are named by their hosts or links alone."""


_WORDS = {
    "MAILBOX": "(?:mail(?: ?box)?|inbox|account|user|recipient|folder|mail ?drop|maildir|disk|storage)",
    "FULL": "(?:full|over ?flow|over (?:its )?quota|out of (?:storage|space|quota))",
    "ADDRESS": "(?:user|recipient|mailbox|address|account|alias|person|addressee|name)",
    "UNKNOWN": "(?:unknown|not found|not exist|doesn't exist|invalid|disabled|inactive|unavailable|closed|deactivated"
    "|suspended|expired|deleted|terminated|rejected|undeliverable|not known|not recogni[sz]ed|not listed|unrouteable"
    "|locked|retired|not available)",
    "BAD": "(?:unknown|invalid|no such|bad|nonexistent|non-existent|illegal|unrecogni[sz]ed|undeliverable|unrouteable"
    "|unroutable|no valid|inactive|disabled|unverified|incorrect|old|wrong|rejected)",
}
"""What stands for several words in the phrases below."""


def _any(text: str) -> re.Pattern[str]:
    """Return a pattern of phrases in which the words above may stand."""
    return phrases(re.sub("[A-Z]{3,}", lambda found: _WORDS[found[0]], text))


_SENDING_LIMIT = _any(
    r"""
    sending (?:quota|limit|rate) | daily (?:user |sending |message )*(?:quota|limit) | outbound (?:quota|limit)
    """
)
_FULL = _any(
    r"""
    MAILBOX\S{0,20} (?:(?:is|are|was|has been|appears to be|currently|too|its|the) ){0,2}FULL
    (?:over|exceed\w*|beyond|insufficient|not enough|out of|no) (?:\S+ ){0,3}(?:quota|storage|disk ?space|space)\b
    (?:quota|storage|mailbox size|size limit|mailbox limit)(?: \S+){0,4} (?:exceed\w*|reached|full)
    (?:quota|mailbox|storage)[ -]?exceeded | mailbox size limit | quota violation | overquota
    over[ -]quota | \bmbx? full | spool full | quota limit | exceeds allowed size
    邮箱(?:已满|空间|容量) | 郵箱已滿 | 容量(?:不足|超過|を超え) | いっぱい | 一杯 | 용량 ?(?:초과|부족)
    schowek (?:\S+ ){0,2}pełny
    postfach (?:\S+ )?(?:ist )?(?:über|ge)?(?:voll|füllt) | speicherplatz | speicher voll
    mailbox (?:\S+ ){0,3}(?:is )?vol\b | (?:bo[iî]te|messagerie|mailbox|bal) (?:\S+ ){0,3}(?:pleine|saturée)
    buz[oó]n (?:\S+ ){0,3}lleno | casella (?:\S+ ){0,2}piena | skrzynk\w+ (?:\S+ ){0,2}(?:pełna|przepełniona)
    caixa (?:\S+ ){0,3}cheia | ящик (?:\S+ ){0,2}переполнен
    """
)
"""A full mailbox."""
_LATER = _any(
    r"""
    gr[ae]y[ -]?list | host not found,? try again | temporary lookup failure
    temporarily unable to (?:resolve|look) | receiving (?:mail|messages?) (?:too quickly|at a rate)
    recipient (?:\S+ ){0,4}receiving (?:\S+ ){0,3}too (?:many|quickly)
    """
)
_OURS = _any(
    r"""
    spamhaus | spamcop | sorbs | uceprotect | barracuda reputation | barracudacentral | invaluement
    senderscore | mailspike | proofpoint | cloudmark | \bcsi\. | block[ -]?list | black ?-?list | deny ?list
    \bdnsbl | \brbl\b | \brbls\b | \bbl[0-9]{2,}\b | (?<!not )\blisted (?:in|on|at|by|with)\b | is listed\b
    blocked (?:using|by|due|because|for|from|at|-|see) | has been blocked | is (?:currently )?blocked
    are blocked | been blocked | \bblocked\b(?! account) | reputation | \bbanned\b | \bs3140\b | \bs3150\b
    access (?:to this mail system )?(?:has been )?(?:rejected|denied) | \bptr\b
    reverse[ -](?:dns|lookup|host|ip) | \brdns\b | no reverse | reverse address | hostname lookup
    cannot find your (?:reverse )?host | client host rejected | helo (?:command )?rejected | \bhelo\b
    generic (?:\S+ )?host | \bspf\b | \bdkim\b | \bdmarc\b | \barc\b | sender[ -]?id\b | sender policy
    unauthenticated | not authenticated | authenticat(?:ion|ed) | domainkeys
    not (?:authori[sz]ed|permitted|allowed) to (?:send|relay|use) | not (?:\S+ )?authori[sz]ed\b
    unauthori[sz]ed | no relay | denied \(mode | abuse | accept (?:e?mail|connections) from
    relay(?:ing)? (?:access )?(?:denied|disallowed|not (?:permitted|allowed)|prohibited) | unable to relay
    not relay | relay not permitted | sender (?:\S+ ){0,3}(?:rejected|not allowed|not permitted|denied|refused)
    sender (?:\S+ ){0,3}(?:invalid|verif|unknown|blocked|does not exist)
    sender (?:\S+ ){0,3}(?:not found|domain) | (?:invalid|bad|unknown|unverified|rejected) sender
    mail from (?:\S+ ){0,2}(?:rejected|refused|not) | from address | return[ -]path | spam\b | \bspam | \buce\b
    \bube\b | unsolicited | \bbulk\b | junk | phish | \bvirus(?:es)?\b | malware | suspicious | suspected | offensive
    (?:contains|bad|blocked|listed|malicious) (?:\S+ ){0,3}url\b | \buribl | \bsurbl
    content (?:\S+ ){0,3}(?:rejected|denied|refused|filter|block|policy|unacceptable|not accept|restriction)
    (?:rejected|denied|refused|blocked|due to|because of) (?:\S+ ){0,3}content | message (?:was )?filtered
    mail content | polic(?:y|ies)\b | administrative prohibition | prohibited
    security (?:reasons|policies|violation) | violat | not accepted for | \brtr: | \bofr_(?!4|51) | \bofr[0-9] | nemesis
    \b(?:dt|hl|mi|rp|im|ccl|nrbl|sbl|pod):[a-z]{3}\b | \brbl_ | callback setup | letter rejected
    спам | 垃圾邮件 | 垃圾郵件 | スパム | 迷惑メール | ブロック | 스팸 | 차단
    no smtp service | a problem occurred\.? \(?ask your postmaster
    will not accept (?:delivery|mail|connections) | message (?:content )?rejected
    (?:mail|message|e-?mail|transaction) (?:rejected|refused|was refused|was rejected|blocked|not accepted)
    rejected (?:by|due to|because|for|under|after) (?:\S+ ){0,4}(?:rule|filter|reason)
    rejected (?:by|due to|because|for|under|after) (?:\S+ ){0,4}(?:profile|score|header)
    rejected (?:by|due to|because|for|under|after) (?:\S+ ){0,4}(?:senders|suspicion) | complaints?\b
    rate[ -]?limit
    too many (?:messages|mails|emails|e-mails|connections|concurrent|sessions|recipients|errors|requests)
    unusual (?:rate|traffic|sending) | unexpected volume | throttl | frequency (?:is )?limit | slow down
    sending too | exceeded (?:\S+ ){0,4}(?:rate|connections)
    message (?:size |length )?(?:exceeds|too (?:large|big|long)) | size exceeds | line too long | syntax error
    bare (?:lf|cr) | command (?:unrecogni[sz]ed|rejected|not implemented) | bad sequence | must issue a starttls
    tls (?:is )?required | encryption (?:is )?required | missing (?:\S+ ){0,2}header | rfc ?[0-9]{4} compliant
    5322 | duplicate header | abgelehnt wegen | wegen spam | sperrliste | gesperrt | mail rejete
    refus[ée] (?:\S+ ){0,3}(?:spam|politique) | spamverdacht | geblokkeerd | bloqué | bloqueado
    """
)
_FAILED = _any(
    r"""
    ADDRESSs? (?:\S+ ){0,3}UNKNOWN
    BAD (?:\S+ ){0,2}(?:ADDRESS|local|domain|host|people|id)
    (?:does not|doesn'?t|do not|don'?t) (?:exist|have (?:an? )?(?:\S+ )?(?:account|mailbox)|like recipient)
    (?:does not|doesn'?t|do not|don'?t) (?:handle|accept (?:e?mail|messages) for|host)
    no (?:mailbox|account|user|recipient)\b | no (?:mx|mail ?server|such|one)\b
    no (?:longer (?:\S+ )?(?:valid|available|active|used|in use|here|works?|employed|accepts?))\b
    (?:host|domain)(?: \S+)? (?:or domain )?(?:name )?(?:(?:could|was|can) ?not (?:be )?)?(?:not )?(?:found|resolved)
    (?:host|domain)(?: \S+)? (?:or domain )?(?:name )?(?:(?:could|was|can) ?not (?:be )?)?(?:not )?(?:exist)
    nxdomain | null ?mx | unrouteable | unroutable | not our customer | has moved | changed (?:\S+ )?address
    recipnotfound | user is unknown | name service error | user ?unknown | unknown ?user | nosuchuser
    isn'?t (?:a )?(?:valid|known|here) | not a (?:valid|known) (?:\S+ )?(?:user|recipient|address|mailbox)
    inactivity | (?:mailbox|account) (?:is|has been) blocked | domain (?:is )?(?:parked|expired)
    not (?:\S+ )?listed | unbekannt | existiert nicht | nicht gefunden | ungültig | nicht bekannt | onbekend
    bestaat niet | inconnu | n'existe pas | desconocid | no existe | sconosciut | nieznan | não existe
    archived recipient | destinataire archiv | 用户不存在 | 用戶不存在 | 存在しません | 존재하지 않
    не существует | не найден | неизвест
    """
)
_EXPIRED = _any(
    r"""
    hosts have been failing | all servers failed
    expired | message age | time[ -]?out | timed out | retry time | retries | retry (?:limit|period) | too long
    long failure period | within (?:the )?\S+ (?:\S+ )?(?:hour|day|minute)s?
    (?:after|for|in|past|last) (?:\S+ )?[0-9]+(?:\.[0-9]+)? ?(?:hour|day|minute|tag|dag|jour|stunde|uur)
    could not connect | unable to connect
    connect(?:ion)? (?:to \S+ )?(?:refused|reset|failed|lost|dropped|closed|timed|rejected|error|attempts?|was)
    can'?t connect | cannot connect | not respond | no (?:answer|response|route) | unreachable | temporar
    try again | again later | deferred | undelivered for | delivery (?:time|attempts?) | attempts
    in (?:the )?queue | queue (?:time|life) | network (?:error|problem)
    (?:server|service|system|mailbox|resources?|host) (?:\S+ ){0,2}(?:busy|down|unavailable)
    (?:server|service|system|mailbox|resources?|host) (?:\S+ ){0,2}(?:not available|overload|not accepting)
    unavailable | greeting | lost connection | conversation with | insufficient (?:system )?(?:resources|memory)
    loops? back | loop detected | mail loop | hop count | too many hops | requests to connect
    internal (?:server |software )?error | local (?:error|problem) | starttls
    tls (?:\S+ )?(?:handshake|negotiation|error|failed) | certificate | abgelaufen | zeitüberschreitung
    verlopen | délai | expir[ée] | caducad | scadut | upłynął | истек
    """
)
CODES: dict[str, Cause] = {
    **dict.fromkeys(("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.9", "1.10"), "failed"),
    **dict.fromkeys(("1.7", "1.8"), "ours"),  # the sender's address
    **dict.fromkeys(("2.1", "2.4", "4.1"), "failed"),
    **dict.fromkeys(("2.2", "3.1", "3.2", "3.3", "3.5"), "expired"),
    **dict.fromkeys(("2.3", "3.4"), "ours"),  # the email is too big
    **dict.fromkeys(("4.0", "4.2", "4.3", "4.5", "4.6", "4.7", "4.8", "4.14"), "expired"),
    **dict.fromkeys(("4.4", "4.310"), "failed"),  # no route, no such domain
    **dict.fromkeys(
        ("6.7", "6.9", "7.17", "7.18"), "failed"
    ),  # no ASCII address; another owner since (RFC 7293)
}
"""What the second and third number of an enhanced code mean; of a subject that is not here, see `SUBJECTS`."""
SUBJECTS: dict[str, Cause] = {"4": "expired", "5": "ours", "6": "ours", "7": "ours"}
"""What the second number alone means: routing, protocol, content, and policy."""

_OF_SENDERS = re.compile(r"[45]\.7\.(?:2[0-9]|30|[5-7][0-9]{2})")
"""DKIM, SPF, reverse DNS and DMARC (RFC 7372 and later), and what Microsoft holds against hosts."""


def cause_of(said: str, status: str = "") -> Cause:
    """Return why a mail server has refused an email.

    Args:
        said: its words, on any number of lines.
        status: the enhanced code of a report, if it has one; a code in the words counts more.
    """
    return recognized(said, status) or "failed"


def is_full(said: str) -> bool:
    """Whether a mail server says that a mailbox is full: its owner will notice without us."""
    text = said[:LONGEST].lower()
    return _code(text)[2:] == "2.2" or _FULL.search(" ".join(_words(text))) is not None


def recognized(said: str, status: str = "") -> Cause | None:
    """Return the cause that words or codes name, or None if they name none."""
    text = said[:LONGEST].lower().replace("’", "'")
    code = _code(text) or _code(status)
    passing = _passes(text, code)
    text = " ".join(_words(_ENHANCED.sub(" ", text)))
    by_words = _by_words(text, code, passing)
    if by_words is not None:
        return by_words
    by_code = CODES.get(code[2:], SUBJECTS.get(code[2:3])) if code else None
    if passing:
        return "expired"
    return by_code or ("failed" if code.startswith("5") or _REPLY.search(said[:LONGEST]) else None)


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text but addresses, links and names of hosts, whose parts mean nothing."""
    for word in text.split():
        bare = word.lstrip("([<'\"")
        if _LISTS.search(word):
            yield "block list"
        elif "@" in bare:
            if ":" in bare.partition("@")[2]:  # "(alice@example.org:blocked)"
                yield bare.rpartition(":")[2][:LONGEST_WORD]
        elif not bare.startswith(("http:", "https:", "www.")) and not _HOST.fullmatch(bare):
            yield word[:LONGEST_WORD]


def _passes(text: str, code: str) -> bool:
    reply = _REPLY.search(text)
    return code.startswith("4") or (not code and reply is not None and reply[1] == "4")


def _code(text: str) -> str:
    """Return the first enhanced code that says anything; x.0.0 stands for all."""
    return next((found for found in _codes(text) if not found.endswith(".0.0")), "")


def _codes(text: str) -> Iterator[str]:
    return (found[0] for found in _ENHANCED.finditer(text) if found[1] != "2")


def _by_words(text: str, code: str, passing: bool) -> Cause | None:
    known = _FAILED.search(text) is not None
    if _OF_SENDERS.fullmatch(code):
        return "ours"
    if known and not passing and CODES.get(code[2:]) == "failed" and not _FULL.search(text):
        return "failed"
    if _SENDING_LIMIT.search(text):
        return "ours"
    if _FULL.search(text) or _LATER.search(text):
        return "expired"
    if _OURS.search(text):
        return "ours"
    if known:
        return "expired" if passing else "failed"
    return "expired" if _EXPIRED.search(text) else None
