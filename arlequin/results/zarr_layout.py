"""The structure of a Zarr v3 store: groups, arrays filled with NaN, static data, attributes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.results.writing import write_synced

if TYPE_CHECKING:
    from arlequin.results.columns import Attributes, Column

# Coordinates that index no dimension; CF names them in the attribute `coordinates` of the group.
AUXILIARY = ("frame_time", "position")
# Attribute of the root: every chunk of what is recorded is there, also of nan, so that one that is missing is damage.
WHOLE = "chunks_whole"
# Copy of the attributes of the root, from which its metadata are made again where a power failure has left none.
HEADER = ".header.json"
# Folder in a result that is no part of the store: results of the runs that it is compared with.
COMPARISON = "comparison"


def create(folder: Path, columns: Sequence[Column], attributes: Attributes) -> None:
    """Write the whole structure: groups, arrays filled with NaN, static data, attributes."""
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec

    root = zarr.open_group(str(folder), mode="a", zarr_format=3)
    for group, names in _auxiliary(columns).items():
        place = root.require_group(group) if group else root
        place.update_attributes({"coordinates": " ".join(names)} if names else {})
    root.update_attributes({**attributes, WHOLE: 1})
    (folder / HEADER).write_text(json.dumps({"attributes": dict(root.attrs)}), encoding="utf-8")
    for c in columns:
        text = c.data is not None and c.data.dtype.kind == "T"
        array = root.create_array(
            "/".join(filter(None, c.key)),
            shape=c.shape,
            chunks=tuple(max(1, n) for n in c.chunks),
            dtype=str if text else "float64" if c.data is None else c.data.dtype,
            fill_value="" if text else np.nan if c.data is None or c.data.dtype.kind == "f" else 0,
            # byte shuffling and LZ4: three times as fast as the default, and smaller, on smooth float fields
            # with a checksum: of bits that have changed on the disk most would unpack to other numbers
            compressors=[
                ZstdCodec() if text else BloscCodec(cname="lz4", clevel=3, shuffle="shuffle"),
                Crc32cCodec(),
            ],
            dimension_names=c.dims,
            attributes=dict(c.attributes),
            config={"write_empty_chunks": True},
        )
        if c.data is not None and c.data.size:
            array[...] = c.data
    consolidate(folder)


def write_header(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Write the copy of the root's attributes, also in a power failure."""
    write_synced(folder / HEADER, json.dumps({"attributes": dict(attributes)}).encode())


def _auxiliary(columns: Sequence[Column]) -> Mapping[str, list[str]]:
    """The auxiliary coordinates of each group."""
    groups: dict[str, list[str]] = {"": []}
    for c in columns:
        names = groups.setdefault(c.group, [])
        if c.name in AUXILIARY:
            names.append(c.name)
    return groups


def consolidate(folder: Path) -> None:
    """Copy all metadata into the root's file, where plain xarray looks first, and warns if there are none."""
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are not yet in the text of the v3 specification
        zarr.consolidate_metadata(str(folder), zarr_format=3)
