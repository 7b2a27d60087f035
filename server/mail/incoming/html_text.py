"""Converting the HTML of a mail to the text that its writer saw: nothing hidden, nothing struck out; never raises.

A library reads the markup as browsers do. Its cost is bounded before: nesting is what can make it slow.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from server.mail.text import asks

RULE = "_" * 32
"""The line that stands for a horizontal rule, and for what a mail program marks as the beginning of a quote."""
MOST_NESTED = 256
"""How deep elements may be nested."""
MOST_FORMATS = 20
"""How many elements for the look of text may be open at once: each of them goes on in all blocks below."""
MOST_RULES = 20
"""Rules of a style sheet that hide something and are read."""
MOST_HIDDEN = 5000
"""Elements that style sheets hide; a sheet that hides more is not read any further."""
LONGEST_EMOJI = 16
"""Characters: a family of four has seven."""
_FORMATS = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
_UNNESTED = frozenset(
    (
        *("area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img"),
        *(
            "input",
            "li",
            "link",
            "meta",
            "option",
            "p",
            "param",
            "source",
            "tbody",
            "td",
            "tfoot",
            "th",
            "thead",
        ),
        *("tr", "track", "wbr"),
    )
)
"""Elements that have no end or end by themselves, so that any number of them nests no deeper."""
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "center", "div", "dd", "dl", "dt", "fieldset"),
        *(
            "figure",
            "footer",
            "form",
            "header",
            "hr",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "li",
            "main",
            "nav",
        ),
        *("ol", "p", "pre", "section", "table", "tbody", "tfoot", "thead", "tr", "ul"),
    )
)
_SPACED = frozenset(("td", "th"))
_INVISIBLE = frozenset(
    (
        *("head", "script", "style", "title", "template", "textarea", "select", "svg", "noscript", "iframe"),
        *("object", "audio", "video", "canvas", "datalist", "noembed", "noframes", "math", "rp", "-comment"),
    )
)
_STRUCK = frozenset(("s", "del", "strike"))
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_DECLARATION = re.compile(r"([a-z-]{1,40})\s*:\s*([^;]{0,300})")
_NO_SIZE = re.compile(r"0*(?:\.0*)?(?:[a-z%]{0,4})|(?:0?\.[0-9]+|1)(?:px|pt)|0?\.[01][0-9]*r?em")
_FAR_AWAY = re.compile(r"-[0-9]{3,}(?:\.[0-9]+)?(?:px|pt|r?em|%|vw)?")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,)].*|(?:inset\((?:50|100)%|circle\(0).*")
_NO_COLOR = re.compile(
    r"transparent|(?:rgb|hsl)a?\((?:(?:[^,()]{0,20},){3}|[^/()]{0,60}/)\s*0?\.?0*%?\s*\)|#[0-9a-f]{3}0|#[0-9a-f]{6}00"
)
_WHITE = re.compile(
    r"white|snow|#f{3}f?|#f[c-f]f[c-f]f[c-f](?:ff)?|rgba?\((?:\s*25[2-5]\s*[, ]){2}\s*25[2-5].*|hsla?\(.*100%.*"
)
_CSS_COMMENT, _CSS_ESCAPE = re.compile(r"/\*.*?\*/"), re.compile(r"\\([0-9a-f]{1,6}) ?")
_RULE_OF_SHEET = re.compile(r"([^{}]{1,300})\{([^{}]{0,2000})\}")
_NO_SHEET = re.compile(
    r"/\*.*?\*/|@[^{};]{0,300}(?:;|\{(?:[^{}]{0,5000}\{[^{}]{0,5000}\})*[^{}]{0,5000}\})", re.DOTALL
)
"""Comments, and what a style sheet says about other media than the screen of the writer."""
_QUOTE_START = re.compile(
    r"(?:\w*[_-])?(?:appendonsend|divRplyFwdMsg|stopSpelling|OutlookMessageHeader"
    r"|mail-editor-reference-message-container|ms-outlook-mobile-reference-message|isReplyContent)",
    re.IGNORECASE,
)
_QUOTE_LINE = re.compile(r"border-top:\s*solid\s+#(?:E1E1E1|B5C4DF)", re.IGNORECASE)
_QUOTE = re.compile(
    r"\w*(?:gmail_quote(?:_container)?|gmail_attr|yahoo_quoted|moz-cite-prefix|protonmail_quote|tutanota_quote"
    r"|zmail_extra|ntes-mailmaster-quote|aolReplacedBody|AOLMsgPart\w*|reply_quote|quoted-content)\w*",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"gmail_signature|moz-signature|ms-outlook-mobile-signature", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Look:
    """What an element hands down to those in it.

    Args:
        shown: whether its text can be seen; elements in it can be shown again.
        sized: whether its text has a size; elements in it can have one again.
        struck: whether its text is struck out.
        white: whether its text is white, which nobody sees on white paper.
        colored: whether the paper has a color of its own.
        kept: whether its line breaks are kept.
        quotes: in how many quotes it stands.
    """

    shown: bool = True
    sized: bool = True
    struck: bool = False
    white: bool = False
    colored: bool = False
    kept: bool = False
    quotes: int = 0


def as_text(markup: str) -> str:
    """Convert HTML to text, one paragraph or line each; quoted text is marked with `> `.

    Args:
        markup: HTML of any quality.
    """
    tree = LexborHTMLParser(_bounded(markup).encode("utf-8", "replace").decode())
    builder = _TextBuilder()
    if tree.root is not None:
        for node, look, ends in _walk(tree.root, _hidden_by_sheets(tree)):
            builder.add(node, look, ends)
    return builder.text()


def _bounded(markup: str) -> str:
    """Return the markup with elements that would nest too deep replaced by ones that nest nothing."""
    opened: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    depth = formats = here = 0
    pieces: list[str] = []
    for found in _TAG.finditer(markup):
        name, ends = found[2].lower(), bool(found[1])
        if name in _UNNESTED:
            continue
        if ends and left_out[name]:
            left_out[name] -= 1
            pieces += (
                markup[here : found.start()],
                "</br-of-none",
            )  # an end without a beginning is no element
            here = found.end()
        elif ends and opened[name]:
            opened[name] -= 1
            depth, formats = depth - 1, formats - (name in _FORMATS)
        elif not ends and (depth >= MOST_NESTED or (name in _FORMATS and formats >= MOST_FORMATS)):
            left_out[name] += 1
            pieces += (markup[here : found.start()], "<wbr" if name in _FORMATS else "<li")
            here = found.end()
        elif not ends:
            opened[name] += 1
            depth, formats = depth + 1, formats + (name in _FORMATS)
    return "".join((*pieces, markup[here:]))


def _walk(root: LexborNode, hidden: set[int]) -> Iterator[tuple[LexborNode, _Look, bool]]:
    """Yield each visible node with its look, elements once more where they end.

    Args:
        hidden: the elements that style sheets hide.
    """
    waiting: list[tuple[LexborNode, _Look, bool]] = [(root, _Look(), False)]
    while waiting:
        node, outer, ends = waiting.pop()
        if ends or node.tag == "-text":
            yield node, outer, ends
            continue
        look = None if node.tag in _INVISIBLE or node.mem_id in hidden else _look(node, outer)
        if look is None:
            continue
        yield node, look, False
        waiting.append((node, look, True))
        waiting.extend((child, look, False) for child in reversed(list(node.iter(include_text=True))))


def _look(node: LexborNode, outer: _Look) -> _Look | None:
    """Return the look of an element, or None if nothing in it can be seen, or a program wrote all of it."""
    given = node.attributes
    style = _declarations(given.get("style") or "")
    closed = node.tag == "dialog" and "open" not in given
    if "hidden" in given or closed or _is_gone(style) or _SIGNATURE.search(_names(node)):
        return None
    look = outer
    size, seen, spaces = style.get("font-size"), style.get("visibility"), style.get("white-space", "")
    if size is not None and not (size.endswith(("em", "%")) and not size.endswith("rem") and not look.sized):
        look = replace(look, sized=_NO_SIZE.fullmatch(size) is None)
    if seen is not None and seen != "inherit":
        look = replace(look, shown=seen not in ("hidden", "collapse"))
    look = _painted(look, node, style)
    if node.tag in _STRUCK or _is_struck(style):
        look = replace(look, struck=True)
    if node.tag == "pre" or spaces:
        look = replace(look, kept=node.tag == "pre" if not spaces else spaces.startswith(("pre", "break")))
    if node.tag == "blockquote" or _is_quote(node, whole=True):
        look = replace(look, quotes=look.quotes + 1)
    return look


def _painted(look: _Look, node: LexborNode, style: dict[str, str]) -> _Look:
    """Return a look with the colors of an element: of its text, and of the paper below it."""
    given = node.attributes
    color = style.get("color") or (given.get("color") or "").strip().lower()
    papers = (style.get(f"background{kind}", "") for kind in ("-color", "", "-image"))
    below = next(filter(None, papers), (given.get("bgcolor") or "").lower())
    if color and color != "inherit":
        look = replace(look, white=_WHITE.fullmatch(color) is not None)
    if below and below != "inherit":
        look = replace(
            look, colored=not (_WHITE.fullmatch(below) or _NO_COLOR.fullmatch(below) or below == "none")
        )
    return look


def _declarations(style: str) -> dict[str, str]:
    """Return what a style says, without `!important`."""
    text = _CSS_ESCAPE.sub(
        lambda code: chr(min(int(code[1], 16), 0xFFFF)), _CSS_COMMENT.sub("", style[:2000].lower())
    )
    found = _DECLARATION.findall(text)
    return {name: value.replace("!important", "").strip() for name, value in found}


def _is_gone(style: dict[str, str]) -> bool:
    """Whether a style hides an element and all in it."""
    sides = ("height", "max-height", "width", "max-width")
    closed = any(_NO_SIZE.fullmatch(style.get(side, "100px")) for side in sides)
    taken_out = style.get("position") in ("absolute", "fixed")
    away = any(_FAR_AWAY.fullmatch(style.get(side, "")) for side in ("left", "top", "right", "margin-left"))
    return (
        style.get("display") == "none"
        or style.get("mso-hide") == "all"
        or re.fullmatch(r"0*(?:\.0*)?%?", style.get("opacity", "1")) is not None
        or _NO_COLOR.fullmatch(style.get("color", "")) is not None
        or _FAR_AWAY.fullmatch(style.get("text-indent", "")) is not None
        or (taken_out and (away or _CLIPPED.fullmatch(style.get("clip", "")) is not None))
        or _CLIPPED.fullmatch(style.get("clip-path", "")) is not None
        or re.search(r"\bscale\(0[,)]", style.get("transform", "")) is not None
        or "opacity(0" in style.get("filter", "")
        or style.get("content-visibility") == "hidden"
        or (closed and "hidden" in style.get("overflow", ""))
    )


def _is_struck(style: dict[str, str]) -> bool:
    return any("line-through" in style.get(name, "") for name in ("text-decoration", "text-decoration-line"))


def _hidden_by_sheets(tree: LexborHTMLParser) -> set[int]:
    """Return the elements that the style sheets of a page hide or strike out."""
    found: set[int] = set()
    rules = 0
    for sheet in tree.css("style"):
        for selector, declared in _RULE_OF_SHEET.findall(_NO_SHEET.sub(" ", sheet.text()[:50_000])):
            style = _declarations(declared)
            nothing = _NO_SIZE.fullmatch(style.get("font-size", "1em")) or style.get("visibility") == "hidden"
            if not (_is_gone(style) or _is_struck(style) or nothing) or ":" in selector:
                continue
            rules += 1
            if rules > MOST_RULES or len(found) > MOST_HIDDEN:
                return found
            found |= _matches(tree, selector.strip())
    return found


def _matches(tree: LexborHTMLParser, selector: str) -> set[int]:
    try:
        return {node.mem_id for node in tree.css(selector)}
    except (SelectolaxError, ValueError):
        return set()


def _names(node: LexborNode) -> str:
    """Return the classes, the id and the name of an element, by which mail programs tell what it is."""
    given = node.attributes
    return " ".join((given.get(name) or "")[:300] for name in ("class", "id", "name", "data-smartmail"))


def _is_quote(node: LexborNode, *, whole: bool) -> bool:
    """Whether a mail program has marked an element as quoted text.

    Args:
        whole: all of it is; not whole, it has its quotes in it, and its writer may have written between them.
    """
    if node.tag == "blockquote" or not any(map(_QUOTE.fullmatch, _names(node).split())):
        return False
    parted = any(child.tag == "blockquote" for child in node.iter())
    return parted != whole


def _begins_quote(node: LexborNode) -> bool:
    """Whether quoted text begins at an element."""
    if node.tag == "hr" or _is_quote(node, whole=False):
        return True
    if node.tag not in _BLOCKS:
        return False
    marked = any(map(_QUOTE_START.fullmatch, _names(node).split()))
    return marked or _QUOTE_LINE.search((node.attributes.get("style") or "")[:2000]) is not None


def _emoji(node: LexborNode) -> str:
    """Return the emoji that a mail program has put in as a picture; nothing for other pictures."""
    instead = (node.attributes.get("alt") or "")[:LONGEST_EMOJI].strip()
    drawn = any(asks(char) or unicodedata.category(char) == "So" for char in instead)
    return instead if drawn and not any(map(str.isalnum, instead)) else ""


class _TextBuilder:
    """Collects lines while nodes are read."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._quotes = 0

    def text(self) -> str:
        """Return all lines."""
        return "\n".join((*self._lines, self._current_line()))

    def add(self, node: LexborNode, look: _Look, ends: bool) -> None:
        """Handle a text, or the beginning or the end of an element."""
        name = node.tag or ""
        if name == "-text":
            self._add_text(node.text_content or "", look)
        elif name == "img" and not ends:
            self._add_text(_emoji(node), look)
        elif name in _SPACED:
            self._pieces.append(" ")
        elif name == "br":
            self._end_line(always=not ends)
        elif name in _BLOCKS:
            self._end_line()
            self._quotes = look.quotes if not ends else look.quotes - (name == "blockquote")
            if ends and name == "p":
                self._end_line(always=True)
        if not ends and _begins_quote(node):
            self._end_line()
            self._lines.append(RULE)

    def _add_text(self, text: str, look: _Look) -> None:
        if not look.shown or not look.sized or look.struck or (look.white and not look.colored):
            return
        self._quotes = look.quotes
        if not look.kept:
            self._pieces.append(text)
            return
        *lines, last = text.split("\n")
        for line in lines:
            self._pieces.append(line)
            self._end_line(always=True)
        self._pieces.append(last)

    def _end_line(self, *, always: bool = False) -> None:
        if always or "".join(self._pieces).strip():
            self._lines.append(self._current_line())
        self._pieces = []

    def _current_line(self) -> str:
        """Return the current line with whitespace collapsed."""
        text = " ".join("".join(self._pieces).split())
        return f"{'> ' * min(self._quotes, 3)}{text}".rstrip() if self._quotes else text
