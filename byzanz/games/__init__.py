"""The available games, by slug and version of their rules: those shipped, and those of installed packages.

A package names its games as entry points of the group `byzanz.games`, each of them a class of rules or a sequence of
classes, the versions of one game from the earliest on.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeAlias

from byzanz.games.byzantium import Byzantium
from byzanz.games.byzanz import Byzanz
from byzanz.games.empire import Empire
from byzanz.moves import BadSetup
from byzanz.rules import Rules

GROUP = "byzanz.games"
"""The group of entry points under which packages name their games."""
AnyRules: TypeAlias = Rules[Any, Any]

SHIPPED: tuple[AnyRules, ...] = (Byzanz(), Empire(), Byzantium())
"""The games that come with Byzanz, in the order of lists for people; the versions of one game from the earliest on."""
_added: list[AnyRules] = []


@dataclass(frozen=True, slots=True)
class Broken:
    """An entry point whose games cannot be played.

    Args:
        package: that was installed, with its version: `byzanz-goofspiel 1.0`.
        name: of the entry point.
        reason: one line for the log and `byzanz doctor`.
    """

    package: str
    name: str
    reason: str


def rules_of(slug: str, version: int | None = None) -> AnyRules:
    """Return the rules of a game.

    Args:
        slug: the game's name, such as `byzanz`.
        version: of its rules; the latest if None. Old versions stay so that old records replay.

    Raises:
        BadSetup: there is no such game, or no such version of it.
    """
    versions = {rules.version: rules for rules in _games() if rules.slug == slug}
    if not versions:
        known = ", ".join(rules.slug for rules in latest())
        raise BadSetup("There is no game “%(slug)s”; the games are: %(known)s.", slug=slug, known=known)
    if version is not None and version not in versions:
        known = ", ".join(map(str, sorted(versions)))
        raise BadSetup(
            "There is no version %(version)s of the rules of %(slug)s; the versions are: %(known)s.",
            version=version,
            slug=slug,
            known=known,
        )
    return versions[max(versions) if version is None else version]


def latest() -> tuple[AnyRules, ...]:
    """Return the latest rules of every game, Byzanz first."""
    return tuple({rules.slug: rules for rules in _games()}.values())


def every() -> tuple[AnyRules, ...]:
    """Return all versions of the rules of every game."""
    return tuple(_games())


def title_of(slug: str) -> str:
    """Return the title of a game; its slug if it is not installed."""
    return next((rules.title for rules in latest() if rules.slug == slug), slug)


def folder_of(slug: str) -> Path | None:
    """Return the folder of a game's package, where its templates and other files are.

    None if the game is not installed, or is a single module.
    """
    rules = next((rules for rules in latest() if rules.slug == slug), None)
    package = sys.modules[type(rules).__module__].__package__ if rules else None
    file = sys.modules[package].__file__ if package else None
    return Path(file).parent if file else None


def broken() -> tuple[Broken, ...]:
    """Return the entry points of installed packages whose games cannot be played, with the reasons."""
    return _installed()[1]


def add(rules: AnyRules) -> None:
    """Make a game available in this process, as if its package were installed, for tests and for games in the making.

    Raises:
        BadSetup: another game has its slug.
    """
    if any(type(known) is not type(rules) and known.slug == rules.slug for known in _games()):
        raise BadSetup("There is already a game “%(slug)s”.", slug=rules.slug)
    if not any(type(known) is type(rules) for known in _games()):
        _added.append(rules)


def read(path: Path) -> AnyRules:
    """Return the rules of the game in a file, or in a folder that is a package; its latest version.

    Args:
        path: of a `.py` file or a folder with `__init__.py`.

    Raises:
        BadSetup: it holds no game, or several; its code fails; or another module has its name.
    """
    file = path / "__init__.py" if path.is_dir() else path
    spec = importlib.util.spec_from_file_location(file.parent.name if path.is_dir() else file.stem, file)
    if not path.exists():
        raise BadSetup("There is no file or folder %(path)s.", path=path)
    if spec is None or spec.loader is None or not file.is_file():
        raise BadSetup("%(path)s is no Python file and no package.", path=path)
    known = sys.modules.get(spec.name)
    if (
        known
        and getattr(known, "__file__", "") != spec.origin
        and not _rules(vars(known).values(), spec.name)
    ):
        raise BadSetup("%(path)s has the name of another Python module; rename it.", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        found = _rules(vars(module).values(), spec.name)
    except Exception as error:
        raise BadSetup("%(path)s: %(reason)s", path=path, reason=_reason(error)) from error
    if len({rules.slug for rules in found}) != 1:
        raise BadSetup(
            "%(path)s must hold one game; it holds %(count)s.",
            path=path,
            count=len({it.slug for it in found}),
        )
    return max(found, key=lambda rules: rules.version)


def _games() -> Iterator[AnyRules]:
    yield from SHIPPED
    yield from _installed()[0]
    yield from _added


# At the first question rather than at the import: the modules of packages import those of this package.
@cache
def _installed() -> tuple[tuple[AnyRules, ...], tuple[Broken, ...]]:
    """Return the games of installed packages, and the entry points without one."""
    games: list[AnyRules] = []
    failed: list[Broken] = []
    slugs = {rules.slug: "Byzanz itself" for rules in SHIPPED}
    for point in sorted(entry_points(group=GROUP), key=lambda it: (it.name, _package(it))):
        package = _package(point)
        try:
            loaded = point.load()
            found = _rules(loaded if isinstance(loaded, list | tuple) else (loaded,))
            if not found:
                raise TypeError(f"{point.value} is no class of rules")
            for rules in found:
                if slugs.setdefault(rules.slug, package) != package:
                    raise ValueError(f"the slug “{rules.slug}” is taken by {slugs[rules.slug]}")
        except Exception as error:  # the code of others may fail in any way, and no other game may suffer
            failed.append(Broken(package, point.name, _reason(error)))
        else:
            games += found
    return tuple(games), tuple(failed)


def _rules(objects: Any, module: str = "") -> list[AnyRules]:
    """Return an instance of each class of rules among these; only of those that `module` defines if given."""
    classes = [it for it in objects if isinstance(it, type) and issubclass(it, Rules) and "slug" in vars(it)]
    return [it() for it in dict.fromkeys(classes) if not module or it.__module__.split(".")[0] == module]


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
