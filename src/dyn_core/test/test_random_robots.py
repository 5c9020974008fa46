# SPDX-License-Identifier: Apache-2.0
"""All functions of random chains and trees agree with Pinocchio, and with one another in all backends.

Any mix of joint types and axes, fixed joints, links without mass, joints that mimic others, 1 to 20 joints.
"""

from __future__ import annotations

from agreement import findings
from properties import examples, given, st
from random_drives import random_driven_urdf
from random_urdf import random_urdf

import dyn_core

seeds = st.integers(0, 2**32 - 1)


MOST = 600
"""Results of the largest programs that are compiled here: regressors of 6 joints."""


def missed(urdf: str, compiled: bool) -> list[str]:
    """Findings, as text, that miss their bars."""
    robot = dyn_core.load_robot(urdf, snap=0)
    found = findings(urdf, robot, 2, lambda program: compiled and len(program.results) <= MOST, floor=1e-3)
    return [str(finding) for finding in found if finding.missed]


@examples(30)
@given(seed=seeds, joints=st.integers(1, 20), chain=st.booleans())
def test_functions_agree_with_pinocchio(seed: int, joints: int, chain: bool) -> None:
    assert missed(random_urdf(seed, joints, chain=chain), compiled=False) == []


@examples(20)
@given(seed=seeds, joints=st.integers(2, 20), chain=st.booleans())
def test_functions_agree_where_joints_mimic_others(seed: int, joints: int, chain: bool) -> None:
    assert missed(random_driven_urdf(seed, joints, chain=chain), compiled=False) == []


@examples(4)
@given(seed=seeds, joints=st.integers(1, 10))
def test_compiled_functions_agree_with_python(seed: int, joints: int) -> None:
    assert missed(random_driven_urdf(seed, joints), compiled=True) == []
