"""Settings of Sphinx. Each build generates the reference pages from the program's own sources."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference_pages  # noqa: E402 -- it lies beside this file

from tcptrace_http._version import __version__  # noqa: E402
from tcptrace_http.documentation import SITE  # noqa: E402

reference_pages.write(HERE)

project = "tcptrace-http"
release = __version__
copyright = "the tcptrace-http authors, Apache License 2.0"  # noqa: A001 -- Sphinx's name

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["deflist", "attrs_block"]
myst_heading_anchors = 4
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "tcptrace-http"
html_baseurl = SITE
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# Examples are code, not prose: quotes and dashes stay as typed.
smartquotes = False
pygments_style = "default"
pygments_dark_style = "github-dark"
