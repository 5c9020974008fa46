# SPDX-License-Identifier: Apache-2.0
"""What is used of the library SymPy, which is imported where the first expanded form is made."""

from __future__ import annotations

from typing import Any

from dyn_core.core.errors import DynError


def sympy_library() -> Any:
    """Answer the library; DynError, which says how to get it, where it is not installed."""
    try:
        import sympy
    except ImportError as error:
        raise DynError(
            "the expanded form cannot be made without SymPy: install it with 'python3 -m pip install sympy'"
        ) from error
    return sympy
