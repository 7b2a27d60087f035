"""The words around a move: how people greet, thank and close, and what their mail programs and phones add.

They are known in many languages, and two rules need no language: what stands over nothing but the writer's own name
closes a mail, and a short last line that names a mail program was written by it. Neither holds for a line that says
something against what stands above it, and neither is asked about a line that can be read as a move.
"""

from __future__ import annotations

import re

from server.mail.incoming.lines import visible

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
_LINK = re.compile(r"<?https?://\S+>?")


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
    return _LINK.fullmatch(line) is not None


def begins_added(line: str) -> bool:
    """Whether a line begins with the words with which programs begin what they add, in English, Dutch and German."""
    return _SENT_FROM.fullmatch(line) is not None


def is_added(line: str, *, talk: bool) -> bool:
    """Whether a program added a line, which is the last one; `line` as of `lines.visible`.

    Args:
        talk: people may talk about their telephones, so it must also say that something was sent.
    """
    if len(line) > LONGEST_ADDED or len(line.split()) > 2 * MOST_WORDS:
        return False
    sent, product = _SAYS_SENT.search(line) is not None, _NAMES_PRODUCT.search(line) is not None
    device = product or _NAMES_DEVICE.search(line) is not None
    return (sent and device) or (product and not talk and _SPEAKS_AGAINST.search(line) is None)
