"""Add templates and migrations, which the server reads at run time, to the wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("templates", "migrations")


class DataFolders(BuildHookInterface[Any]):
    """Copy the data folders into `server/` of a wheel; an editable install reads them from the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add each data folder to the files of a standard wheel.

        Args:
            version: "standard" or "editable".
            build_data: from hatchling; its `force_include` is extended.
        """
        if self.target_name == "wheel" and version == "standard":
            for name in FOLDERS:
                build_data["force_include"][str(Path(self.root, name))] = f"server/{name}"
