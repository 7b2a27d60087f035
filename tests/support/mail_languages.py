"""How mail programs introduce quotes and close mails in many languages, and the shapes in which replies come.

The words are those that Gmail, Yahoo, Apple Mail, Thunderbird and Outlook write in each language. A reply is made from
a real email about a turn, so that its quote is what players quote.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

ALICE, NAME, BYZANZ = "alice@example.org", "Alice Example", "Byzanz"


@dataclass(frozen=True)
class Language:
    """The words of mail programs in a language; `{n}` and `{a}` stand for the name and the address of a sender.

    Args:
        gmail: introduces a quote there; `yahoo` and `bird` do in Yahoo, and in Thunderbird and others without address.
        labels: of a block of headers: from, sent, to, subject.
        day: a date as it stands in the block.
        original: over a quote in old Outlook.
        closing: of a mail. phone: the line that a phone adds.
    """

    gmail: str
    yahoo: str
    bird: str
    labels: tuple[str, str, str, str]
    day: str
    original: str
    closing: str
    phone: str


def _language(*lines: str) -> Language:
    gmail, yahoo, bird, labels, day, original, closing, phone = lines
    sent, date, to, subject = labels.split("|")
    return Language(gmail, yahoo, bird, (sent, date, to, subject), day, original, closing, phone)


LANGUAGES = {
    "en": _language(
        "On Mon, Mar 2, 2026 at 11:00 AM {n} <{a}> wrote:",
        "On Monday, March 2, 2026 at 11:00:00 AM GMT+1, {n} <{a}> wrote:",
        "On 02/03/2026 11:00, {n} wrote:",
        "From|Sent|To|Subject",
        "Monday, March 2, 2026 11:00 AM",
        "Original Message",
        "Kind regards",
        "Sent from my iPhone",
    ),
    "de": _language(
        "Am Mo., 2. März 2026 um 11:00 Uhr schrieb {n} <{a}>:",
        "Am Montag, 2. März 2026 um 11:00:00 MEZ hat {n} <{a}> Folgendes geschrieben:",
        "Am 02.03.26 um 11:00 schrieb {n}:",
        "Von|Gesendet|An|Betreff",
        "Montag, 2. März 2026 11:00",
        "Ursprüngliche Nachricht",
        "Mit freundlichen Grüßen",
        "Von meinem iPhone gesendet",
    ),
    "nl": _language(
        "Op ma 2 mrt 2026 om 11:00 schreef {n} <{a}>:",
        "Op maandag 2 maart 2026 om 11:00:00 CET schreef {n} <{a}>:",
        "Op 02-03-2026 om 11:00 schreef {n}:",
        "Van|Verzonden|Aan|Onderwerp",
        "maandag 2 maart 2026 11:00",
        "Oorspronkelijk bericht",
        "Met vriendelijke groet",
        "Verstuurd vanaf mijn iPhone",
    ),
    "fr": _language(
        "Le lun. 2 mars 2026 à 11:00, {n} <{a}> a écrit :",
        "Le lundi 2 mars 2026 à 11:00:00 UTC+1, {n} <{a}> a écrit :",
        "Le 02/03/2026 à 11:00, {n} a écrit :",
        "De|Envoyé|À|Objet",
        "lundi 2 mars 2026 11:00",
        "Message d'origine",
        "Bien cordialement",
        "Envoyé de mon iPhone",
    ),
    "es": _language(
        "El lun, 2 mar 2026 a las 11:00, {n} (<{a}>) escribió:",
        "El lunes, 2 de marzo de 2026, 11:00:00 CET, {n} <{a}> escribió:",
        "El 2/3/26 a las 11:00, {n} escribió:",
        "De|Enviado|Para|Asunto",
        "lunes, 2 de marzo de 2026 11:00",
        "Mensaje original",
        "Un cordial saludo",
        "Enviado desde mi iPhone",
    ),
    "it": _language(
        "Il giorno lun 2 mar 2026 alle ore 11:00 {n} <{a}> ha scritto:",
        "Il lunedì 2 marzo 2026 alle ore 11:00:00 CET, {n} <{a}> ha scritto:",
        "Il 02/03/2026 11:00, {n} ha scritto:",
        "Da|Inviato|A|Oggetto",
        "lunedì 2 marzo 2026 11:00",
        "Messaggio originale",
        "Cordiali saluti",
        "Inviato da iPhone",
    ),
    "pt": _language(
        "Em seg., 2 de mar. de 2026 às 11:00, {n} <{a}> escreveu:",
        "Em segunda-feira, 2 de março de 2026 11:00:00 BRT, {n} <{a}> escreveu:",
        "Em 02/03/2026 11:00, {n} escreveu:",
        "De|Enviado|Para|Assunto",
        "segunda-feira, 2 de março de 2026 11:00",
        "Mensagem original",
        "Com os melhores cumprimentos",
        "Enviado do meu iPhone",
    ),
    "ca": _language(
        "Missatge de {n} <{a}> del dia dl., 2 de març 2026 a les 11:00:",
        "El dilluns 2 de març de 2026, 11:00:00 CET, {n} <{a}> va escriure:",
        "El 2/3/26 a les 11:00, {n} ha escrit:",
        "De|Enviat el|Per a|Tema",
        "dilluns, 2 de març de 2026 11:00",
        "Missatge original",
        "Salutacions cordials",
        "Enviat des del meu iPhone",
    ),
    "gl": _language(
        "O luns, 2 mar 2026 ás 11:00, {n} (<{a}>) escribiu:",
        "O luns, 2 de marzo de 2026 11:00:00 CET, {n} <{a}> escribiu:",
        "O 02/03/26 ás 11:00, {n} escribiu:",
        "De|Enviado|Para|Asunto",
        "luns, 2 de marzo de 2026 11:00",
        "Mensaxe orixinal",
        "Unha aperta",
        "Enviado desde o meu iPhone",
    ),
    "eu": _language(
        "{n} erabiltzaileak hau idatzi du (2026 mar. 2, al. 11:00) (<{a}>):",
        "2026(e)ko martxoaren 2(a) 11:00:00 CET, {n} <{a}> igorleak hau idatzi zuen:",
        "2026/03/02 11:00(e)an, {n}(e)k idatzi zuen:",
        "Nork|Bidaltze-data|Nori|Gaia",
        "2026(e)ko martxoaren 2(a) 11:00",
        "Jatorrizko mezua",
        "Ondo izan",
        "Nire iPhone-tik bidalia",
    ),
    "sv": _language(
        "Den mån 2 mars 2026 kl 11:00 skrev {n} <{a}>:",
        "Den måndag 2 mars 2026 11:00:00 CET, {n} <{a}> skrev:",
        "Den 2026-03-02 kl. 11:00, skrev {n}:",
        "Från|Skickat|Till|Ämne",
        "den 2 mars 2026 11:00",
        "Ursprungligt meddelande",
        "Med vänliga hälsningar",
        "Skickat från min iPhone",
    ),
    "da": _language(
        "Den man. 2. mar. 2026 kl. 11.00 skrev {n} <{a}>:",
        "Den mandag den 2. marts 2026 kl. 11.00.00 CET skrev {n} <{a}>:",
        "Den 02.03.2026 kl. 11.00 skrev {n}:",
        "Fra|Sendt|Til|Emne",
        "2. marts 2026 11:00",
        "Oprindelig meddelelse",
        "Venlig hilsen",
        "Sendt fra min iPhone",
    ),
    "nb": _language(
        "man. 2. mars 2026 kl. 11:00 skrev {n} <{a}>:",
        "mandag 2. mars 2026 11:00:00 CET skrev {n} <{a}> følgende:",
        "Den 02.03.2026 11:00, skrev {n}:",
        "Fra|Sendt|Til|Emne",
        "mandag 2. mars 2026 11:00",
        "Opprinnelig melding",
        "Med vennlig hilsen",
        "Sendt fra min iPhone",
    ),
    "fi": _language(
        "ma 2. maalisk. 2026 klo 11.00 {n} (<{a}>) kirjoitti:",
        "{n} <{a}> kirjoitti maanantaina 2. maaliskuuta 2026 klo 11.00.00 UTC+2:",
        "{n} kirjoitti 2.3.2026 klo 11.00:",
        "Lähettäjä|Lähetetty|Vastaanottaja|Aihe",
        "maanantai 2. maaliskuuta 2026 11.00",
        "Alkuperäinen viesti",
        "Ystävällisin terveisin",
        "Lähetetty iPhonesta",
    ),
    "is": _language(
        "mán., 2. mar. 2026 kl. 11:00 skrifaði {n} <{a}>:",
        "Mánudagur, 2. mars 2026 11:00:00 GMT, {n} <{a}> skrifaði:",
        "Þann 2.3.2026 11:00, skrifaði {n}:",
        "Frá|Sent|Til|Efni",
        "mánudagur, 2. mars 2026 11:00",
        "Upprunaleg skilaboð",
        "Bestu kveðjur",
        "Sent úr iPhone",
    ),
    "pl": _language(
        "pon., 2 mar 2026 o 11:00 {n} <{a}> napisał(a):",
        "W dniu poniedziałek, 2 marca 2026 11:00:00 CET {n} <{a}> napisał(a):",
        "W dniu 2.03.2026 o 11:00, {n} pisze:",
        "Od|Wysłano|Do|Temat",
        "poniedziałek, 2 marca 2026 11:00",
        "Wiadomość oryginalna",
        "Z poważaniem",
        "Wysłane z iPhone'a",
    ),
    "cs": _language(
        "po 2. 3. 2026 v 11:00 odesílatel {n} <{a}> napsal:",
        "Dne pondělí 2. března 2026 11:00:00 SEČ, {n} <{a}> napsal(a):",
        "Dne 02. 03. 26 v 11:00 {n} napsal(a):",
        "Od|Odesláno|Komu|Předmět",
        "pondělí 2. března 2026 11:00",
        "Původní zpráva",
        "S pozdravem",
        "Odesláno z iPhonu",
    ),
    "sk": _language(
        "po 2. 3. 2026 o 11:00 {n} <{a}> napísal(a):",
        "Dňa pondelok 2. marca 2026, 11:00:00 SEČ, {n} <{a}> napísal(a):",
        "Dňa 2. 3. 2026 o 11:00 {n} napísal(a):",
        "Od|Odoslané|Komu|Predmet",
        "pondelok 2. marca 2026 11:00",
        "Pôvodná správa",
        "S pozdravom",
        "Odoslané z iPhonu",
    ),
    "hu": _language(
        "{n} <{a}> ezt írta (időpont: 2026. márc. 2., H, 11:00):",
        "2026. március 2. hétfő 11:00:00 CET időpontban {n} <{a}> ezt írta:",
        "2026. 03. 02. 11:00 keltezéssel, {n} írta:",
        "Feladó|Elküldve|Címzett|Tárgy",
        "2026. március 2., hétfő 11:00",
        "Eredeti üzenet",
        "Üdvözlettel",
        "Az iPhone-omról küldve",
    ),
    "ro": _language(
        "În lun., 2 mar. 2026 la 11:00, {n} <{a}> a scris:",
        "Pe luni, 2 martie 2026 la 11:00:00 EET, {n} <{a}> a scris:",
        "Pe 02.03.2026 11:00, {n} a scris:",
        "De la|Trimis|Către|Subiect",
        "luni, 2 martie 2026 11:00",
        "Mesaj original",
        "Cu stimă",
        "Trimis de pe iPhone-ul meu",
    ),
    "bg": _language(
        "На пн, 2.03.2026 г. в 11:00 {n} <{a}> написа:",
        "В понеделник, 2 март 2026 г. в 11:00:00 ч. Гринуич+2, {n} <{a}> написа:",
        "На 2.3.26 г. в 11:00 ч., {n} написа:",
        "От|Изпратено|До|Относно",
        "понеделник, 2 март 2026 г. 11:00",
        "Оригинално съобщение",
        "С уважение",
        "Изпратено от моя iPhone",
    ),
    "ru": _language(
        "пн, 2 мар. 2026 г. в 11:00, {n} <{a}>:",
        "понедельник, 2 марта 2026 г., 11:00:00 GMT+3, {n} <{a}> написал(а):",
        "02.03.2026 11:00, {n} пишет:",
        "От|Отправлено|Кому|Тема",
        "понедельник, 2 марта 2026 г. 11:00",
        "Исходное сообщение",
        "С уважением",
        "Отправлено с iPhone",
    ),
    "uk": _language(
        "пн, 2 бер. 2026 р. о 11:00 {n} <{a}> пише:",
        "понеділок, 2 березня 2026 р. о 11:00:00 GMT+2, {n} <{a}> написав(-ла):",
        "02.03.2026 11:00, {n} пише:",
        "Від|Надіслано|Кому|Тема",
        "понеділок, 2 березня 2026 р. 11:00",
        "Оригінальне повідомлення",
        "З повагою",
        "Надіслано з iPhone",
    ),
    "sr": _language(
        "пон, 2. мар 2026. у 11:00 {n} <{a}> је написао/ла:",
        "Дана понедељак, 2. март 2026. 11:00:00 CET, {n} <{a}> је написао/ла:",
        "Дана 2.3.26. у 11:00, {n} је написао/ла:",
        "Од|Послато|За|Тема",
        "понедељак, 2. март 2026. 11:00",
        "Оригинална порука",
        "Срдачан поздрав",
        "Послато са мог iPhone-а",
    ),
    "hr": _language(
        "pon, 2. ožu 2026. u 11:00 {n} <{a}> napisao je:",
        "Dana ponedjeljak, 2. ožujka 2026. u 11:00:00 CET, korisnik {n} <{a}> napisao je:",
        "Dana 2. 3. 2026. u 11:00, {n} je napisao/la:",
        "Šalje|Poslano|Prima|Predmet",
        "ponedjeljak, 2. ožujka 2026. 11:00",
        "Izvorna poruka",
        "Srdačan pozdrav",
        "Poslano s mog iPhonea",
    ),
    "sl": _language(
        "V V pon., 2. mar. 2026 ob 11:00 je oseba {n} <{a}> napisala:",
        "V ponedeljek, 2. marec 2026 11:00:00 CET je {n} <{a}> napisal(a):",
        "Dne 2. 03. 2026 ob 11:00 je {n} napisal(a):",
        "Od|Poslano|Za|Zadeva",
        "ponedeljek, 02. marec 2026 11:00",
        "Izvirno sporočilo",
        "Lep pozdrav",
        "Poslano iz mojega iPhona",
    ),
    "el": _language(
        "Στις Δευ 2 Μαρ 2026 στις 11:00 π.μ., ο/η {n} <{a}> έγραψε:",
        "Τη Δευτέρα 2 Μαρτίου 2026 στις 11:00:00 π.μ. EET, ο χρήστης {n} <{a}> έγραψε:",
        "Στις 2/3/26 11:00, ο/η {n} έγραψε:",
        "Από|Στάλθηκε|Προς|Θέμα",
        "Δευτέρα, 2 Μαρτίου 2026 11:00 πμ",
        "Αρχικό μήνυμα",
        "Με εκτίμηση",
        "Στάλθηκε από το iPhone μου",
    ),
    "tr": _language(
        "{n} <{a}>, 2 Mar 2026 Pzt, 11:00 tarihinde şunu yazdı:",
        "2 Mart 2026 Pazartesi 11:00:00 GMT+3 tarihinde {n} <{a}> şunu yazdı:",
        "2.03.2026 11:00 tarihinde {n} yazdı:",
        "Kimden|Gönderildi|Kime|Konu",
        "2 Mart 2026 Pazartesi 11:00",
        "Orijinal İleti",
        "Saygılarımla",
        "iPhone'umdan gönderildi",
    ),
    "lt": _language(
        "2026-03-02, pr, 11:00 {n} <{a}> rašė:",
        "2026 m. kovo 2 d., pirmadienis 11:00:00 EET, {n} <{a}> rašė:",
        "2026-03-02 11:00, {n} rašė:",
        "Nuo|Išsiųsta|Kam|Tema",
        "2026 m. kovo 2 d. 11:00",
        "Pradinis laiškas",
        "Pagarbiai",
        "Išsiųsta iš mano „iPhone“",
    ),
    "lv": _language(
        "pirmd., 2026. g. 2. marts, plkst. 11:00 — lietotājs {n} (<{a}>) rakstīja:",
        "Pirmdiena, 2026. gada 2. marts 11:00:00 EET, {n} <{a}> rakstīja:",
        "02.03.2026 11:00, {n} rakstīja:",
        "No|Nosūtīts|Kam|Tēma",
        "pirmdiena, 2026. gada 2. marts 11:00",
        "Sākotnējais ziņojums",
        "Ar cieņu",
        "Sūtīts no mana iPhone tālruņa",
    ),
    "et": _language(
        "Kuupäev E, 2. märts 2026 kell 11:00 kirjutas {n} <{a}>:",
        "Esmaspäev, 2. märts 2026 kell 11:00:00 EET kirjutas {n} <{a}>:",
        "Kell 11:00, 02.03.2026 kirjutas {n}:",
        "Saatja|Saadetud|Adressaat|Teema",
        "esmaspäev, 2. märts 2026 11:00",
        "Algne teade",
        "Lugupidamisega",
        "Saadetud minu iPhone'ist",
    ),
    "he": _language(
        "\u202bבתאריך יום ב׳, 2 במרץ 2026 ב-11:00 מאת \u202a{n}\u202c\u200f <\u202a{a}\u202c\u200f>:\u202c",
        "ב-יום שני, 2 במרץ 2026 בשעה 11:00:00 (\u200eGMT+2), \u200e{n} <{a}> כתב/ה:",
        "ב־02/03/2026 11:00, {n} כתב:",
        "מאת|נשלח|אל|נושא",
        "יום שני 02 מרץ 2026 11:00",
        "הודעה מקורית",
        "בברכה",
        "נשלח מה-iPhone שלי",
    ),
    "ar": _language(
        "\u202bفي الاثنين، 2 مارس 2026 في 11:00 ص "
        "تمت كتابة ما يلي بواسطة \u202a{n}\u202c\u200f <\u202a{a}\u202c\u200f>:\u202c",
        "في الاثنين، 2 مارس 2026 في 11:00:00 ص غرينتش+3، كتب {n} <{a}>:",
        "في ٢\u200f/٣\u200f/٢٠٢٦ ١١:٠٠ ص، كتب {n}:",
        "من|تم الإرسال|إلى|الموضوع",
        "الاثنين 2 مارس 2026 11:00 ص",
        "الرسالة الأصلية",
        "مع خالص التحية",
        "مُرسل من الـ iPhone",
    ),
    "fa": _language(
        "\u202bدر تاریخ دوشنبه ۲ مارس ۲۰۲۶،\u200f ۱۱:۰۰ {n} <\u202a{a}\u202c\u200f> نوشت:\u202c",
        "در دوشنبه ۲ مارس ۲۰۲۶،\u200f ۱۱:۰۰:۰۰ (+۳:۳۰ گرینویچ)، {n} <{a}> نوشته است:",
        "در ۲۰۲۶/۳/۲ ۱۱:۰۰، {n} نوشت:",
        "از|ارسال|به|موضوع",
        "دوشنبه ۲ مارس ۲۰۲۶ ۱۱:۰۰",
        "پیام اصلی",
        "با احترام",
        "ارسال از iPhone من",
    ),
    "hi": _language(
        "सोम, 2 मार्च 2026 को 11:00 am बजे को {n} <{a}> ने लिखा:",
        "सोमवार, 2 मार्च 2026 को 11:00:00 am IST, {n} <{a}> ने लिखा:",
        "02-03-2026 11:00 को {n} ने लिखा:",
        "प्रेषक|भेजा गया|प्रति|विषय",
        "सोमवार, 2 मार्च 2026 11:00",
        "मूल संदेश",
        "सादर",
        "मेरे iPhone से भेजा गया",
    ),
    "th": _language(
        "ในวันที่ จ. 2 มี.ค. 2026 เวลา 11:00 {n} <{a}> เขียนว่า:",
        "ใน วันจันทร์ที่ 2 มีนาคม พ.ศ. 2569 11:00:00 GMT+7 {n} <{a}> เขียน:",
        "เมื่อ 2/3/2569 11:00 {n} เขียนว่า:",
        "จาก|ส่งแล้ว|ถึง|เรื่อง",
        "วันจันทร์ที่ 2 มีนาคม 2569 11:00",
        "ข้อความต้นฉบับ",
        "ขอแสดงความนับถือ",
        "ส่งจาก iPhone ของฉัน",
    ),
    "vi": _language(
        "Vào Th 2, 2 thg 3, 2026 vào lúc 11:00 {n} <{a}> đã viết:",
        "Vào Thứ Hai, 2 tháng 3, 2026 lúc 11:00:00 GMT+7, {n} <{a}> đã viết:",
        "Vào 02/03/2026 11:00, {n} đã viết:",
        "Từ|Đã gửi|Đến|Chủ đề",
        "Thứ Hai, 2 tháng 3, 2026 11:00",
        "Tin nhắn gốc",
        "Trân trọng",
        "Đã gửi từ iPhone của tôi",
    ),
    "id": _language(
        "Pada tanggal Sen, 2 Mar 2026 pukul 11.00 {n} <{a}> menulis:",
        "Pada Senin, 2 Maret 2026 pukul 11.00.00 WIB, {n} <{a}> menulis:",
        "Pada 02/03/2026 11:00, {n} menulis:",
        "Dari|Dikirim|Kepada|Subjek",
        "Senin, 02 Maret 2026 11.00",
        "Pesan Asli",
        "Salam hormat",
        "Dikirim dari iPhone saya",
    ),
    "ms": _language(
        "Pada Isn, 2 Mac 2026 pada 11:00 PG {n} <{a}> menulis:",
        "Pada Isnin, 2 Mac 2026 11:00:00 PG MYT, {n} <{a}> menulis:",
        "Pada 02/03/2026 11:00, {n} menulis:",
        "Daripada|Dihantar|Kepada|Subjek",
        "Isnin, 2 Mac 2026 11:00 PG",
        "Mesej Asal",
        "Yang benar",
        "Dihantar daripada iPhone saya",
    ),
    "zh-CN": _language(
        "{n} <{a}> 于2026年3月2日周一 11:00写道：",
        "2026年3月2日星期一 11:00:00 [GMT+8]，{n} <{a}> 写道：",
        "在 2026/3/2 11:00, {n} 写道:",
        "发件人|发送时间|收件人|主题",
        "2026年3月2日 11:00",
        "邮件原件",
        "此致敬礼",
        "发自我的 iPhone",
    ),
    "zh-TW": _language(
        "{n} <{a}> 於 2026年3月2日 週一 上午11:00寫道：",
        "2026年3月2日 星期一 上午11:00:00 [GMT+8]，{n} <{a}> 寫道：",
        "{n} 於 2026/3/2 上午 11:00 寫道:",
        "寄件者|寄件日期|收件者|主旨",
        "2026年3月2日 上午 11:00",
        "原始郵件",
        "敬祝順心",
        "從我的iPhone傳送",
    ),
    "ja": _language(
        "2026年3月2日(月) 11:00 {n} <{a}>:",
        "2026年3月2日月曜日 11:00:00 JST、{n} <{a}> さんは書きました:",
        "2026/03/02 11:00、{n}のメール:",
        "差出人|送信日時|宛先|件名",
        "2026年3月2日 11:00",
        "元のメッセージ",
        "よろしくお願いします",
        "iPhoneから送信",
    ),
    "ko": _language(
        "2026년 3월 2일 (월) 오전 11:00, {n} <{a}>님이 작성:",
        "2026년 3월 2일 월요일 오전 11:00:00 GMT+9, {n} <{a}>님이 작성:",
        "2026-03-02 오전 11:00에 {n} 이(가) 쓴 글:",
        "보낸 사람|보낸 날짜|받는 사람|제목",
        "2026년 3월 2일 월요일 오전 11:00",
        "원본 메시지",
        "안녕히 계세요",
        "나의 iPhone에서 보냄",
    ),
}


@dataclass(frozen=True)
class Turn:
    """The email about a turn to which somebody replies."""

    text: str
    page: str
    address: str


@dataclass(frozen=True)
class Letter:
    """A reply as it arrives."""

    text: str = ""
    page: str = ""
    flowed: bool = False

    def raw(self, to: str) -> bytes:
        """Return the email."""
        message = EmailMessage(policy=SMTP.clone(max_line_length=998))
        message["From"] = f"{NAME} <{ALICE}>"
        message["To"] = to
        message["Subject"] = "Re: Byzanz: The Golden Horn"
        message["Message-ID"] = "<languages@example.org>"
        if self.text:
            message.set_content(self.text, params={"format": "flowed"} if self.flowed else None)
        if self.page and self.text:
            message.add_alternative(self.page, subtype="html")
        elif self.page:
            message.set_content(self.page, subtype="html")
        return message.as_bytes()


Shape = Callable[[str, Language, Turn], Letter]


def _filled(words: str, turn: Turn) -> str:
    return words.format(n=BYZANZ, a=turn.address)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def _block(language: Language, turn: Turn, *, colon: str = ": ", bold: str = "", bare: bool = False) -> str:
    sender, reader = (BYZANZ, NAME) if bare else (f"{BYZANZ} <{turn.address}>", f"{NAME} <{ALICE}>")
    values = (sender, language.day, reader, "Byzanz: The Golden Horn")
    return "\n".join(
        f"{bold}{label}{colon.strip()}{bold}{colon[1:]}{value}"
        for label, value in zip(language.labels, values, strict=True)
    )


def _below(own: str, language: Language, turn: Turn) -> str:
    return f"{own}\n\n{_filled(language.gmail, turn)}\n\n{_quoted(turn.text)}\n"


def _in_html(text: str) -> str:
    return "".join(f"<div>{html.escape(line) or '<br>'}</div>" for line in text.split("\n"))


def _wrapped(words: str) -> str:
    return textwrap.fill(words, 45, break_long_words=False, break_on_hyphens=False)


def _gmail_page(own: str, language: Language, turn: Turn) -> str:
    attribution = html.escape(_filled(language.gmail, turn))
    return (
        f'<div dir="ltr">{_in_html(own)}</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        f'class="gmail_attr">{attribution}<br></div><blockquote class="gmail_quote" style="margin:0">{turn.page}'
        "</blockquote></div>"
    )


def _outlook_page(own: str, language: Language, turn: Turn) -> str:
    block = "<br>".join(map(html.escape, _block(language, turn).split("\n")))
    return (
        f'<div class="elementToProof">{_in_html(own)}</div><div id="appendonsend"></div><hr tabindex="-1">'
        f'<div id="divRplyFwdMsg" dir="ltr"><font face="Calibri">{block}</font></div><div>{turn.page}</div>'
    )


def _word_page(own: str, language: Language, turn: Turn) -> str:
    block = "<br>".join(map(html.escape, _block(language, turn).split("\n")))
    own_part = "".join(f'<p class="MsoNormal">{html.escape(line)}</p>' for line in own.split("\n"))
    return (
        f"{own_part}<div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0 0 0'><p class=MsoNormal>"
        f"{block}</p></div>{turn.page}"
    )


def _yahoo_page(own: str, language: Language, turn: Turn) -> str:
    return (
        f'<div class="yahoo-style-wrap"><div dir="ltr">{_in_html(own)}</div></div><div id="ydp1yahoo_quoted_1" '
        f'class="ydp1yahoo_quoted"><div>{html.escape(_filled(language.yahoo, turn))}</div><div>{turn.page}</div></div>'
    )


def _apple_page(own: str, language: Language, turn: Turn) -> str:
    return (
        f"{_in_html(own)}<div><br><blockquote type='cite'><div>{html.escape(_filled(language.gmail, turn))}</div><br>"
        f"</blockquote></div><blockquote type='cite'><div>{turn.page}</div></blockquote>"
    )


def _answered_within(own: str, language: Language, turn: Turn) -> str:
    first, rest = turn.text.strip().split("\n\n", 1)
    return f"{_filled(language.gmail, turn)}\n\n{_quoted(first)}\n\n{own}\n\n{_quoted(rest)}\n"


SHAPES: dict[str, Shape] = {
    "above quoted lines": lambda o, w, t: Letter(_below(o, w, t)),
    "attribution wrapped": lambda o, w, t: Letter(
        f"{o}\n\n{_wrapped(_filled(w.gmail, t))}\n\n{_quoted(t.text)}\n"
    ),
    "attribution right below": lambda o, w, t: Letter(f"{o}\n{_filled(w.gmail, t)}\n{_quoted(t.text)}\n"),
    "attribution without address": lambda o, w, t: Letter(
        f"{o}\n\n{_filled(w.bird, t)}\n{_quoted(t.text)}\n"
    ),
    "attribution quoted": lambda o, w, t: Letter(
        f"{o}\n\n{_quoted(_filled(w.gmail, t))}\n>\n{_quoted(t.text)}\n"
    ),
    "Yahoo, unquoted": lambda o, w, t: Letter(
        f"{o}\n\n     {_filled(w.yahoo, t)}  \n  \n {t.text.strip().replace(chr(10), chr(10) + ' ')}\n"
    ),
    "Yahoo wrapped, unquoted": lambda o, w, t: Letter(
        f"{o}\n\n{_wrapped(_filled(w.yahoo, t))}\n\n{t.text}\n"
    ),
    "header block": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t)}\n\n{t.text}\n"),
    "header block, bold": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t, bold='*')}\n\n{t.text}\n"),
    "header block, full-width colons": lambda o, w, t: Letter(
        f"{o}\n\n{_block(w, t, colon='：')}\n\n{t.text}\n"
    ),
    "header block without address": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t, bare=True)}\n\n{t.text}\n"),
    "line and header block": lambda o, w, t: Letter(f"{o}\n{'_' * 32}\n{_block(w, t)}\n\n{t.text}\n"),
    "original message": lambda o, w, t: Letter(
        f"{o}\n\n-----{w.original}-----\n{_block(w, t, bare=True)}\n\n{t.text}\n"
    ),
    "Gmail, HTML": lambda o, w, t: Letter(page=_gmail_page(o, w, t)),
    "Gmail, both": lambda o, w, t: Letter(_below(o, w, t), _gmail_page(o, w, t)),
    "Yahoo, HTML": lambda o, w, t: Letter(page=_yahoo_page(o, w, t)),
    "Apple, HTML": lambda o, w, t: Letter(page=_apple_page(o, w, t)),
    "Outlook, HTML": lambda o, w, t: Letter(page=_outlook_page(o, w, t)),
    "Word, HTML": lambda o, w, t: Letter(page=_word_page(o, w, t)),
    "below the quote": lambda o, w, t: Letter(f"{_filled(w.gmail, t)}\n\n{_quoted(t.text)}\n\n{o}\n"),
    "within the quote": lambda o, w, t: Letter(_answered_within(o, w, t)),
    "closing and name": lambda o, w, t: Letter(_below(f"{o}\n\n{w.closing}\n{NAME}", w, t)),
    "closing with comma": lambda o, w, t: Letter(_below(f"{o}\n\n{w.closing},\nAlice", w, t)),
    "phone": lambda o, w, t: Letter(_below(f"{o}\n\n{w.phone}", w, t)),
    "closing, name and phone": lambda o, w, t: Letter(
        _below(f"{o}\n\n{w.closing}\n{NAME}\n\n{w.phone}", w, t)
    ),
    "signature": lambda o, w, t: Letter(_below(f"{o}\n-- \n{NAME}\n{w.closing}", w, t)),
    "flowed": lambda o, w, t: Letter(_below(o, w, t), flowed=True),
}
"""Replies with what their writer wrote, in a language, to an email about a turn."""
