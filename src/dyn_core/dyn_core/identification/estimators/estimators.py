# SPDX-License-Identifier: Apache-2.0
"""The estimators that there is a choice of, and what they are called."""

from __future__ import annotations

from typing import Literal, get_args

Estimator = Literal["ols", "wls", "irls", "tls", "iv", "oe"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
SIMULATING: frozenset[Estimator] = frozenset({"iv", "oe"})
"""Those that simulate the robot, and so have to know its control."""
IN_SHORT: dict[Estimator, str] = {
    **dict.fromkeys(ESTIMATORS, "least squares"),
    "iv": "instrumental",
    "oe": "output error",
}
IN_WORDS: dict[Estimator, str] = {
    "ols": "ordinary least squares",
    "wls": "weighted least squares",
    "irls": "iteratively reweighted least squares",
    "tls": "total least squares",
    "iv": "instrumental variables of a simulated motion",
    "oe": "output error of a simulated motion",
}
