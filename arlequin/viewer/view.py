"""`view` of a result: in a notebook, in a browser, in a window of PyVista."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.results.reading import of_result
from arlequin.viewer.scene import FRAMES, Scene, scene_of

if TYPE_CHECKING:
    import xarray

    from arlequin.plots.camera import View as Direction


class View:
    """A view of a result, which a notebook shows; `save` writes its page, `show` opens a window of PyVista."""

    def __init__(self, scene: Callable[[bool], Scene], title: str) -> None:
        """scene: of outer faces, or of whole cells."""
        self._scene_of, self.title = scene, title

    @cached_property
    def _scene(self) -> Scene:
        return self._scene_of(False)

    def __repr__(self) -> str:
        s = self._scene
        return f"View of {self.title}: {len(s.parts)} part(s), {s.times.size} frame(s); .save('view.html'), .show()"

    def _repr_html_(self) -> str:
        from arlequin.viewer.page import frame, page

        return frame(page(self._scene, self.title), self.title)

    def check(self) -> None:
        """UserError where there is nothing to view."""
        assert self._scene

    def save(self, path: str | Path) -> Path:
        """Write the view as a page that any browser opens, without a network."""
        from arlequin.viewer.page import write_page

        return write_page(self._scene, self.title, path)

    def show(self, **options: Any) -> Any:
        """Open a window of PyVista (extra `view`); options: of `pyvista.Plotter.show`."""
        from arlequin.viewer.window import window

        return window(self._scene_of(True), self.title).show(**options)


@of_result
def view(
    result: xarray.DataTree,
    *,
    field: str | None = None,
    parts: tuple[str, ...] | None = None,
    frames: int = FRAMES,
    magnify: float | None = None,
    member: int | None = None,
    view: Direction | None = None,
) -> View:
    """A result in three dimensions: its moving parts coloured by any field, with time and a plane that cuts.

        aq.view(result)                    # in a notebook
        aq.view(result).save("view.html")  # a page of its own
        aq.view(result).show()             # a window, with PyVista

    field: shown first, by default the velocity; parts: all or those named; frames: at most so many, spread evenly;
    magnify: of the displacements; None takes 1 or, where there are beams, what makes their deflection seen. member: of
    an ensemble, from 0. Rigid obstacles are seen beside the parts. view: the side from which a model in space is seen
    first, see `plots.shape`: by default that of the contact.
    """
    from arlequin.models.checks import instance, positive, positive_integer
    from arlequin.models.errors import UserError
    from arlequin.plots.camera import checked_view

    positive_integer("frames", frames)
    checked_view(view)
    instance("field", field, str | None, "must be the name of a field")
    factor = None if magnify is None else positive("magnify", magnify)
    title = str(result.attrs.get("case") or "result")

    def scene(whole: bool) -> Scene:
        options: Any = {"parts": parts, "frames": frames, "magnify": factor, "member": member, "view": view}
        made_scene = scene_of(result, whole=whole, **options)
        names = sorted({name for part in made_scene.parts for name in part.fields})
        if field is not None and field not in names:
            raise UserError.parameter("field", field, f"must be one of {', '.join(names)}")
        first = field or ("velocity" if "velocity" in names else names[0] if names else "")
        return made_scene._replace(
            parts=[part._replace(fields=_led_by(part.fields, first)) for part in made_scene.parts]
        )

    made = View(scene, title)
    made.check()
    return made


def _led_by(fields: dict[str, Any], first: str) -> dict[str, Any]:
    """The fields with one of them first."""
    return {name: fields[name] for name in sorted(fields, key=lambda name: (name != first, name))}
