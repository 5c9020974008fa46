# SPDX-License-Identifier: Apache-2.0
"""Whatever a robot is, checking it ends in findings."""

from __future__ import annotations

import re
import warnings

import numpy as np
from properties import examples, given, st
from random_urdf import random_urdf

from dyn_core import Severity, check_robot


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    joints=st.integers(0, 12),
    leaves=st.booleans(),
    snap=st.sampled_from(["digits", 0, 0.01]),
    scale=st.sampled_from(["", "e-300", "e-9", "e9", "e25"]),
)
def test_random_robots_are_checked_without_complaint(
    seed: int, joints: int, leaves: bool, snap: float, scale: str
) -> None:
    text = random_urdf(seed, joints, leaves)
    text = re.sub(r'(ixx|ixy|ixz|iyy|iyz|izz|value)="([-0-9.]+)(?:e-?\d+)?"', rf'\1="\2{scale}"', text)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        findings = check_robot(text, snap=snap)  # type: ignore[arg-type]
    for finding in findings:
        assert str(finding).isprintable()
        assert "nan" not in finding.message
        assert finding.severity in Severity
