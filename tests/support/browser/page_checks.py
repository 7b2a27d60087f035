"""Checks for a page in a browser: the accessibility engine, and whether everything is visible and clickable.

Each check returns sentences about what is wrong, or none.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

ENGINE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE = """
([tags, rules, contrast]) => axe.run(document, {
  runOnly: rules ? {type: "rule", values: rules} : {type: "tag", values: tags},
  rules: {"target-size": {enabled: true}, ...(rules ? {} : {"color-contrast": {enabled: contrast}})},
  resultTypes: ["violations"],
}).then((found) => found.violations.map((fault) =>
  `${fault.id}: ${fault.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")} – ${fault.help}`))
"""
COLOURS = """
() => {
  const grounds = new Map();
  const ground = (item) => {
    if (!item) return "";
    if (!grounds.has(item)) {
      const {backgroundColor, backgroundImage, opacity, filter} = getComputedStyle(item);
      const own = [backgroundColor, backgroundImage, opacity, filter].join();
      const below = ground(item.parentElement);
      grounds.set(item, own === "rgba(0, 0, 0, 0),none,1,none" ? below : `${below};${own}`);
    }
    return grounds.get(item);
  };
  const found = new Set();
  for (const item of document.body.querySelectorAll("*")) {
    if (![...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
      && !item.matches("input, select, textarea")) continue;
    const {color, fontSize, fontWeight, textShadow} = getComputedStyle(item);
    found.add([color, parseFloat(fontSize), fontWeight, textShadow, ground(item)].join());
  }
  return [...found];
}
"""
"""The colours of all texts, each with its size, its weight, and everything painted behind it by its parents."""
UNFOLD = "() => { for (const fold of document.querySelectorAll('details')) fold.open = true }"
LOOK = """
() => {
  const once = (what) => {  // a page has thousands of elements, each of which is asked for its parents' looks
    const known = new Map();
    return (item) => {
      if (!known.has(item)) known.set(item, what(item));
      return known.get(item);
    };
  };
  const above = once((item) => item.parentElement ? [item.parentElement, ...above(item.parentElement)] : []);
  const hushed = once((item) => /inset|rect/.test(getComputedStyle(item).clipPath + getComputedStyle(item).clip)
    || item.parentElement && hushed(item.parentElement));
  const shown = once((item) => {
    const box = item.getBoundingClientRect();
    return box.width > 2 && box.height > 2 && !hushed(item)
      && item.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true});
  });
  const named = (item) => {
    const text = (item.getAttribute("aria-label") || item.textContent || item.name || "").trim().replace(/\\s+/g, " ");
    return `<${item.tagName.toLowerCase()} ${item.className.baseVal ?? item.className}> “${text.slice(0, 50)}”`;
  };
  const scrolls = once((item) => /auto|scroll/.test(getComputedStyle(item).overflowX));
  const floats = once((item) => /sticky|fixed/.test(getComputedStyle(item).position)
    || item.parentElement && floats(item.parentElement));
  const faults = [];
  const wide = document.documentElement.clientWidth;
  const all = [...document.body.querySelectorAll("*")].filter((item) => shown(item));

  if (document.documentElement.scrollWidth > wide)
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${wide}`);
  for (const item of all) {
    const box = item.getBoundingClientRect();
    if ((box.right > wide + 1 || box.left < -1) && !above(item).some(scrolls) && !item.closest("svg *"))
      faults.push(`out of the window: ${named(item)}`);
  }

  const texts = [];
  for (const item of all) {
    if (item.closest("svg, select, textarea, option") || floats(item)) continue;
    for (const node of item.childNodes) {
      if (node.nodeType !== 3 || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects())
        if (box.width > 2 && box.height > 2) texts.push({item, box: visible(item, box)});
    }
  }
  function visible(item, {left, right, top, bottom}) {
    const box = {left, right, top, bottom};
    for (const each of [item, ...above(item)]) {
      const {overflowX, overflowY} = getComputedStyle(each);
      if (overflowX === "visible" && overflowY === "visible" || each === document.documentElement) continue;
      const frame = each.getBoundingClientRect();
      const cut = Math.max(box.right - frame.right, frame.left - box.left, box.bottom - frame.bottom - 3,
        frame.top - box.top - 3);
      if (cut > 1 && /hidden|clip/.test(overflowX + overflowY))
        faults.push(`cut off by ${Math.round(cut)} px: ${named(item)}`);
      box.left = Math.max(box.left, frame.left);
      box.right = Math.min(box.right, frame.right);
      box.top = Math.max(box.top, frame.top);
      box.bottom = Math.min(box.bottom, frame.bottom);
    }
    return box;
  }
  const over = (one, other) => Math.min(
    Math.min(one.right, other.right) - Math.max(one.left, other.left),
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top));
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++) {
      const one = texts[i], other = texts[j];
      if (one.item !== other.item && over(one.box, other.box) > 4)
        faults.push(`text on text: ${named(one.item)} and ${named(other.item)}`);
    }

  const targets = [];
  for (const item of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (item.type === "hidden" || item.disabled) continue;
    const label = item.matches("input[type=checkbox], input[type=radio]") && item.labels[0];
    const target = label && label.contains(item) ? label : item;
    if (!shown(target) || floats(target)) continue;
    const boxes = [...target.getClientRects()].filter((box) => box.width > 2 && box.height > 2);
    const seen = boxes.map((box) => visible(target, box)); // what is scrolled away lies on nothing
    targets.push({item: target, boxes, seen, inline: getComputedStyle(target).display === "inline"});
  }
  for (const {item, boxes, inline} of targets)
    for (const box of boxes)
      if (!inline && (box.width < 24 || box.height < 24))
        faults.push(`a target of ${Math.round(box.width)}×${Math.round(box.height)} px: ${named(item)}`);
  for (let i = 0; i < targets.length; i++)
    for (let j = i + 1; j < targets.length; j++) {
      const one = targets[i], other = targets[j];
      if (one.item === other.item || one.item.contains(other.item) || other.item.contains(one.item)) continue;
      const most = one.inline || other.inline ? 4 : 1;
      if (one.seen.some((a) => other.seen.some((b) => over(a, b) > most)))
        faults.push(`one on another: ${named(one.item)} and ${named(other.item)}`);
    }
  for (const fold of document.querySelectorAll("details")) {
    const inside = [...fold.children].filter((item) => item.tagName !== "SUMMARY");
    const drawn = inside.some((item) => item.textContent.trim() || item.matches("svg, img, input, select, textarea")
      || item.querySelector("svg, img, input, select, textarea"));
    const words = [...fold.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!drawn && !words) faults.push(`nothing is folded: ${named(fold)}`);
  }
  return [...new Set(faults)].slice(0, 12);
}
"""


MOVING = """
() => [...document.querySelectorAll("*")].filter((item) => {
  const {animationName, animationDuration, transitionDuration} = getComputedStyle(item);
  const long = (durations) => durations.split(",").some((each) => parseFloat(each) > 0.01);
  return animationName !== "none" && long(animationDuration) || long(transitionDuration);
}).map((item) => `moves: <${item.tagName.toLowerCase()}> ${item.className.baseVal ?? item.className}`)
"""


def unfold(page: Page) -> None:
    """Unfold everything that is folded, so that it is checked too."""
    page.evaluate(UNFOLD)


def axe(page: Page, rules: list[str] | None = None, contrast: bool = True) -> list[str]:
    """Return the findings of the accessibility engine.

    Args:
        rules: only these; by default all of WCAG 2.2 A and AA and the best practices.
        contrast: whether all of them include the contrast of colours, which takes as long as the rest.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(ENGINE)
    found: list[Any] = page.evaluate(AXE, [TAGS, rules, contrast])
    return [str(fault) for fault in found]


def contrast(page: Page, sound: set[str]) -> list[str]:
    """Return what the engine says of the contrast of colours, unless all that meet on this page are known to be sound.

    Args:
        sound: the colours that have met on sound pages (COLOURS); those of this page are added.
    """
    colours = set(page.evaluate(COLOURS))
    faults = [] if colours <= sound else axe(page, ["color-contrast"])
    if not faults:
        sound |= colours
    return faults


def looks(page: Page, width: int | None = None) -> list[str]:
    """Return what overflows, is cut off, covered, too small to be hit, or unfolds to nothing.

    Args:
        width: of the window in CSS pixels; by default unchanged.
    """
    if width is not None:
        height = page.viewport_size["height"] if page.viewport_size else 800
        page.set_viewport_size({"width": width, "height": height})
    found: list[Any] = page.evaluate(LOOK)
    return [f"at {width}: {fault}" if width else str(fault) for fault in found]


def moving(page: Page) -> list[str]:
    """Return what is animated or changes gradually."""
    found: list[Any] = page.evaluate(MOVING)
    return [str(fault) for fault in found]
