"""A result in a window of PyVista: volumes that a plane cuts, time, fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.viewer.scene import Floats, Scene, ViewedPart

MAP = "viridis"
WITHOUT = "#AAAAAA"  # parts without the field
EDGES = 20_000  # cells of all parts, up to which their edges are drawn
_VTK = {"vertex": 1, "line": 3, "triangle": 5, "quad": 9, "tetra": 10, "hexahedron": 12}
HELP = "f: next field   m: next component   c: cut   left, right: time"


def window(scene: Scene, title: str, **options: Any) -> Any:
    """A `pyvista.Plotter` of a scene of whole cells; options: of the plotter.

    UserError where PyVista is not installed.
    """
    try:
        import pyvista
    except ImportError:
        raise UserError(
            "a window needs PyVista: pip install 'arlequin[view]'; a page for any browser does not: "
            "arlequin view RESULT --html FILE, or aq.view(result).save(FILE)",
            code=1,
        ) from None
    return Window(pyvista, scene, title, options).plotter


class Window:
    """The parts of a scene, one frame after the other, in a plotter."""

    def __init__(self, pyvista: Any, scene: Scene, title: str, options: dict[str, Any]) -> None:
        self._scene, self._frame, self._component = scene, 0, -1
        self._names = list(dict.fromkeys(name for part in scene.parts for name in part.fields))
        self._field = self._names[0] if self._names else ""
        self._plane: tuple[Any, Any] | None = None
        self.plotter = pyvista.Plotter(title=f"{title} - Arlequin", **options)
        self._grids = [
            pyvista.UnstructuredGrid({_VTK[part.kind]: part.pieces}, np.array(part.places)) for part in scene.parts
        ]
        edges = sum(len(part.pieces) for part in scene.parts) <= EDGES
        self._actors = []
        for part, grid in zip(scene.parts, self._grids, strict=True):
            grid.point_data["value"] = np.full(grid.n_points, np.nan if part.rigid else 0.0)
            self._actors.append(
                self.plotter.add_mesh(
                    grid, scalars="value", cmap=MAP, nan_color=WITHOUT,
                    show_edges=edges and part.corners > 2 and not part.rigid, opacity=0.4 if part.rigid else 1.0,
                    line_width=3 if part.corners == 2 else 0.5, point_size=10, show_scalar_bar=False, name=part.name,
                )
            )  # fmt: skip
        self._bar = self.plotter.add_scalar_bar(" ", mapper=self._actors[0].mapper, vertical=True, fmt="%.3g")
        self.plotter.add_axes()
        self.plotter.add_text(HELP, position="lower_left", font_size=8, color="grey")
        last = scene.times.size - 1
        if last > 0:
            self.plotter.add_slider_widget(
                lambda value: self.to(round(value)), [0, last], value=0, title="", fmt="%.0f", style="modern",
                pointa=(0.25, 0.08), pointb=(0.9, 0.08), interaction_event="always",
            )  # fmt: skip
        for key, action in (
            ("f", self.next_field), ("m", self.next_component), ("c", self.cut),
            ("Right", lambda: self.to(self._frame + 1)), ("Left", lambda: self.to(self._frame - 1)),
        ):  # fmt: skip
            self.plotter.add_key_event(key, action)
        if scene.axes < 3:
            self.plotter.view_xy()
            self.plotter.enable_parallel_projection()
        elif scene.camera is not None:
            _, up, eye = scene.camera.rotation
            self.plotter.view_vector(tuple(eye.tolist()), viewup=tuple(up.tolist()))
        self.to(0)

    def to(self, frame: int) -> None:
        """Show a frame."""
        scene = self._scene
        self._frame = frame % scene.times.size
        every = [self._values(part, slice(None)) for part in scene.parts]
        finite = np.concatenate([values[np.isfinite(values)] for _, values in every])
        about = next((part.fields[self._field] for part in scene.parts if self._field in part.fields), None)
        factor, unit = style.prefix(finite, "" if about is None else about.unit)
        limits = style.range_of(factor * finite) if finite.size else (0.0, 1.0)
        for part, grid, actor in zip(scene.parts, self._grids, self._actors, strict=True):
            on_nodes, values = self._values(part, slice(self._frame, self._frame + 1))
            grid.points = part.places + scene.magnify * part.displacement[self._frame]
            grid.point_data.pop("value", None)
            grid.cell_data.pop("value", None)
            (grid.point_data if on_nodes else grid.cell_data)["value"] = factor * values[0]
            shown = grid
            if self._plane is not None:
                shown = grid.clip(normal=self._plane[0], origin=self._plane[1])
            actor.mapper.dataset = shown
            actor.mapper.SetScalarMode(3 if on_nodes else 4)  # point or cell field data
            actor.mapper.SelectColorArray("value")
            actor.mapper.scalar_range = limits
        if about is not None:
            self._bar.SetTitle(style.label(about.label, unit))
        self.plotter.add_text(scene.instants[self._frame], position="upper_left", font_size=11, name="time")

    def _values(self, part: ViewedPart, frames: slice) -> tuple[bool, Floats]:
        """Whether the field is on the nodes, and its values (f, n)."""
        field = part.fields.get(self._field)
        count = self._scene.times[frames].size
        if field is None:
            return True, np.full((count, len(part.places)), np.nan)
        values = field.values[frames]
        if values.ndim < 3:
            return field.on_nodes, values
        if self._component < 0:
            return field.on_nodes, np.sqrt((values**2).sum(axis=2))
        return field.on_nodes, values[..., min(self._component, values.shape[2] - 1)]

    def next_field(self) -> None:
        """Colour by the next field."""
        if self._names:
            self._field = self._names[(self._names.index(self._field) + 1) % len(self._names)]
            self.to(self._frame)

    def next_component(self) -> None:
        """Magnitude, x, y, z, …"""
        most = max(
            (p.fields[self._field].values.shape[2:] or (1,))[0] for p in self._scene.parts if self._field in p.fields
        )
        self._component = -1 if self._component + 1 >= most else self._component + 1
        self.to(self._frame)

    def cut(self) -> None:
        """Cut by a plane that the mouse moves, or no longer."""
        if self._plane is not None:
            self._plane = None
            self.plotter.clear_plane_widgets()
            self.to(self._frame)
            return

        def move(normal: Any, origin: Any) -> None:
            self._plane = normal, origin
            self.to(self._frame)

        self.plotter.add_plane_widget(move, normal="y")
