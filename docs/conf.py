# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx (`make docs`)."""

project = "dyn"
author = "the dyn maintainers"
release = "0.1.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "dyn"
exclude_patterns: list[str] = []
