"""Formulas as MathML, rendered by the browser without scripts or external files.

docutils converts TeX to MathML; a formula that it cannot read is a warning with its location, and fails the build.
Scripts and roots need a font with a MATH table: STIX Two Math (SIL Open Font Licence) is copied into the site if the
package ziamath, which contains it, is installed; otherwise the browser uses a system font.
"""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

FONT = "STIXTwoMath-Regular.ttf"
FENCE = re.compile(r"<mo( class=\"[a-z]+\")?>([‖⟨⟩|])</mo>")  # browsers stretch these to the height of the whole line


def markup(tex: str, block: bool, node: nodes.Node) -> str:
    """The MathML of a formula, or its text if it cannot be read."""
    try:
        return FENCE.sub(r'<mo\1 stretchy="false" lspace="0" rspace="0">\2</mo>', str(tex2mathml(tex, as_block=block)))
    except MathError as error:
        logger.warning("formula %r: %s", tex, error, location=node, type="mathml")
        return f"<code>{tex}</code>"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(markup(node.astext(), False, node))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(markup(node.astext(), True, node))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def bring_font(app: Sphinx, error: Exception | None) -> None:
    """Copy the font into the site."""
    found = find_spec("ziamath")
    if error is None and found is not None and found.origin is not None:
        font = Path(found.origin).parent / "fonts" / FONT
        if font.exists():
            shutil.copyfile(font, Path(app.outdir) / "_static" / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", bring_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
