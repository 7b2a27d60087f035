"""`python3 dev.py words`: update the catalogues and print what is untranslated.

python3 dev.py words            update server/translations/*/LC_MESSAGES/messages.po
python3 dev.py words --check    change nothing; fail if a text is missing, unused or badly translated
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from server import i18n
from tests.words.catalogues import faults, missing, read, update
from tests.words.found import texts


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if `--check` finds anything."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="dev.py words", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if anything is wrong")
    check = parser.parse_args(words).check
    found = texts()
    wrong = 0
    for language in i18n.NAMES:
        if language == i18n.DEFAULT:
            continue
        path = i18n.catalogue_path(language)
        catalogue = read(path, language) if check else update(path, language, found)
        lacking, others = missing(catalogue, found), faults(catalogue, found)
        print(f"{i18n.NAMES[language]}: {len(found)} texts, {len(lacking)} missing, {len(others)} faults")
        print(
            "".join(f"    {fault}\n" for fault in [*(f"missing: {text}" for text in lacking), *others][:20]),
            end="",
        )
        wrong += len(lacking) + len(others)
    return int(check and wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
