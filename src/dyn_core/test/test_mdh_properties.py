# SPDX-License-Identifier: Apache-2.0
"""Any placement has six parameters, and they give it back."""

from __future__ import annotations

import math

import numpy as np
from properties import examples, given, hypothesis, st

from dyn_core.geometry.tolerance import ROUNDING
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh
from dyn_core.symbolic.transform import rotation_from_rpy

QUARTER = math.pi / 2
angles = st.sampled_from([0.0, QUARTER, -QUARTER, math.pi, 1.5708]) | st.floats(-3.1, 3.1)
lengths = st.sampled_from([0.0, 0.5, -0.25]) | st.floats(-2.0, 2.0)


TILT = 9.519817893059877e-08


@examples(300)
@hypothesis.example(rpy=(TILT, TILT, TILT), p=(0.5, 0.5, 0.0))
@hypothesis.example(rpy=(-TILT, 0.0, -TILT), p=(1.0, 0.0, 1.0))
@hypothesis.example(rpy=(0.0, 1e-11, 0.0), p=(6e-24, 0.5, 0.5))
@given(rpy=st.tuples(angles, angles, angles), p=st.tuples(lengths, lengths, lengths))
def test_every_placement_has_six_parameters(rpy, p) -> None:
    R = rotation_from_rpy(*rpy)
    mdh = mdh_from_transform(R, p)
    T = transform_from_mdh(mdh)
    np.testing.assert_allclose(
        T.R, R, rtol=0.0, atol=1.1 * ROUNDING
    )  # angles that close to k pi/2 are made it
    # The rounding of b and r where they cancel, and what is made 0 as it is rounding of p.
    size = max(1.0, abs(mdh.b), abs(mdh.r), 1.5 * max(map(abs, p)))
    np.testing.assert_allclose(T.p, p, rtol=0.0, atol=ROUNDING * size)
    assert mdh.d >= 0.0
