# SPDX-License-Identifier: Apache-2.0
"""Names that a language accepts."""

from __future__ import annotations

import re

_TAKEN = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit
    continue decltype default delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    std posix linux unix i386 main"""
_CPP_WORDS = frozenset(_TAKEN.split())


def cpp_namespace(name: str) -> str:
    """Answer the name of a robot as a namespace that is no word and no namespace of C++."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not word:
        return "robot"
    return f"robot_{word}" if word[0].isdigit() or word in _CPP_WORDS else word


def camel_case(name: str) -> str:
    """Answer `inverseDynamics` for `inverse_dynamics`: an underscore is an operator of Mathematica."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
