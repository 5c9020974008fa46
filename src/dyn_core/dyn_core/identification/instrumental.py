# SPDX-License-Identifier: Apache-2.0
"""Instrumental variables: parameters without the bias that noise in the columns gives least squares.

With Z the columns by a motion that has no noise but is almost the measured one,

    x = (sum Z_i^T W_i / sigma_i^2)^-1 sum Z_i^T tau_i / sigma_i^2,
    cov = (Z^T W)^-1 (Z^T Z) (W^T Z)^-1  with the same weights

(Janot, Vandanjon, Gautier 2014). Such a motion is what the simulated robot does with the parameters of the
estimate before, under the same control; see `simulated`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.rows import Rows


@dataclass(frozen=True, eq=False)
class InstrumentalSolution:
    """Parameters by instrumental variables.

    Attributes:
        x: values, in the order of the rows: shared ones first; 0 for those that are not identifiable.
        bread: ``(Z^T W)^-1``, weighted; 0 for those that are not identifiable.
        covariance: their covariance, of independent residuals.
    """

    x: Array
    bread: Array
    covariance: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters."""
        return np.sqrt(np.diag(self.covariance))


def instrumental(rows: Rows, instruments: Rows, sigma: Array, kept: BoolArray) -> InstrumentalSolution:
    """Answer parameters by instrumental variables.

    Args:
        rows: the measured equations.
        instruments: the same equations along a motion without noise; its torques do not matter.
        sigma: deviation of the residuals of each joint (N m or N).
        kept: whether each parameter can be told from those before it.

    Raises:
        DynError: the instruments are not those of the equations, or do not excite the parameters.
    """
    p = len(kept)
    if len(instruments) != len(rows) or instruments.frictions != rows.frictions:
        raise DynError(
            f"there are {len(rows)} equations, but {len(instruments)} of the motion that was simulated for "
            "them: simulate the same times"
        )
    ZW, ZZ, Zt = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    for (_, measured), (_, simulated) in zip(rows.pieces(), instruments.pieces(), strict=True):
        start = rows.shared
        for W, Z, s in zip(measured, simulated, sigma, strict=True):
            count = W.shape[1] - 1 - rows.shared
            places = [*range(rows.shared), *range(start, start + count)]
            block = np.ix_(places, places)
            ZW[block] += Z[:, :-1].T @ W[:, :-1] / s**2
            ZZ[block] += Z[:, :-1].T @ Z[:, :-1] / s**2
            Zt[places] += Z[:, :-1].T @ W[:, -1] / s**2
            start += count
    scales = np.where(kept, 1.0 / np.sqrt(np.maximum(np.diag(ZZ), np.finfo(float).tiny)), 0.0)
    scaled = (ZW * scales[:, None] * scales)[np.ix_(kept, kept)]
    if not kept.any() or np.linalg.cond(scaled) > _SINGULAR:
        raise DynError("the motion that was simulated does not excite all parameters: use least squares")
    inverse = np.zeros((p, p))
    inverse[np.ix_(kept, kept)] = np.linalg.inv(scaled)
    inverse = inverse * scales[:, None] * scales
    return InstrumentalSolution(inverse @ Zt, inverse, inverse @ ZZ @ inverse.T)


_SINGULAR = 1e12
