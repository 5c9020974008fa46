# SPDX-License-Identifier: Apache-2.0
"""Why a demonstration ends before its end."""

from __future__ import annotations


class Stopped(Exception):
    """The user has had enough."""


class DemoError(Exception):
    """The demonstration cannot go on; one sentence."""
