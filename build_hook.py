"""Puts what the server reads at run time into the wheel: templates and migrations."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("templates", "migrations")


class DataFolders(BuildHookInterface[Any]):
    """Copies them into `server/`; an editable install reads them in the checkout, never stale."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds each folder to a standard wheel's files.

        version: "standard" or "editable"; build_data: hatchling's, of which `force_include` is extended."""
        if self.target_name == "wheel" and version == "standard":
            for name in FOLDERS:
                build_data["force_include"][str(Path(self.root, name))] = f"server/{name}"
