# SPDX-License-Identifier: Apache-2.0
"""Positions of passive joints in messages must agree with the loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused
from robots import ROBOTS, example, loop_robot

import dyn_core
from dyn_core.control.trajectories.fourier_motion import assembly
from dyn_core.control.trajectories.loop_positions import TOLERANCE, PassiveAgreement

Q = np.array([[-0.6, 0.7], [-0.5, 0.8], [-0.7, 0.5]])


FIVE_BAR = loop_robot("five_bar")


@pytest.fixture(scope="module")
def agreement() -> PassiveAgreement:
    return PassiveAgreement(FIVE_BAR)


@pytest.fixture(scope="module")
def passive() -> np.ndarray:
    found = dyn_core.compile_model(FIVE_BAR).solve_loops(Q)
    assert isinstance(found, np.ndarray)
    return found


def test_positions_that_close_the_loops_are_accepted(
    agreement: PassiveAgreement, passive: np.ndarray
) -> None:
    assert agreement.names == ("left_elbow", "right_elbow")
    agreement.check(Q, agreement.names, passive)
    agreement.check(Q, agreement.names[::-1], passive[:, ::-1])
    agreement.check(Q, ["right_elbow"], passive[:, 1:] + 0.99 * TOLERANCE)
    agreement.check(Q, [], passive[:, :0])
    turns = 2.0 * math.pi * np.array([[0.0, 2.0], [-1.0, 0.0], [0.0, 0.0]])
    agreement.check(Q, agreement.names, passive + turns)
    without_loops = PassiveAgreement(example("rx90"))
    assert without_loops.names == ()
    without_loops.check(np.zeros((1, 6)), (), np.zeros((1, 0)))


def test_the_worst_contradiction_is_reported(agreement: PassiveAgreement, passive: np.ndarray) -> None:
    given = passive.copy()
    given[1, 1] -= 0.02
    given[2, 0] += 0.05
    with refused("passive-point-contradicts-loops", joint="left_elbow", unit="rad", point=2) as caught:
        agreement.check(Q, agreement.names, given)
    values = caught.value.values
    assert (values["given"], values["expected"]) == pytest.approx((given[2, 0], passive[2, 0]))
    assert (values["difference"], values["tolerance"]) == pytest.approx((0.05, 0.01))
    with refused("passive-position-contradicts-loops", joint="right_elbow", unit="rad"):
        agreement.check(Q[:1], ["right_elbow"], np.array([[math.nan]]))
    # With the tip below the elbows, the loop is closed, too.
    elbows = {"left_elbow": 2.8, "right_elbow": -2.8}
    other = dyn_core.compile_model(FIVE_BAR).solve_loops(Q[0], guess=elbows)
    with refused("passive-position-contradicts-loops"):
        agreement.check(Q[:1], agreement.names, np.atleast_2d(other))


def test_where_loops_are_open_all_positions_are_accepted() -> None:
    side = (ROBOTS / "five_bar.yaml").read_text().replace("0.55]", "0.4]")
    short = PassiveAgreement(example("five_bar", loops=side))
    short.check(np.array([[-1.5, 1.5]]), short.names, np.zeros((1, 2)))
    with refused("passive-position-contradicts-loops"):
        short.check(np.array([[-0.6, 0.6]]), short.names, np.zeros((1, 2)))


@pytest.mark.parametrize("name", ["sr400", "delta", "gough_stewart"])
def test_prismatic_and_linear_joints(name: str) -> None:
    robot = loop_robot(name)
    model, agreement = dyn_core.compile_model(robot), PassiveAgreement(robot)
    q = assembly(robot)[None] + 0.01
    passive = model.solve_loops(q)
    agreement.check(q, agreement.names, passive)
    for k, joint in enumerate(agreement.names):
        wrong = passive.copy()
        wrong[0, k] += 0.02
        with refused("passive-position-contradicts-loops", joint=joint):
            agreement.check(q, agreement.names, wrong)
