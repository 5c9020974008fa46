# SPDX-License-Identifier: Apache-2.0
"""Independent combinations of parameters, and their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.polynomial import polynomial


@dataclass(frozen=True, eq=False)
class Combinations:
    """Independent combinations of parameters.

    Attributes:
        standard_names: names of the parameters that are combined.
        kept: the one that each combination stands in the place of, in their order.
        matrix: ``combinations = matrix @ parameters`` (SI units), the unit matrix in the columns of `kept`.
    """

    standard_names: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: Matrix

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the combinations: ``XXR2`` where others are grouped in XX2, ``XX2`` where none is."""
        return tuple(
            grouped_name(name) if np.count_nonzero(row) > 1 else name
            for name, row in zip(self.kept, self.matrix, strict=True)
        )

    @property
    def expressions(self) -> tuple[str, ...]:
        """The combinations as text that Python reads, ``XXR2 = XX2 - YY2``, with numbers of 15 digits."""
        return self.written(self.matrix)

    def written(self, coefficients: Matrix, present: Collection[str] | None = None) -> tuple[str, ...]:
        """Answer the combinations as text.

        Args:
            coefficients: entries of `matrix`: numbers, or polynomials with the same values.
            present: names of the parameters that are in the text; None for all.
        """
        there = np.array([present is None or name in present for name in self.standard_names])
        places = [np.flatnonzero((row != 0.0) & there).tolist() for row in self.matrix]
        return tuple(
            f"{name} = {combination(kept, self.standard_names, row, at)}"
            for name, kept, row, at in zip(self.names, self.kept, coefficients, places, strict=True)
        )

    @property
    def no_effect(self) -> tuple[str, ...]:
        """Names of the parameters that are in no combination."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(name for name, in_use in zip(self.standard_names, used, strict=True) if not in_use)

    @property
    def grouped(self) -> dict[str, tuple[str, ...]]:
        """By parameter that is grouped with others: names of the combinations that have it."""
        left = {*self.kept, *self.no_effect}
        names = np.array(self.names)
        return {
            name: tuple(names[self.matrix[:, k] != 0.0].tolist())
            for k, name in enumerate(self.standard_names)
            if name not in left
        }

    def values(self, standard: Mapping[str, float]) -> Matrix:
        """Values of the combinations (SI units).

        Args:
            standard: values of the parameters by name; others may be among them.
        """
        values: Matrix = self.matrix @ np.array([standard[name] for name in self.standard_names])
        return values


def grouped_name(name: str) -> str:
    """Answer the name of a parameter that others were grouped in: XX2 becomes XXR2."""
    letters = name.rstrip("0123456789")
    return f"{letters}R{name[len(letters) :]}"


def combination(first: str, names: Sequence[str], coefficients: Matrix, places: Iterable[int]) -> str:
    """Answer a linear combination as text that begins with one of its terms, where that is in it.

    Args:
        first: the name that the text begins with.
        names: all names.
        coefficients: their coefficients, numbers or polynomials.
        places: places of the names that are in the text.
    """
    terms = []
    for k in sorted(places, key=lambda k: names[k] != first):
        factor = polynomial(coefficients[k])
        sign, text = ("-", (-factor).text) if factor.text.startswith("-") else ("+", factor.text)
        text = f"({text})" if len(factor.terms) > 1 else text
        terms.append(f"{sign} {names[k]}" if text == "1" else f"{sign} {text}*{names[k]}")
    text = " ".join(terms) or "0"
    return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)
