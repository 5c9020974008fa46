# SPDX-License-Identifier: Apache-2.0
"""How a base moves."""

from __future__ import annotations

from typing import Literal

BaseKind = Literal["free", "planar", "given"]
"""In all ways, in a plane, or as something else moves it."""

BASE_KINDS: tuple[BaseKind, ...] = ("free", "planar", "given")
