# SPDX-License-Identifier: Apache-2.0
"""The last thing that torques go through before they are published, whatever they are made from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.vectors import is_finite
from dyn_nodes.rejection import Rejection


def passed(torques: NDArray[np.float64], limits: EffortLimits) -> NDArray[np.float64]:
    """Answer torques (N m or N), (n,) or (N, n), of which none is above its limit.

    Raises:
        Rejection: the shape is not that of the joints, or a torque is not finite.
    """
    if limits.within(torques):
        return torques
    if torques.shape[-1:] != limits.limits.shape:
        raise Rejection(f"torques have the shape {torques.shape} for {len(limits.joint_names)} joints")
    if not is_finite(torques):
        k = int(np.flatnonzero(~np.isfinite(torques))[0]) % len(limits.joint_names)
        joint = limits.joint_names[k]
        raise Rejection(f"the torque of joint '{joint}' is not finite", f"torque of '{joint}' not finite")
    return np.minimum(np.maximum(torques, -limits.limits), limits.limits)
