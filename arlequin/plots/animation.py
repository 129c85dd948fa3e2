"""Animations of the motion of the parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.models import checks
from arlequin.models.checks import positive, positive_integer
from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.plots.camera import View, camera_of, checked_view
from arlequin.plots.histories import instants
from arlequin.plots.moving import active_at, coarse_first, drawn_name, groups_of, magnification, moving, of_component
from arlequin.plots.obstacles import obstacles_of
from arlequin.plots.scene import stage
from arlequin.results.files import file_errors
from arlequin.results.members import one_member
from arlequin.results.paraview import spread
from arlequin.results.reading import of_result
from arlequin.results.writing import replacing

if TYPE_CHECKING:
    import xarray

Progress = Callable[[int, int], None]

DPI = 100
_WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}


@of_result
def animation(
    result: xarray.DataTree,
    path: str | Path,
    *,
    field: str = "displacement",
    component: int | str | None = None,
    parts: tuple[str, ...] | None = None,
    magnify: float | None = None,
    frames: int = 60,
    rate: int = 15,
    member: int | None = None,
    view: View | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the motion of the parts as a GIF or, where ffmpeg is installed, an MP4 file; returns its path.

    Bars and beams are lines, masses dots, plane cells filled, solids seen by their outer faces, displaced by `magnify`
    times their displacement: None takes 1 or, where there are beams, what makes their deflection seen. Bars along one
    axis lie above each other, one line a part. Rigid obstacles are lines or translucent surfaces.

    field: whose magnitude is the colour, on (frame, node[, component]) or (frame, cell[, component]); of the sections
    of beams the means over the cells. component: see `shape`. frames: at most so many, spread evenly over those of the
    result; rate: of them a second; member: of an ensemble, from 0; view: of models in space, see `shape`; progress:
    called as (frames drawn, in all).
    """
    result = one_member(result, member, "an animation")
    target = Path(checks.path("path", path))
    writer = _writer(target, positive_integer("rate", rate))
    checked_view(view)
    checks.progress("progress", progress)
    groups = groups_of(result, parts)
    count = result.sizes.get("frame", 0)
    if not groups or not count:
        raise UserError("nothing to animate: the result has no frames of parts", code=1)
    groups = {name: of_component(g, field, component) if field in g else g for name, g in groups.items()}
    field = drawn_name(field, component)
    about = [group[field].attrs for group in groups.values() if field in group]
    if not about:
        raise UserError(f"no part of the result has a field `{field}`")
    shown = spread(count, frames)
    groups = active_at(groups, shown)
    factor = magnification(groups.values(), shown) if magnify is None else positive("magnify", magnify)
    axes = max(group.sizes["axis"] for group in groups.values())
    groups = coarse_first(groups) if axes == 2 else groups
    drawn = {name: moving(g, field, shown, factor, axes, row) for row, (name, g) in enumerate(groups.items())}
    label = style.capital(about[0].get("long_name", field)), about[0].get("units", "")
    camera = camera_of(result, view, parts) if axes == 3 else None
    with file_errors(str(path)):
        target.parent.mkdir(parents=True, exist_ok=True)
        named = instants(result, shown, "#.4g")
        figure, show = stage(drawn, named, factor, label, axes, obstacles_of(result, axes), camera=camera)
        with replacing(target) as draft, writer.saving(figure, str(draft), DPI):
            for n in range(shown.size):
                show(n)
                writer.grab_frame()
                if progress is not None:
                    progress(n + 1, int(shown.size))
    return target


def _writer(path: Path, rate: int) -> Any:
    """The writer of a file format, by the suffix."""
    import matplotlib
    from matplotlib.animation import writers

    name = _WRITERS.get(path.suffix.lower())
    if name is None:
        raise UserError(f"{path}: must end in {' or '.join(_WRITERS)}")
    if Path(matplotlib.matplotlib_fname()).parent == Path.cwd():  # which may name any program as ffmpeg
        matplotlib.rcParams["animation.ffmpeg_path"] = matplotlib.rcParamsDefault["animation.ffmpeg_path"]
    if not writers.is_available(name):
        raise UserError(f"{path}: needs {name}, which is not installed; a file that ends in .gif does not", code=1)
    return writers[name](fps=rate)
