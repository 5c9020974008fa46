# SPDX-License-Identifier: Apache-2.0
"""The one error of the workspace tool."""

from __future__ import annotations


class Failure(Exception):
    """One sentence that says what is wrong and what to do; printed without a traceback, exit code 1."""
