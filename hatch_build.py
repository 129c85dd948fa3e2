"""Build hook of hatch: `arlequin/` has links to the folders beside it, which hatch follows or leaves out.

In wheels these folders stand below `arlequin/`, whether the links are there or not (Windows). Source distributions hold
each folder once and the links as links, so that an unpacked one is a checkout.
"""

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("models", "multilevel", "cases")


class LinkedFolders(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"].update({name: f"arlequin/{name}" for name in FOLDERS})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.target_name == "sdist":
            add_links(Path(artifact_path))


def add_links(archive: Path) -> None:
    """Add the links to a source distribution, with the time of its other members."""
    plain = io.BytesIO(gzip.decompress(archive.read_bytes()))
    with tarfile.open(fileobj=plain, mode="a", format=tarfile.PAX_FORMAT) as members:
        first = members.getmembers()[0]
        for name in FOLDERS:
            link = tarfile.TarInfo(f"{first.name.partition('/')[0]}/arlequin/{name}")
            link.type, link.linkname, link.mtime, link.mode = tarfile.SYMTYPE, f"../{name}", first.mtime, 0o777
            members.addfile(link)
    archive.write_bytes(gzip.compress(plain.getvalue(), mtime=int(first.mtime)))
