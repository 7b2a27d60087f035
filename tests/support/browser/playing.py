"""Ways to play a move on a seat's page: by touch or mouse, and by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

WATCH = """
() => {
  const labels = (item) => [...(item.labels || [])];
  const parts = (item) => [item, ...labels(item), ...labels(item).flatMap((label) => [...label.children])];
  const look = (item) => parts(item).map((part) => {
    const style = getComputedStyle(part);
    return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor,
      style.backgroundColor, style.textDecorationLine].join();
  }).join(";");
  const hit = (item) => {
    const own = parts(item);
    return own.some((part) => [...part.getClientRects()].some((box) =>
      [[.5, .5], [.1, .2], [.9, .2], [.1, .8], [.9, .8]].some(([x, y]) => {
        const there = document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
        return there && own.some((mine) => mine.contains(there) || there.contains(mine) && mine.closest("svg"));
      })));
  };
  const before = new Map();
  for (const item of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]"))
    if (item !== document.activeElement) before.set(item, look(item));
  window.focused = (target) => {
    const item = document.activeElement;
    if (!item || item === document.body || item === document.documentElement) return {there: false, lost: true};
    const text = `<${item.tagName.toLowerCase()}> “${(item.textContent || item.value || "").trim().slice(0, 40)}”`;
    const faults = [];
    if (before.get(item) === look(item)) faults.push(`nothing shows the focus on ${text}`);
    if (!hit(item)) faults.push(`the focus is out of sight on ${text}`);
    const group = [item, target].every((each) => each.type === "radio") && item.name === target.name;
    return {there: item === target, lost: false, group, faults};
  };
}
"""
"""Record how everything looks without focus; `focused(target)` then describes the focused element."""
STOPS = 400
"""More tab stops than any page has."""
Press = Callable[[Locator], None]


class Pointer:
    """Clicks and taps."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []

    def begin(self) -> None:
        """Do nothing; a fresh page needs no preparation."""

    def press(self, button: Locator) -> None:
        """Press a button or a summary."""
        button.click()

    def tick(self, box: Locator) -> None:
        """Tick a checkbox or choose a radio button."""
        box.locator("xpath=ancestor::label").click()


class Keys:
    """Tab, Space, Enter and arrow keys; records where the focus is invisible or lost."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []

    def begin(self) -> None:
        """Record the look of a fresh page before anything is pressed."""
        self.page.evaluate(WATCH)

    def press(self, button: Locator) -> None:
        """Tab to a button or a summary and press Enter."""
        self._reach(button)
        self.page.keyboard.press("Enter")

    def tick(self, box: Locator) -> None:
        """Tab to a checkbox and press Space; reach a radio button of a chosen group with the arrow keys."""
        at = self._reach(box)
        for _ in range(STOPS):
            if at["there"]:
                break
            self.page.keyboard.press("ArrowDown")
            at = self._at(box)
        if not box.is_checked():
            self.page.keyboard.press("Space")
        assert box.is_checked()

    def _reach(self, target: Locator) -> dict[str, Any]:
        at, lost = self._at(target), 0
        for _ in range(STOPS):
            if at["there"] or at.get("group"):
                return at
            self.page.keyboard.press("Tab")
            at = self._at(target)
            lost += at["lost"]
            # once it may be nowhere: on the way from the end of the page to its beginning
            assert lost < 2, f"Tab leads nowhere on the way to {target}"
            self.faults += [fault for fault in at.get("faults", ()) if fault not in self.faults]
        raise AssertionError(f"Tab does not lead to {target}")

    def _at(self, target: Locator) -> dict[str, Any]:
        found: dict[str, Any] = target.evaluate("(target) => focused(target)")
        return found


def make_move(hand: Pointer | Keys, move: str, by_cards: bool) -> None:
    """Play a move on the open turn page, and wait until the page comes back with it.

    Args:
        by_cards: select the cards and press the button for them, even if there is a ready-made button.
    """
    page = hand.page
    before = page.url
    verb, *words = move.split()
    exact = page.locator(f'#play button[name="move"][value="{move}"]')
    hand.begin()
    if verb == "put" and by_cards:
        _put(hand, words[0], words[2])
    elif exact.count() and not (
        by_cards and words and page.locator(f'#play button[name="verb"][value="{verb}"]').count()
    ):
        _unfold(hand, exact.first)
        hand.press(exact.first)
    else:
        for card in words:
            box = page.locator(f'#play input[name="card"][value^="{card}#"]:not(:checked)').first
            hand.tick(page.locator(f'#play input[name="card"][value="{box.get_attribute("value")}"]'))
        hand.press(page.locator(f'#play button[name="verb"][value="{verb}"]'))
    page.wait_for_url(lambda now: "?played=" in now and now != before, wait_until="commit")


def _put(hand: Pointer | Keys, card: str, slot: str) -> None:
    """Place a card of Byzantium; with scripts, a button then plays it."""
    page = hand.page
    hand.tick(page.locator(f'#play input[name="card"][value="{card}"]'))
    hand.press(page.locator(f'#play button.slot[value="{slot}"]'))
    go = page.locator("#play button[data-place]")
    if go.is_visible():
        hand.press(go)


def _unfold(hand: Pointer | Keys, button: Locator) -> None:
    """Unfold everything around a button, as a person would to reach it."""
    summary = button.locator("xpath=ancestor::details[not(@open)]/summary")
    if summary.count():
        hand.press(summary.first)
