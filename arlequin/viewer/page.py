"""A result as a page that any browser opens without a network: moving parts, fields, time, a plane that cuts."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.results.files import file_errors
from arlequin.results.writing import write_text
from arlequin.viewer.scene import Field, Floats, Scene, ViewedPart

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATE = Path(__file__).with_name("page.html")
MAX_BYTES = 14 * 2**20  # bytes of a page: frames are left out until it is smaller
ABSENT = -32768  # code of nan


def page(scene: Scene, title: str) -> str:
    """The page as text; frames are left out evenly where it would be larger than `MAX_BYTES`."""
    while True:
        data = json_in_script(_data(scene, title))
        if len(data) <= MAX_BYTES or scene.times.size <= 2:
            before, middle, after = re.split(r"<!--title-->|/\*data\*/", TEMPLATE.read_text(encoding="utf-8"))
            return "".join((before, html.escape(title), middle, data, after))
        fewer = max(2, int(scene.times.size * 0.9 * MAX_BYTES / len(data)))
        scene = _thinned(scene, np.unique(np.linspace(0, scene.times.size - 1, fewer).round().astype(np.int64)))


def json_in_script(data: Any) -> str:
    """JSON that may stand in an HTML element `script`: without `<`, `>` and `&`, and `?` for lone surrogates.

    A script ends at `</script`, and not there after `<!--<script` (HTML standard, 13.2.5.15 ff., «script data double
    escaped state»); escaped as `\\u003c` and so on, as they stand in texts of JSON only, none of them can occur.

    >>> json_in_script({"title": "<!--<script>"})
    '{"title":"\\\\u003c!--\\\\u003cscript\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def script() -> str:
    """The program of the page, which is the same in all."""
    text = TEMPLATE.read_text(encoding="utf-8")
    return text[text.index('<script>"use strict"') + len("<script>") : text.rindex("</script>")]


def frame(text: str, title: str, height: int = 560) -> str:
    """A page inside of another one."""
    source, about = html.escape(text, quote=True), html.escape(title, quote=True)
    return f'<iframe srcdoc="{source}" title="{about}" style="width:100%;height:{height}px;border:0"></iframe>'


def write_page(scene: Scene, title: str, path: str | Path) -> Path:
    """Write the page."""
    text = page(scene, title)
    with file_errors(str(path)):
        return write_text(path, text)


def _thinned(scene: Scene, frames: NDArray[np.int64]) -> Scene:
    parts = [
        part._replace(
            displacement=part.displacement[frames],
            fields={name: each._replace(values=each.values[frames]) for name, each in part.fields.items()},
        )
        for part in scene.parts
    ]
    return scene._replace(parts=parts, times=scene.times[frames], instants=[scene.instants[n] for n in frames])


def _data(scene: Scene, title: str) -> dict[str, Any]:
    import matplotlib

    colours = (255 * matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, 256))[:, :3]).round().astype(np.uint8)
    return {
        "title": title,
        "axes": scene.axes,
        "times": np.nan_to_num(scene.times).tolist(),  # JSON has no nan; that of a damaged result may have
        "instants": scene.instants,
        "rotation": np.eye(3).tolist() if scene.camera is None else scene.camera.rotation.round(12).tolist(),
        "magnify": scene.magnify,
        "colours": _packed(colours),
        "parts": [_part(part) for part in scene.parts],
    }


def _part(part: ViewedPart) -> dict[str, Any]:
    return {
        "name": part.name,
        "rigid": part.rigid,
        "places": _packed(part.places.astype(np.float32)),
        "displacement": _rounded(part.displacement),
        "pieces": _packed(part.pieces.astype(np.uint32)),
        "corners": int(part.pieces.shape[1]),
        "fields": {name: dict(_field(field)) for name, field in part.fields.items() if np.isfinite(field.values).any()},
    }


def _field(field: Field) -> Iterator[tuple[str, Any]]:
    yield from {"label": field.label, "unit": field.unit, "nodes": field.on_nodes}.items()
    yield "components", int(field.values.shape[2]) if field.values.ndim > 2 else 1
    yield "names", list(field.components)
    yield from _rounded(field.values).items()


def _rounded(values: Floats) -> dict[str, Any]:
    """Values as steps of 1/32,000 of the largest, in 16 bits: what a colour or a pixel shows; `frames` packed ones."""
    size = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    steps = np.where(np.isfinite(values), np.round(values * (32000.0 / size)), ABSENT).astype(np.int16)
    return {"step": size / 32000.0, "frames": [_packed(frame) for frame in steps]}


def _packed(array: NDArray[Any]) -> str:
    """Little-endian bytes, deflated, in base 64."""
    data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return base64.b64encode(zlib.compress(data.tobytes(), 6)).decode()
