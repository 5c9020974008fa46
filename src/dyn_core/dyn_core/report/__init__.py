# SPDX-License-Identifier: Apache-2.0
"""Reports: pages of HTML that need nothing else, with plots in SVG."""
