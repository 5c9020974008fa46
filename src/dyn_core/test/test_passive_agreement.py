# SPDX-License-Identifier: Apache-2.0
"""What a message says of passive joints, against what the loops say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core import DynError
from dyn_core.control.passive_agreement import TOLERANCE, PassiveAgreement

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
Q = np.array([[-0.6, 0.7], [-0.5, 0.8], [-0.7, 0.5]])


def robot_with_loops(name: str) -> dyn_core.Robot:
    path = ROBOTS / f"{name}.urdf"
    return dyn_core.load_robot(str(path), loops=str(path.with_suffix(".yaml")))


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    return robot_with_loops("five_bar")


@pytest.fixture(scope="module")
def agreement(robot: dyn_core.Robot) -> PassiveAgreement:
    return PassiveAgreement(robot)


@pytest.fixture(scope="module")
def passive(robot: dyn_core.Robot) -> np.ndarray:
    found = dyn_core.compile_model(robot).solve_loops(Q)
    assert isinstance(found, np.ndarray)
    return found


def test_what_follows_agrees(agreement: PassiveAgreement, passive: np.ndarray) -> None:
    assert agreement.names == ("left_elbow", "right_elbow")
    agreement.check(Q, agreement.names, passive)
    agreement.check(Q, agreement.names[::-1], passive[:, ::-1])
    agreement.check(Q, ["right_elbow"], passive[:, 1:] + 0.99 * TOLERANCE)
    agreement.check(Q, [], passive[:, :0])
    agreement.check(
        Q, agreement.names, passive + np.array([[0.0, 4.0 * math.pi], [-2.0 * math.pi, 0.0], [0.0, 0.0]])
    )


def test_the_worst_contradiction_is_told(agreement: PassiveAgreement, passive: np.ndarray) -> None:
    given = passive.copy()
    given[1, 1] -= 0.02
    given[2, 0] += 0.05
    with pytest.raises(DynError) as refused:
        agreement.check(Q, agreement.names, given)
    assert str(refused.value) == (
        f"passive joint 'left_elbow' is given {given[2, 0]:.4g} rad, point 2, and the loops put it at "
        f"{passive[2, 0]:.4g} rad, 0.05 rad away, where 0.01 rad are let pass: leave passive joints out, or "
        "give what follows from the actuated ones"
    )
    with pytest.raises(DynError, match=r"'right_elbow' is given nan rad, and the loops"):
        agreement.check(Q[:1], ["right_elbow"], np.array([[math.nan]]))


def test_another_assembly_mode_contradicts(robot: dyn_core.Robot, agreement: PassiveAgreement) -> None:
    """The tip below the elbows: the loop is closed there, too."""
    other = dyn_core.compile_model(robot).solve_loops(Q[0], guess={"left_elbow": 2.8, "right_elbow": -2.8})
    with pytest.raises(DynError, match=r"passive joint '(left|right)_elbow' is given"):
        agreement.check(Q[:1], agreement.names, np.atleast_2d(other))


def test_where_loops_are_open_nothing_is_said(tmp_path: Path) -> None:
    side = tmp_path / "short.yaml"
    side.write_text((ROBOTS / "five_bar.yaml").read_text().replace("0.55]", "0.4]"))
    short = PassiveAgreement(dyn_core.load_robot(str(ROBOTS / "five_bar.urdf"), loops=str(side)))
    short.check(np.array([[-1.5, 1.5]]), short.names, np.zeros((1, 2)))
    with pytest.raises(DynError, match="passive joint"):
        short.check(np.array([[-0.6, 0.6]]), short.names, np.zeros((1, 2)))


def test_a_robot_without_loops_has_no_passive_joints() -> None:
    agreement = PassiveAgreement(dyn_core.load_robot(str(ROBOTS / "rx90.urdf")))
    assert agreement.names == ()
    agreement.check(np.zeros((1, 6)), (), np.zeros((1, 0)))


@pytest.mark.parametrize("name", ["sr400", "delta", "gough_stewart"])
def test_prismatic_and_linear_joints(name: str) -> None:
    robot = robot_with_loops(name)
    model, agreement = dyn_core.compile_model(robot), PassiveAgreement(robot)
    from dyn_core.control.closed_motion import assembly

    q = assembly(robot)[None] + 0.01
    passive = model.solve_loops(q)
    agreement.check(q, agreement.names, passive)
    for k, joint in enumerate(agreement.names):
        wrong = passive.copy()
        wrong[0, k] += 0.02
        with pytest.raises(DynError, match=f"passive joint '{joint}' is given"):
            agreement.check(q, agreement.names, wrong)
