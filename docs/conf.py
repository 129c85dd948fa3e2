"""Settings of the documentation site (`make docs`)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))  # this site's own extensions

project = "Arlequin"
author = copyright = "The Arlequin developers"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "mathml",
    "api",
    "figures",
    "gallery",
]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]

smartquotes = False  # docstrings and code say what they say

html_theme = "furo"
html_title = "Arlequin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # formulas are part of the page: nothing is loaded
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

# console blocks: the prompt and what was printed are not copied
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_type_comments = False
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False
