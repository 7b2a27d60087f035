"""The writer's own lines of a reply: without the quote, the closing, and what mail programs add.

Closings are known in many languages, and two rules need no language: what stands over nothing but the writer's own name
closes a mail, and a short last line that names a mail program was written by it. Neither holds for a line that says
something against what stands above it, and neither is asked about a line that can be read as a move.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from server.mail.text import normalize_line, says_something, visible

LONGEST_CLOSING, LONGEST_ADDED = 50, 100
"""Characters of a line that closes a mail, and of one that a program adds."""
MOST_WORDS = 8

_NAMED = r"(?: [\w.'-]{1,20}){0,2}"
_HELLO = re.compile(
    rf"(?:hi|hello|hey|dear|hoi|hallo|dag|beste|hé|goede(?:morgen|middag|navond)|gute[nr] (?:morgen|tag|abend)"
    rf"|good (?:morning|afternoon|evening)|moin|servus|liebe[rs]?|hej(?:san)?|hei|moi|terve|bonjour|salut"
    rf"|hola|buen(?:os|as) (?:d[ií]as|tardes|noches)|ciao|buongiorno|salve|cześć|dzień dobry|witam|olá|oi"
    rf"|bom dia|boa (?:tarde|noite)|ahoj|dobrý den|merhaba|selam|привет|здравствуйте|добрый день|szia|üdv|bok"
    rf"|bună(?: ziua)?|здравейте|вітаю|добрий день|здраво|zdravo|γεια(?: σας)?|sveiki|labas|tere|halo|xin chào"
    rf"|你好|您好|こんにちは|안녕하세요|สวัสดี|नमस्ते|שלום|مرحبا|سلام){_NAMED}",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:many |vielen |hartelijk |heel erg |mange |tusen |muchas |muito |mille |bardzo |multe )?(?:thanks?"
    r"|thank you|thx"
    r"|bedankt|dankjewel|dank je|dank u|danke?"
    r"|merci|(?:mange )?tak|takk|tack|gracias|grazie(?: mille)?|dzięki|dziękuję|obrigad[oa]|kiitos|díky"
    r"|děkuji|teşekkürler|спасибо|köszönöm|köszi|mulțumesc|благодаря|дякую|hvala|хвала|ďakujem|ευχαριστώ"
    r"|paldies|ačiū|aitäh|terima kasih|cảm ơn|谢谢|謝謝|ありがとう(?:ございます)?|감사합니다"
    r"|ขอบคุณ(?:ครับ|ค่ะ)?|धन्यवाद|תודה|شكرا|ممنون)"
    r"(?: (?:a lot|very much|so much|you|all|again|wel|alvast|schön|sehr|im voraus|in advance|everyone"
    r"|for waiting|a million|en groet(?:en)?)){0,2}"
    r"|take care|have (?:a )?(?:nice|good|great|lovely) (?:day|evening|weekend|one)"
    r"|(?:einen )?schönen (?:tag|abend)(?: noch)?"
    r"|schönes wochenende|bis (?:dann|bald)|fijne (?:dag|avond)|fijn weekend|bonne (?:soirée|fin de journée)|à bientôt"
    r"|que tenga?s? (?:un )?buen día|buen día|buona (?:giornata|serata)|a presto"
    r"|bom dia|boa (?:tarde|semana)"
    r"|miłego (?:dnia|wieczoru)|всего (?:доброго|хорошего)|хорошего дня|гарного дня|всього найкращого|お疲れ様です"
    r"|お願いします|수고하세요|좋은 하루 되세요|iyi (?:günler|akşamlar|çalışmalar)|kolay gelsin"
    r"|(?:hezký|pěkný|pekný) de[nň]"
    r"|szép napot|(?:ha en )?(?:fin|god|bra|trevlig) (?:dag|kväll|kveld|aften|helg)|ha det bra|hyvää (?:päivän)?jatkoa"
    r"|mukavaa päivää|καλή (?:συνέχεια|μέρα)|תודה רבה|יום (?:נעים|טוב)|شكرا جزيلا|o zi (?:bună|frumoasă)"
    r"|lijep dan|лек ден|приятен ден|пријатан дан|lep dan"
    r"|jauku dieną|geros dienos|jauku dienu|kena päeva"
    r"|با تشکر|متشکرم|سپاس|شکریہ|நன்றி|ধন্যবাদ|salamat(?: po)?|asante(?: sana)?|dankie|diolch|eskerrik asko|gràcies"
    r"|grazas|takk fyrir|祝您?(?:愉快|顺利|健康)|祝您?一切(?:顺利|順利)|先谢|先謝",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"(?:(?:all the )?best(?: wishes| regards)?|(?:kind |warm )?regards|cheers|yours|sincerely|greetings|love"
    rf"|(?:met )?(?:vriendelijke |hartelijke |lieve )?(?:groet(?:en|jes)?|gr)|mvg|vr ?gr|tot ziens|doei|bye"
    rf"|(?:mit |viele |liebe |beste |schöne |herzliche |freundliche[nr]? |mit freundlichen )?(?:grüße[n]?|gruß"
    rf"|gruss|gruesse|grüsse)|mfg|lg|vg|vlg|tschüss|x{{1,3}}|(?:(?:med )?(?:venlig|vennlig|kærlig) )?hilsen"
    rf"|(?:de )?bedste hilsner|beste hilsener|mvh|(?:(?:med )?vänliga |bästa )?hälsningar|(?:bien )?cordialement"
    rf"|amicalement|bonne journée|bien à (?:vous|toi)"
    rf"|(?:un )?(?:cordial )?saludos?(?: cordiales)?|un abrazo|atentamente|(?:(?:cordiali|distinti) )?saluti"
    rf"|un saluto|pozdrawiam|z poważaniem|abraços?|atenciosamente|atentamente"
    rf"|(?:com os melhores )?cumprimentos|(?:ystävällisin )?terveisin|terveisiä|s pozdravem|s pozdravom|saygılarımla"
    rf"|selamlar|sevgiler|с уважением|с наилучшими пожеланиями|з повагою|с уважение|поздрави|с поштовањем|поздрав"
    rf"|srdačan pozdrav|s poštovanjem|lep pozdrav|lp|üdvözlettel|cu stimă|cu respect|toate cele bune|με εκτίμηση"
    rf"|φιλικά|χαιρετισμούς|ar cieņu|pagarbiai|linkėjimai|lugupidamisega|parimate soovidega|tervitustega"
    rf"|salutacions|(?:bl)?atentament|agur(?: bat)?|adeitasunez|saúdos|kveðja|með kveðju|bestu kveðjur|trân trọng"
    rf"|thân mến|salam|salam hormat|hormat saya|lubos na gumagalang|wasalaam|vriendelike groete|groete"
    rf"|此致|敬上|祝好|敬祝|よろしくお願いします|よろしくお願いいたします|敬具|감사합니다|드림|ด้วยความเคารพ|सादर"
    rf"|בברכה|כל טוב|مع خالص التحية|تحياتي|مع التحية|با احترام|ارادتمند|শুভেচ্ছা|அன்புடன்"
    rf"|(?:un|um|unha) (?:abrazo|abraço|aperta)|beijos|bisous|bises|baci|besos|köszönettel|cu (?:drag|prietenie)"
    rf"|(?:lijep |срдачан |велик )?(?:pozdrav|поздрав)|lep(?:o|e)? pozdrav(?:ljeni|e)?|tervitades|ar laba vēlējumiem"
    rf"|su pagarba|thân ái|ขอแสดงความนับถือ|مع تحياتي|yang benar|hormat kami|sekian terima kasih|ondo izan|kær kveðja"
    rf"|wako mwaminifu|শুভেচ্ছান্তে|le meas|cofion(?: gorau)?|me respekt|përshëndetje|со почит|hörmətlə|құрметпен"
    rf"|hurmat bilan|आपका|शुभकामनाएं|宜しくお願い(?:します|致します|いたします)|どうぞよろしく(?:お願いします)?"
    rf"|よろしくお願い(?:致し|申し上げ|いたし)ます|よろしく|敬礼|敬禮|顺颂商祺|安好|올림|배상){_NAMED}",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:not|no|never|nope|wait|stop|cancel|undo|forget|ignore|if|unless|but|only|instead|sorry|wrong|mistake\w*"
    r"|kidding|joke|joking|later|don'?t|please|shall|should|maybe|perhaps|or"
    r"|nicht|nichts|kein\w*|nein|warte\w*|abbrechen|wenn|falls|aber|oder|doch|bitte|vielleicht|später|lieber"
    r"|niet|nee|geen|wacht\w*|annuleer\w*|maar|misschien|liever"
    r"|pas|non|ne|attend\w*|annul\w*|mais|si|peut|esper[ae]\w*|pero|aspett\w*|però|forse|não|nao|mas|talvez"
    r"|nie|czekaj|anuluj|ale|jeśli|počkej|zrušit|pokud|ikke|inte|ej|vent|vänta|men|hvis|ei|älä|odota|mutta|jos"
    r"|nem|várj|hayır|değil|bekle|iptal|ama|eğer|не|нет|подожди\w*|отмен\w*|если|но|ні|чекай|якщо|але|ако"
    r"|όχι|δεν|μην|περίμενε|αν|αλλά|không|đừng|nhưng|nếu|tidak|bukan|jangan|tapi|jika|nē|bet|aga)\b"
    r"|[不否别別]|取消|等|但|如果|ない|いや|待|やめ|아니|안 |취소|만약"
    r"|ไม|อยา|ยกเลก|לא|אל |אבל|\bلا\b|ليس|لكن|إلغاء|نه|नह|मत",
    re.IGNORECASE,
)
_PRODUCT = re.compile(
    r"i-?phon|i-?pad|\bios\b|android|galaxy|samsung|huawei|xiaomi|redmi|\boppo\b|oneplus|nokia|xperia|motorola"
    r"|blackberry|windows|outlook|yahoo|gmail|hotmail|\baol\b|icloud|thunderbird|proton ?mail|\bk-9\b|mail\.ru|яндекс"
    r"|yandex|fairemail|bluemail|\bgmx\b|web\.de|telekom|vodafone|qq邮箱|foxmail|网易邮箱|naver|네이버|айфон|айпад"
    r"|آيفون|آیفون|אייפון|ไอโฟน|アイフォン|apple watch|\bpixel\b",
    re.IGNORECASE,
)
_DEVICE = (
    r"phone|telefon|teléfono|telefone|téléphone|telefoon|телефон|τηλέφωνο|móvil|mobil|mobiel|tablet|携帯|手机|手機|휴대"
    r"|โทรศัพท|هاتف|טלפון|điện thoại|cellular"
)
_SENT = (
    r"sent|gesendet|verzonden|verstuurd|von meine[mr]|vanaf mijn|envoyé|enviad|inviat|wysłan|odeslán|odoslan|skickat"
    r"|sendt\b|lähetet|küld|trimis|gönder|отправлен|надіслан|відправлен|изпратен|poslan|послат|στάλθηκε|σταλθηκε|išsiųst"
    r"|nosūtī|sūtīt|saadetud|enviat|bidali|送信|发自|發自|寄自|发送|傳送|傳自|보냄|보냈|ส่งจาก"
    r"|gửi từ|dikirim|dihantar|נשלח|أرسل"
    r"|مرسل|ارسال|ipinadala|imetumwa|gestuur|भेजा|পাঠানো|அனுப்ப|sent\b|send\b|scríofa|seolta|anfonwyd|ուղարկվ|გამოგზავნ"
)


def _bare(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for lines without marks, as `visible` makes them."""
    return re.compile(visible(pattern), re.IGNORECASE)


_SENT_FROM = re.compile(
    r"(?:sent|get|gesendet|verstuurd|verzonden|von meine[mr]|vanaf mijn|envoyé|diese (?:nachricht|e-?mail) wurde"
    r"|dit bericht is|outlook|laden sie|holen sie|download|virus-?free|virusvrij|virenfrei)\b.*",
    re.IGNORECASE,
)
_SAYS_SENT, _NAMES_DEVICE, _NAMES_PRODUCT = _bare(_SENT), _bare(_DEVICE), _bare(_PRODUCT.pattern)
_SPEAKS_AGAINST = _bare(_AGAINST.pattern)
_LINE_WITH_A_LINK = re.compile(r"<?https?://\S+>?")


def is_courtesy(text: str) -> bool:
    """Whether a normalised line is nothing but a greeting, thanks or a closing."""
    return any(words.fullmatch(text) for words in (_HELLO, _THANKS, _CLOSING))


def is_closing(text: str) -> bool:
    """Whether a normalised line is a closing in a language known here."""
    return _CLOSING.fullmatch(text) is not None


def may_close(text: str) -> bool:
    """Whether a normalised line over its writer's name can be a closing, in whatever language."""
    bare = visible(text)
    short = len(bare) <= LONGEST_CLOSING and len(bare.split()) <= MOST_WORDS
    plain = all(char.isalpha() or char in " .!'’´`-" for char in bare)
    return short and plain and _SPEAKS_AGAINST.search(bare) is None


def is_link(line: str) -> bool:
    """Whether a line is nothing but a link, as programs add one below their name."""
    return _LINE_WITH_A_LINK.fullmatch(line) is not None


def begins_added(line: str) -> bool:
    """Whether a line begins with the words with which programs begin what they add, in English, Dutch and German."""
    return _SENT_FROM.fullmatch(line) is not None


def is_added(line: str, *, talk: bool) -> bool:
    """Whether a program added a line, which is the last one; `line` as of `text.visible`.

    Args:
        talk: people may talk about their telephones, so it must also say that something was sent.
    """
    if len(line) > LONGEST_ADDED or len(line.split()) > 2 * MOST_WORDS:
        return False
    sent, product = _SAYS_SENT.search(line) is not None, _NAMES_PRODUCT.search(line) is not None
    device = product or _NAMES_DEVICE.search(line) is not None
    return (sent and device) or (product and not talk and _SPEAKS_AGAINST.search(line) is None)


# ---- the quote ----
# Mail clients mark quoted text in many ways and languages (docs/mail-in.md). One rule holds in all of them: a line
# with an address of ours, or of the writer's own, begins the quote. Besides, the words of English, Dutch and German
# clients are known, and a block of headers is known by its shape. Each line is normalised first: without odd blanks,
# characters or punctuation that a phone added.

MARKER = re.compile(r"##-.{1,200}-##")
"""The line in our own mails above which people write; the text between the signs may be in any language."""
LONGEST_LINE = 1000
"""Characters of a line that are read; no move is as long."""
MOST_LINES_READ = 4000
"""Lines that are read: a mail that quotes a whole thread has some hundreds."""
SAY = re.compile(r"([\W_]*)say(?:\s*:\s*|\s+)(.*\S)", re.IGNORECASE)
"""A line of words to the table; whatever it mentions, it is no signature and begins no quote."""
NARROWEST, WIDEST = 70, 80
"""Characters of a line at which mail programs break the text of their writers."""
MOST_BELOW = 20
"""Lines under a closing in which a signature would have to begin."""
MOST_WRAPPED = 4
"""Lines into which a mail program breaks the words that introduce a quote."""

_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"']{1,100}@[^\s<>()\[\],;:\"'@]{1,255}")
_DATE = re.compile(r"\d{4}|\d{1,2}[:.]\d{2}|\d[日時时월일]")
"""What the words that introduce a quote have and no move: a year or a time."""
_DATED = re.compile(
    r"(?:on|at)\b.{4,300}\bwrote ?:?"
    r"|op\b.{4,300}\b(?:schreef\b.{0,200}|geschreven) ?:"
    r"|am\b.{4,300}\b(?:schrieb\b.{0,200}|geschrieben) ?:",
    re.IGNORECASE,
)
_NAMED_FIRST = re.compile(
    r".{1,200}\bwrote(?: on .{3,80}| at .{3,80})? ?:"
    r"|.{1,200}\bschreef(?: op .{3,80})? ?:"
    r"|.{1,200}\b(?:schrieb(?: am .{3,80})?|hat (?:am|um) .{3,80} geschrieben) ?:",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"[*_\s]*(?:from|sent|date|to|cc|subject|reply-to|van|verzonden|datum|aan|onderwerp|von|gesendet|an|betreff"
    r"|antwort an)[*_]{0,2}[ \t]*:[*_\s]*\S?",
    re.IGNORECASE,
)
_ANY_LABEL = re.compile(r"[*_]{0,2}[^\W\d_](?:[\w .'’-]{0,28}\w)?[*_]{0,2} ?:[*_]{0,2} ?[^\s/:]")
"""A header's name in any language, and the beginning of its value."""
_HAS_ADDRESS = re.compile(r"\S@\S")
_RULE = re.compile(r"[_=*—–─━-]{10,}|[_=*—–─━-]{3,} ?[^\s_=*—–─━-].{1,80}?[_=*—–─━-]{2,}")
_FORWARDED = re.compile(
    r"(?:begin forwarded message|anfang der weitergeleiteten nachricht|begin doorgestuurd bericht"
    r"|original message|ursprüngliche nachricht|oorspronkelijk bericht) ?:?",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"[-–—]{1,3}\s*")
_LINK = re.compile(r"<?(?:https?://|www\.|mailto:)\S*", re.IGNORECASE)
_TOKEN = re.compile(r"/[a-z2-7]{26}\b", re.IGNORECASE)


class OwnLine(str):
    """A line of the writer's own, normalised to be read as a move.

    Attributes:
        typed: the line as it was typed.
        joins: whether it may be the rest of the line above, which a mail program has broken.
        closes: whether it stands where people close a mail, over nothing but their name: unless it is a move, it
            says nothing.
    """

    __slots__ = ("closes", "joins", "typed")
    typed: str
    joins: bool
    closes: bool

    def __new__(cls, text: str, typed: str, joins: bool = False, closes: bool = False) -> OwnLine:
        """Return a line from its normalised text."""
        made = super().__new__(cls, text)
        made.typed, made.joins, made.closes = typed, joins, closes
        return made


@dataclass(frozen=True, slots=True)
class Known:
    """What tells the words of a mail's writer from those of others.

    Args:
        names: of the writer: as the last line, each is a signature.
        addresses: email addresses of the writer and of ours, as of `without_tag`.
        domain: of our addresses, lower-case.
        site: how our links begin, without their scheme, lower-case.
        sender: the name from which our mails come.
    """

    names: tuple[str, ...] = ()
    addresses: frozenset[str] = frozenset()
    domain: str = ""
    site: str = ""
    sender: str = ""

    def begin_quote(self, line: str, talk: bool) -> bool:
        """Whether a line has an address of ours or the writer's, or a link of ours; people talk about public pages."""
        if any(self._is_known(found) for found in _ADDRESS.findall(line)):
            return True
        at = line.lower().find(f"{self.site}/") if self.site else -1
        return at >= 0 and (not talk or _TOKEN.search(line, at) is not None)

    def signatures(self) -> set[str]:
        """Return the ways in which the writer may sign."""
        found: set[str] = set()
        for name in self.names:
            whole = normalize_line(name).casefold()
            parts = [part for part in re.split(r"[\s@]+", whole) if part]
            if parts:
                found |= {whole, *parts, parts[0][0], "".join(part[0] for part in parts)}
        return found

    def without_name(self, line: str) -> str:
        """Return what stands before the writer's name at the end of a line; "" if it does not end so."""
        for name in sorted(self.signatures(), key=len, reverse=True):
            if len(name) > 2 and line.casefold().endswith(f" {name}"):
                return line[: -len(name)].rstrip()
        return ""

    def _is_known(self, address: str) -> bool:
        typed = without_tag(address.rstrip(".!?…*_"))
        # Korean and others add what grammar asks for without a blank: "play@example.org님이".
        forms = {typed, typed.encode("ascii", "ignore").decode().rstrip(".")}
        return any(bare.rpartition("@")[2] == self.domain or bare in self.addresses for bare in forms)

    def names_us(self, line: str) -> bool:
        """Whether a line has the name from which our mails come."""
        return bool(self.sender) and self.sender.casefold() in line.casefold()

    def names_writer(self, line: str) -> bool:
        """Whether a line has the whole name of the writer."""
        return any(len(name) > 2 and name.casefold() in line.casefold() for name in self.names)


def without_tag(address: str) -> str:
    """Return an email address to compare: lower-case, and without what its owner added behind a `+`."""
    local, _at, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


@dataclass(frozen=True, slots=True)
class OwnText:
    """What the writer of a mail wrote themself.

    Args:
        lines: as `own_lines` returns them.
        doubtful: whether the quote begins where nothing but an address says so; what follows may be the writer's, too.
    """

    lines: tuple[OwnLine, ...] = ()
    doubtful: bool = False


def own_text(text: str, known: Known, *, talk: bool = False) -> OwnText:
    """Return the writer's own lines, normalised: those above the quoted text, else those below it.

    Args:
        text: the mail's text as received.
        talk: all of it is meant for people, so greetings and thanks are kept, too.
    """
    lines = [line[: LONGEST_LINE + 1] for line in text.split("\n", MOST_LINES_READ)[:MOST_LINES_READ]]
    above = _unquoted(lines, known, talk)
    if above.lines:
        return above
    began, _doubtful = _Quotes(lines, known, talk).start()
    return _unquoted(_lines_below(lines[began:]), known, talk)


def _unquoted(lines: Sequence[str], known: Known, talk: bool) -> OwnText:
    """Return the writer's own lines above a quote; where it is doubtful, a line of theirs, which is no move."""
    began, doubtful = _Quotes(lines, known, talk).start()
    own = lines[: began + (doubtful and not talk)]
    return OwnText(_without_courtesies(own, known, talk), doubtful)


class _Quotes:
    """Finds where quoted text begins among lines.

    Args:
        lines: as received.
        talk: all that is the writer's is meant for people.
    """

    def __init__(self, lines: Sequence[str], known: Known, talk: bool) -> None:
        self._lines = [visible(line) for line in lines]
        self._known = known
        self._talk = talk

    def start(self) -> tuple[int, bool]:
        """Return the index at which quoted text begins, or the number of lines, and whether that is doubtful."""
        for index, text in enumerate(self._lines):
            if text.startswith(">"):
                return self._introduced(index), False
            if MARKER.search(text):
                return self._above_marker(index), False
            if not text or SAY.match(text):
                continue
            if _RULE.fullmatch(text) or _FORWARDED.fullmatch(text):
                return index, False
            if self._is_attribution(index) or self._is_header_block(index):
                return index, False
            if self._known.names_us(text) and _DATE.search(text) and self._up_to_colon(index):
                return self._wrapped_above(index), False
            if self._known.begin_quote(text, self._talk):
                doubtful = self._is_doubtful(index)
                return index if doubtful else self._wrapped_above(index), doubtful
        return len(self._lines), False

    def _is_attribution(self, index: int) -> bool:
        """Whether "On …, Byzanz wrote:" begins here; mail clients wrap it into up to four lines."""
        wrapped = self._up_to_colon(index)
        text = " ".join(wrapped)
        if not text or len(text) > 500:
            return False
        if _DATED.fullmatch(text):
            return True
        # Any line could begin “Byzanz … wrote:”, so the last that can does: those above it are the writer's.
        later = (number for number, line in enumerate(wrapped) if number and not line.startswith("<"))
        return _NAMED_FIRST.fullmatch(text) is not None and not any(
            self._is_attribution(index + n) for n in later
        )

    def _up_to_colon(self, index: int) -> list[str]:
        """Return the lines from here to one that ends as an attribution does; empty if none of four does."""
        wrapped: list[str] = []
        for text in self._lines[index : index + MOST_WRAPPED]:
            if not text or text.startswith(">"):
                return []
            wrapped.append(text)
            if text.endswith((":", "wrote")):
                return wrapped
        return []

    def _is_header_block(self, index: int) -> bool:
        """Whether "From: … Sent: …" begins here, as Outlook and GMX write it above quoted text, in any language."""
        labels = [line for line in self._lines[index : index + 8] if line][:4]
        if len(labels) > 1 and all(_LABEL.match(line) for line in labels[:2]):
            return True
        if len(labels) < 3 or not all(_ANY_LABEL.match(line) for line in labels[:3]):
            return False
        if any(_HAS_ADDRESS.search(line) for line in labels[:2]):
            return True
        named = any(self._known.names_us(line) or self._known.names_writer(line) for line in labels)
        return named and any(_DATE.search(line) for line in labels)

    def _wrapped_above(self, index: int) -> int:
        """Return the index at which begins what a line with a known address belongs to."""
        first = index
        while first > 0 and index - first < MOST_WRAPPED:
            text, above = self._lines[first], self._lines[first - 1]
            cut = above.endswith(("<", "(")) or (text.startswith(("<", "(")) and self._up_to_colon(first))
            header = _ANY_LABEL.match(text) and _ANY_LABEL.match(above)
            if (
                not above
                or SAY.match(above)
                or not (cut or header or _DATE.search(above) or self._known.names_us(above))
            ):
                break
            first -= 1
        return first

    def _is_doubtful(self, index: int) -> bool:
        """Whether nothing but a known address or link says that a quote begins here."""
        text = self._lines[index]
        rest = _LINK.sub("", _ADDRESS.sub("", text))
        below = next((line for line in self._lines[index + 1 :] if line), "")
        around = (below, self._lines[index - 1] if index else "")
        block = _ANY_LABEL.match(text) and any(map(_ANY_LABEL.match, around))
        introduces = self._up_to_colon(index) or block or below.startswith(">")
        said = self._known.names_us(rest) or self._known.names_writer(rest) or _DATE.search(rest)
        return says_something(rest) and not (introduces or said)

    def _introduced(self, index: int) -> int:
        """Return the index at which the words begin that introduce a quote, in a language not known here."""
        last = self._without_blanks(index)
        if not last:
            return last
        above = self._lines[last - 1]
        if above.endswith(":") or (self._known.names_us(above) and _DATE.search(above)):
            return self._dated_above(last - 1)
        return last

    def _above_marker(self, index: int) -> int:
        """Return the index at which the quote begins whose marker has no quote sign: the paragraph above it is ours."""
        last = self._paragraph_above(self._without_blanks(index))
        above = self._without_blanks(last)
        begins = self._paragraph_above(above)
        if above and self._lines[above - 1].endswith(":"):
            return self._dated_above(above - 1)
        if above - begins > 1 and all(_ANY_LABEL.match(line) for line in self._lines[begins:above]):
            return begins
        return last

    def _without_blanks(self, index: int) -> int:
        while index and not self._lines[index - 1]:
            index -= 1
        return index

    def _paragraph_above(self, index: int) -> int:
        while index and self._lines[index - 1]:
            index -= 1
        return index

    def _dated_above(self, index: int) -> int:
        """Return the index from which on lines belong to one that ends with a colon: they have a date or an address."""
        for _ in range(MOST_WRAPPED - 1):
            if not index or not re.search(rf"@|{_DATE.pattern}", self._lines[index - 1]):
                break
            index -= 1
        return index


def _lines_below(lines: Sequence[str]) -> list[str]:
    """Return the lines without a quote sign, below or between those that have one.

    A line squeezed between quoted lines is the wrapped rest of one of them, and not the writer's.
    """
    marked = [line.lstrip().startswith(">") for line in lines]
    if True not in marked:
        return []
    first, last = marked.index(True), len(marked) - 1 - marked[::-1].index(True)
    runs: list[list[str]] = [[]]
    for index in range(first, last + 1):
        if marked[index]:
            runs.append([])
        else:
            runs[-1].append(lines[index])
    between = [line for run in runs if any(not visible(line) for line in run) for line in run]
    return between + list(lines[last + 1 :])


def _without_courtesies(lines: Sequence[str], known: Known, talk: bool) -> tuple[OwnLine, ...]:
    """Return the lines without signature and, unless all of them are talk, without greetings and thanks."""
    found: list[OwnLine] = []
    for index, line in enumerate(lines):
        text, saying = normalize_line(line), SAY.match(line)
        if not saying and _is_signature(lines, index, known, talk):
            break
        if found and is_closing(text) and not (talk and _goes_on(lines[index + 1 : index + MOST_BELOW])):
            break
        if not found and not talk and _greets_us(line, text, known):
            continue
        if visible(line) if talk else says_something(text) and not is_courtesy(text):
            typed = line.replace("\xa0", " ").strip()
            apart = index > 0 and not visible(lines[index - 1])
            joins = index > 0 and _may_continue(lines[index - 1], typed)
            found.append(OwnLine(text, typed, joins, apart or typed.endswith(tuple(",，、،!！"))))
    return _signed(found, known)


def _greets_us(line: str, text: str, known: Known) -> bool:
    """Whether the first line is a greeting of ours in whatever language: two or three words, our name and a comma."""
    called = known.names_us(text) and 2 <= len(text.split()) <= 3
    return called and line.rstrip().endswith(tuple(",，、،!！")) and may_close(text)


def _signed(found: list[OwnLine], known: Known) -> tuple[OwnLine, ...]:
    """Return the lines without their writer's name at the end; the closing over it is marked."""
    names = known.signatures()
    signed = False
    while len(found) > 1 and found[-1].casefold().lstrip("-/ ") in names:
        found.pop()
        signed = True
    closing = -1
    if len(found) > 1:
        last = found[-1]
        words = last if signed else known.without_name(last)
        closing = len(found) - 1 if words and last.closes and may_close(words) else -1
    return tuple(OwnLine(line, line.typed, line.joins, n == closing) for n, line in enumerate(found))


def _is_signature(lines: Sequence[str], index: int, known: Known, talk: bool) -> bool:
    """Whether a signature begins here, or a line that a program adds."""
    bare = visible(lines[index])
    if not bare or _SIGNATURE.fullmatch(bare):
        return bool(bare)
    if begins_added(bare) and not talk:
        return True
    if not is_added(bare, talk=talk) and not (
        talk and begins_added(bare) and index > 0 and not visible(lines[index - 1])
    ):
        return False
    names = known.signatures()
    below = filter(None, map(visible, itertools.islice(lines, index + 1, None)))
    return all(
        is_added(text, talk=talk) or is_link(text) or normalize_line(text).casefold() in names
        for text in below
    )


def _goes_on(lines: Sequence[str]) -> bool:
    """Whether more follows than the name under a closing, and what a telephone adds or a signature says below."""
    below = itertools.takewhile(
        lambda line: not _SIGNATURE.fullmatch(line), filter(None, map(visible, lines))
    )
    return len(list(itertools.islice(below, 3))) > 2


def _may_continue(above: str, line: str) -> bool:
    """Whether a mail program may have broken one line into these two: the first word had no room above."""
    above = above.rstrip()
    return len(above) <= WIDEST and len(above) + 1 + len(line.split(" ", 1)[0]) > NARROWEST
