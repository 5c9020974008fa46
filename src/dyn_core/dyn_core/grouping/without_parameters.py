# SPDX-License-Identifier: Apache-2.0
"""Base parameters of a robot of which some parameters are always 0."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from dyn_core.grouping.base_parameters import BaseParameters

NEGLIGIBLE = 1e-6
"""Part of a parameter that is no part of a combination: base parameters by numbers lack some digits."""


def without_parameters(found: BaseParameters, without: Collection[str]) -> BaseParameters:
    """Answer the base parameters without parameters that are always 0.

    What stood in the place of one of them does so in that of the first one grouped in it: a base parameter
    that is named after a body which there is not becomes its rotor.

    Args:
        found: base parameters of all parameters.
        without: names of those that are always 0.
    """
    present = [k for k, name in enumerate(found.standard_names) if name not in without]
    names = tuple(found.standard_names[k] for k in present)
    matrix, kept = found.matrix[:, present].copy(), list(found.kept)
    rows = []
    for i, name in enumerate(kept):
        terms = np.flatnonzero(np.abs(matrix[i]) > NEGLIGIBLE)
        if not len(terms):
            continue
        rows.append(i)
        if name in without:
            k = int(terms[0])
            kept[i] = names[k]
            matrix[i] /= matrix[i, k]
            others = np.arange(len(kept)) != i
            matrix[others] -= np.outer(matrix[others, k], matrix[i])
    matrix = np.ascontiguousarray(matrix[rows])
    matrix.flags.writeable = False
    as_before = np.array_equal(matrix, found.matrix[np.ix_(rows, present)])
    coefficients = found.coefficients
    return replace(
        found,
        standard_names=names,
        kept=tuple(kept[i] for i in rows),
        matrix=matrix,
        coefficients=coefficients[np.ix_(rows, present)] if coefficients is not None and as_before else None,
        by_numbers=tuple(name for name in found.by_numbers if name not in without),
    )
