# SPDX-License-Identifier: Apache-2.0
"""References that name passive joints beside the actuated ones."""

from __future__ import annotations

import numpy as np

from dyn_core import DynError
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_nodes.motion_message import GivenMotion
from dyn_nodes.rejection import Rejection


def check_passive(agreement: PassiveAgreement, given: GivenMotion) -> None:
    """Refuse a reference whose passive joints are elsewhere than the loops put them, with a Rejection."""
    if not given.passive:
        return
    names, values = zip(*given.passive.items(), strict=True)
    try:
        agreement.check(given.q[np.newaxis], names, np.array([values]))
    except DynError as problem:
        raise Rejection(
            f"the reference cannot be used: {problem}", "passive joints are not where the loops put them"
        ) from problem
