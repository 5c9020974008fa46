# SPDX-License-Identifier: Apache-2.0
"""Smooth Fourier motions: their derivatives, ends and limits."""

from __future__ import annotations

import numpy as np
import pytest
from depth import some
from excitation_robots import joint, limit, robot_of
from five_bar import five_bar
from refusals import refused, replaced
from robots import ROBOTS, example, loop_robot

import dyn_core
from dyn_core.control.trajectories.fourier_motion import ClosedMotions, FourierMotion, rich_motion
from dyn_core.control.trajectories.piecewise_polynomials import Motion


def lift(*limits: float) -> dyn_core.Model:
    """Return a load of 2 kg on a slope, with a range, a speed limit and an effort limit."""
    return dyn_core.compile_model(robot_of(joint(1, "prismatic", "0 0 1", limit(*limits))), backend="python")


@pytest.fixture
def motion() -> FourierMotion:
    draw = np.random.default_rng(3).uniform
    return FourierMotion(5.0, np.array([0.3, -1.0]), draw(0.1, 0.4, (3, 2)), draw(0.0, 6.0, (3, 2)))


def test_derivatives_agree_with_the_position(motion: FourierMotion) -> None:
    """Also across the ends and where the window changes."""
    t = np.linspace(-0.5, 5.5, 1201)
    h = 1e-5
    before, here, after = (motion.at_many(t + s) for s in (-h, 0.0, h))
    np.testing.assert_allclose(here.qd, (after.q - before.q) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(here.qdd, (after.qd - before.qd) / (2 * h), atol=2e-4)


def test_one_harmonic_by_hand() -> None:
    """In the middle the window is 1, and the position is 0.5 + 0.2 sin(2 pi t / 4 + 0.1)."""
    motion = FourierMotion(4.0, np.array([0.5]), np.array([[0.2]]), np.array([[0.1]]))
    w, s, c = np.pi / 2, 0.2 * np.sin(np.pi + 0.1), 0.2 * np.cos(np.pi + 0.1)
    np.testing.assert_allclose(motion.at(2.0), [[0.5 + s], [w * c], [-w * w * s]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("t", [-3.0, 0.0, 5.0, 7.5])
def test_the_motion_rests_at_the_centre_before_and_after(motion: FourierMotion, t: float) -> None:
    q, qd, qdd = motion.at(t)
    np.testing.assert_allclose(q, motion.centre, atol=1e-15)
    np.testing.assert_allclose((qd, qdd), 0.0, atol=1e-12)


def test_scaled_joint_by_joint(motion: FourierMotion) -> None:
    t = np.linspace(0.0, 5.0, 50)
    moved, other = (one.at_many(t).q - motion.centre for one in (motion, motion.scaled([0.5, 0.0])))
    np.testing.assert_allclose(other, moved * [0.5, 0.0])


@pytest.mark.parametrize("duration", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_a_rich_motion_is_within_all_limits(name: str, duration: float) -> None:
    robot = example(name)
    model = dyn_core.compile_model(robot)
    t = np.linspace(0.0, duration, 3001)  # other times than those of the limit check: 1 % may be between them
    motion = rich_motion(model, duration).at_many(t)
    torques = model.inverse_dynamics(*motion)
    for j, limits in enumerate(one.limits for one in robot.independent_joints):
        assert np.ptp(motion.q[:, j]) > 0.02, "it moves"
        assert limits.lower is None or motion.q[:, j].min() > limits.lower
        assert limits.upper is None or motion.q[:, j].max() < limits.upper
        assert np.abs(motion.qd[:, j]).max() <= 0.707 * limits.velocity
        assert np.abs(torques[:, j]).max() <= 0.707 * limits.effort


LOOPED = ["akr3000", "delta", "five_bar", "gough_stewart", "palletizer", "sr400"]


@pytest.mark.parametrize("name", some(LOOPED, "five_bar", "sr400"))
def test_a_rich_motion_keeps_loops_closed_and_passive_joints_within_limits(name: str) -> None:
    robot = loop_robot(name)
    model = dyn_core.compile_model(robot)
    motion = rich_motion(model, 4.0).at_many(np.linspace(0.0, 4.0, 3001))
    _, speeds = model.solve_loops(motion.q, motion.qd, limits=True)
    assert (np.ptp(motion.q, axis=0) > 0.02).all(), "it moves"
    assert model.loop_condition(motion.q).max() < 100.0
    for k, passive_name in enumerate(robot.passive_joint_names):
        assert np.abs(speeds[:, k]).max() <= 0.707 * (robot.joint(passive_name).limits.velocity or np.inf)
    limits = np.array([one.limits.effort or np.inf for one in robot.independent_joints])
    assert (np.abs(model.inverse_dynamics(*motion)).max(axis=0) <= 0.707 * limits).all()


def test_a_five_bar_with_narrow_limits_moves_less() -> None:
    """The left elbow has a range of 0.5 rad instead of 2.7 rad."""
    text = (ROBOTS / "five_bar.urdf").read_text()

    def bar(lower: str, upper: str) -> dyn_core.Model:
        changed = replaced(text, 'lower="0.1" upper="2.8"', f'lower="{lower}" upper="{upper}"')
        return dyn_core.compile_model(dyn_core.load_robot(changed, loops=ROBOTS / "five_bar.yaml"))

    model = bar("1.05", "1.55")
    motion = rich_motion(model, 4.0)
    ratio = motion.amplitudes / rich_motion(bar("0.1", "2.8"), 4.0).amplitudes
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert 0.05 < ratio[0, 0] < 0.9
    left = model.solve_loops(motion.at_many(np.linspace(0.0, 4.0, 3001)).q, limits=True)[:, 0]
    assert np.abs(left - 1.3).max() <= 0.45 * 0.5 + 1e-3
    with refused("loops-open-near-assembly", robot="five_bar") as caught:
        rich_motion(bar("1.5", "2.8"), 4.0)
    assert "'left_elbow'" in caught.value.values["cause"]


def ratios(name: str, duration: float, **parts: float) -> np.ndarray:
    """Ratios of the amplitudes of the joints because of limits."""
    model = dyn_core.compile_model(example(name))
    free = rich_motion(model, duration, part_of_speed=100.0, part_of_effort=100.0)
    bounded = rich_motion(model, duration, **{"part_of_speed": 100.0, "part_of_effort": 100.0, **parts})
    ratio = bounded.amplitudes / free.amplitudes
    np.testing.assert_allclose(ratio, ratio[:1].repeat(len(ratio), 0))
    return ratio[0]


def test_a_speed_limit_reduces_the_amplitude_of_its_joint() -> None:
    ratio = ratios("two_branch", 12.0, part_of_speed=0.5)
    assert ratio.min() < 0.9 < ratio.max() == 1.0


def test_an_effort_limit_reduces_all_amplitudes_alike() -> None:
    ratio = ratios("rx90", 4.0, part_of_effort=0.7)
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0.05 < ratio[0] < 0.9


def test_the_centre_is_near_zero_within_the_range() -> None:
    motion = rich_motion(lift(0.1, 0.3, 1.0, 500.0), 10.0)
    assert motion.centre[0] == pytest.approx(0.2)
    farthest = np.abs(motion.at_many(np.linspace(0.0, 10.0, 5000)).q - 0.2).max()
    assert farthest == pytest.approx(0.45 * 0.2, rel=1e-3)


def test_a_joint_that_cannot_hold_its_weight_is_named() -> None:
    """18.07 N are needed, and 70 % of 22 N are allowed."""
    with refused("effort-limits-too-low", joint="j1", unit="N", limit=22.0):
        rich_motion(lift(-1.0, 1.0, 1.0, 22.0), 4.0)


LEVEL = """<robot name="arm"><link name="base"/>
<link name="tip"><inertial><origin xyz="1 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="2" effort="{}"/></joint></robot>"""


def test_an_arm_that_gravity_loads_too_much_at_zero_moves_elsewhere() -> None:
    """At zero it is level. At the centre half of the efforts is left, and no more than is needed."""
    strong, weak = (dyn_core.compile_model(dyn_core.load_robot(LEVEL.format(effort))) for effort in (60, 12))
    assert rich_motion(strong, 2.0).centre.tolist() == [0.0]
    motion = rich_motion(weak, 2.0)
    load = abs(weak.gravity_torques(motion.centre)[0])
    assert 0.3 * 0.7 * 12.0 < load <= 0.5 * 0.7 * 12.0
    q, qd, qdd = motion.at_many(np.linspace(0.0, 2.0, 101))
    assert np.abs(weak.inverse_dynamics(q, qd, qdd)).max() <= 0.7 * 12.0
    assert np.ptp(q) > 0.1


def test_limits_of_zero_mean_no_limit() -> None:
    motion = rich_motion(lift(-1.0, 1.0, 0.0, 0.0), 4.0)
    assert np.abs(motion.at_many(np.linspace(0.0, 4.0, 400)).q).max() > 0.1


def test_a_motion_is_extrapolated_with_its_acceleration() -> None:
    motion = Motion(np.array([1.0]), np.array([2.0]), np.array([-4.0]))
    for dt in (0.5, -0.5):
        q, qd, qdd = motion.carried(dt)
        assert (q[0], qd[0], qdd[0]) == (1.0 + 2.0 * dt - 2.0 * dt * dt, 2.0 - 4.0 * dt, -4.0)
    assert motion.carried(0.0) is motion


@pytest.mark.parametrize("q", [[-0.5, 0.9], [-0.9, 0.5]])
def test_passive_joints_keep_a_part_of_their_range(q: list[float]) -> None:
    """One elbow is in the middle of its range, the other one at two thirds of the way to an end."""
    passive = dyn_core.compile_model(five_bar(), backend="python").solve_loops(q)
    left, right = passive[0], -passive[1]
    width = abs(left - right)
    middle = right if q[0] == -0.5 else left
    robot = five_bar(elbow=(middle - 1.5 * width, middle + 1.5 * width))
    model = dyn_core.compile_model(robot, backend="python")
    still = FourierMotion(1.0, np.array(q), np.zeros((1, 2)), np.zeros((1, 2)))
    for part, is_possible in ((0.6, False), (0.7, True)):
        closed = ClosedMotions(model, part_of_range=part, part_of_speed=1.0)
        assert (closed.problem(still, np.zeros(1)) is None) is is_possible
