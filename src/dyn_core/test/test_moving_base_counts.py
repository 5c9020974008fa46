# SPDX-License-Identifier: Apache-2.0
"""Operations of robots on a moving base grow linearly with the number of joints."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_operation_counts import chain

from dyn_core.linalg.transform import IDENTITY
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.moving_base.dynamics_programs import base_program
from dyn_core.robot.moving_base import moving_base


def operations(n: int, kind: BaseKind, function: str) -> int:
    """Multiplications and additions for a chain of n joints."""
    tree = replace(chain(n), link_frames=(LinkFrame("base", 0, IDENTITY),))
    counts = base_program(moving_base(tree, kind), function).operation_counts
    return counts["mul"] + counts["add"]


@pytest.mark.parametrize(
    ("function", "least"),
    [
        ("inverse_dynamics", 260),
        ("forward_dynamics", 460),
        ("inverse_dynamics_given_base", 190),
        ("forward_dynamics_given_base", 460),
        ("momentum", 150),
    ],
)
@pytest.mark.parametrize("kind", ["free", "planar"])
def test_linear(kind: BaseKind, function: str, least: int) -> None:
    """One joint more costs as much in a long chain as in a short one."""
    totals = {n: operations(n, kind, function) for n in (12, 16, 20, 28, 32)}
    per_joint = (totals[32] - totals[28]) / 4
    assert abs((totals[20] - totals[16]) / 4 - per_joint) <= 1.0, totals
    assert abs((totals[16] - totals[12]) / 4 - per_joint) <= 1.0, totals
    assert 0.5 * least < per_joint < least, totals
