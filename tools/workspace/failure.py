# SPDX-License-Identifier: Apache-2.0
"""The one error of the workspace tool."""

from __future__ import annotations


class Failure(Exception):
    """One sentence with the problem and its remedy; printed without a traceback, exit code 1."""
