# SPDX-License-Identifier: Apache-2.0
"""Names and numbers in LaTeX."""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Za-z]+?)([0-9]*)")


def latex_name(name: str) -> str:
    r"""Answer the LaTeX of a symbol, ``q_{2}`` of q2, ``\mathit{MX}_{2}`` of MX2, ``\theta_{2}`` of th2."""
    found = _NAME.fullmatch(name)
    assert found is not None, "symbols are letters with a number"
    letters, number = found.groups()
    stem = r"\theta" if letters == "th" else letters if len(letters) == 1 else rf"\mathit{{{letters}}}"
    return f"{stem}_{{{number}}}" if number else stem


def latex_expression(text: str) -> str:
    """Answer the LaTeX of a polynomial that is written for Python: ``ZZ1 + d2**2*M2``."""
    text = re.sub(r"[A-Za-z]+[0-9]*", lambda found: latex_name(found.group()), text)
    return re.sub(r"\*\*([0-9]+)", r"^{\1}", text).replace("*", r" \, ")


def latex_number(value: float) -> str:
    """Answer the LaTeX of a number, in parentheses where it has a sign."""
    digits, _, exponent = f"{abs(value):.6g}".partition("e")
    text = rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits
    return f"(-{text})" if value < 0.0 else text
