# SPDX-License-Identifier: Apache-2.0
"""HTML reports with SVG plots that need no other file.

May import `core` only. Begin with `page.py`.
"""
