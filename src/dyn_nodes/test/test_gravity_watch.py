# SPDX-License-Identifier: Apache-2.0
"""Contradictions between torques and motion: found for wrong drives, and not for right ones.

Arms are random. Their models are off by 20 %, and they move, are pushed, and touch things.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dyn_core import Model, Robot, SimulationSettings, Simulator, compile_model, load_robot, with_model_error
from dyn_core.control.laws.inverse_dynamics_control import TrackingGains, computed_torque
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_nodes.feedforward.drive_share import DriveShare
from dyn_nodes.feedforward.gravity_watch import Contradiction

PERIOD_S = 0.004
GRAVITY = frozenset({"gravity"})
NONE: frozenset[str] = frozenset()
FUNCTIONS = ("inertial_torques", "coriolis_torques", "gravity_torques", "friction_torques")


def random_arm(seed: int) -> str:
    """Return an arm with 3 to 6 joints and lighter links towards its tip, on a horizontal floor."""
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 7))
    parts = ['<link name="l0"/>']
    for k in range(1, count + 1):
        length, mass = random.uniform(0.1, 0.45), 12.0 * 0.6**k * random.uniform(0.6, 1.5)
        inertia = mass * (length**2 + 0.01) / 12.0
        axis = ("0 0 1", "0 1 0", "0 1 0", *random.choice(["1 0 0", "0 1 0", "0 0 1"], 4))[k - 1]
        weight = 9.81 * mass * length
        at = f"0 0 {length:.4f}" if k > 1 else "0 0 0.1"
        parts.append(
            f"""<link name="l{k}"><inertial><origin xyz="0.02 0 {0.5 * length:.4f}"/>
            <mass value="{mass:.4f}"/><inertia ixx="{inertia:.5f}" iyy="{inertia:.5f}"
            izz="{0.3 * inertia:.5f}" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/>
            <origin xyz="{at}"/><axis xyz="{axis}"/><limit lower="-6" upper="6" velocity="6" effort="2000"/>
            <dynamics damping="{0.05 * weight:.4f}" friction="{0.05 * weight:.4f}"
            armature="{random.uniform(0.0, 1.0) * mass * length**2:.5f}"/></joint>"""
        )
    return f'<robot name="arm{seed}">{"".join(parts)}</robot>'


@cache
def arm(seed: int) -> tuple[Robot, Model]:
    robot = load_robot(random_arm(seed))
    return robot, compile_model(robot, "runtime", functions=(*FUNCTIONS, "inertia_matrix"))


class Scene:
    """An arm under computed torque, its drive, and the watch of a node."""

    def __init__(
        self,
        seed: int,
        says: frozenset[str],
        adds: frozenset[str],
        frequency: float = 2.0,
        error: float = 0.2,
    ) -> None:
        robot, self.model = arm(seed)
        self.random = np.random.default_rng(seed + 1)
        real = with_model_error(robot, error, seed) if error else robot
        n = robot.dof
        self.start = self.random.uniform(0.3, 1.2, n) * self.random.choice([-1.0, 1.0], n)
        names = robot.coordinate_names
        settings = SimulationSettings(step=PERIOD_S, substeps=2, position_limits=False)
        self.robot = Simulator(real, settings, None, dict(zip(names, self.start.tolist(), strict=True)))
        self.added = compile_model(real, functions=("gravity_torques",)) if "gravity" in adds else None
        self.share = DriveShare(self.model, None, says, np.full(n, 0.02), base_moves=False)
        watch = self.share.made_watch(adds_gravity="gravity" in says)
        assert watch is not None
        self.watch = watch
        self.gains = TrackingGains.of_frequency(names, frequency)
        self.t, self.sent = 0.0, np.zeros(n)
        self.size = 0.0
        self.rates = self.random.uniform(0.5, 4.0, n)
        self.link = robot.link_names[-1]

    def desired(self) -> Motion:
        """Return the motion of sines that begin at rest."""
        a, w, t = self.size, self.rates, self.t
        fade, slope = 1.0 - np.exp(-2.0 * t), 2.0 * np.exp(-2.0 * t)
        bend = -2.0 * slope
        s, c = np.sin(w * t), np.cos(w * t)
        q = self.start + a * fade * s
        return Motion(
            q, a * (slope * s + fade * w * c), a * (bend * s + 2 * slope * w * c - fade * w * w * s)
        )

    def push(self, force: NDArray[np.float64]) -> None:
        self.robot.set_wrenches({self.link: np.concatenate((force, np.zeros(3)))})

    def run(self, seconds: float, *, ramp: float = 0.0) -> Contradiction | None:
        """Let time pass, at most until a contradiction is found; `ramp` is of the first torques."""
        watch = self.watch
        for _ in range(round(seconds / PERIOD_S)):
            state = self.robot.state
            q = np.round(state.q, 5)
            watch.take(self.t, q, self.sent, settled=self.t >= ramp)
            desired = self.desired()
            motion = computed_torque(desired, q, state.qd, self.gains)
            total = self.share.of(motion, desired.qd).total
            self.sent = total * min(1.0, self.t / ramp) if ramp else total
            added = 0.0 if self.added is None else self.added.gravity_torques(state.q)
            self.robot.set_effort(self.sent + added)
            self.robot.step()
            self.t += PERIOD_S
            found = watch.look()
            if found is not None:
                return found
        return None


RIGHT = [(NONE, NONE), (GRAVITY, GRAVITY)]
WRONG = [(NONE, GRAVITY), (GRAVITY, NONE)]


def quiet(seed: int, says: frozenset[str], adds: frozenset[str]) -> None:
    """Rest, move, be pushed for long and shortly, and lean on something, with a model that is off by 20 %."""
    scene = Scene(seed, says, adds)
    assert scene.run(0.5) is None, "at rest"
    scene.size = float(scene.random.uniform(0.2, 0.8))
    scene.t = 0.0
    scene.watch.restart()
    assert scene.run(2.0) is None, "in motion"
    weight = float(np.abs(scene.model.gravity_torques(scene.start)).max())
    for _ in range(4):
        scene.push(scene.random.normal(size=3) * weight)
        assert scene.run(float(scene.random.choice([0.05, 0.5, 2.0]))) is None, "pushed"
        scene.push(np.zeros(3))
        assert scene.run(0.3) is None, "let go"


@pytest.mark.promise("gravity-contradiction-quiet")
@pytest.mark.parametrize(("says", "adds"), RIGHT)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_found_with_the_right_drive(seed: int, says: frozenset[str], adds: frozenset[str]) -> None:
    quiet(seed, says, adds)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("says", "adds"), RIGHT)
@pytest.mark.parametrize("seed", range(100, 200))
def test_nothing_is_found_with_the_right_drive_of_many(
    seed: int, says: frozenset[str], adds: frozenset[str]
) -> None:
    quiet(seed, says, adds)


def found_after(scene: Scene, seconds: float = 1.0, ramp: float = 0.0) -> float:
    """Return after how long a contradiction is found (s), and check that it is the right one."""
    found = scene.run(seconds, ramp=ramp)
    assert found is not None
    assert found.is_added is (scene.added is not None)
    return scene.t


@pytest.mark.promise("gravity-contradiction")
@pytest.mark.parametrize(("says", "adds"), WRONG)
@pytest.mark.parametrize("frequency", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_wrong_drive_is_found_within_a_second(
    seed: int, frequency: float, says: frozenset[str], adds: frozenset[str]
) -> None:
    """Also with a ramp, and with feedback that holds the arm; with a model that is off by 20 %."""
    for ramp in (0.0, 0.5):
        assert found_after(Scene(seed, says, adds, frequency), 1.0, ramp) <= 1.0


@pytest.mark.exhaustive
@pytest.mark.parametrize("ramp", [0.0, 0.5])
@pytest.mark.parametrize("frequency", [0.0, 2.0, 5.0])
@pytest.mark.parametrize(("says", "adds"), WRONG)
def test_the_wrong_drive_of_many_arms_is_found(
    says: frozenset[str], adds: frozenset[str], frequency: float, ramp: float
) -> None:
    """Not all: with little gravity beside their friction, some fall over before they are judged."""
    scenes = [Scene(seed, says, adds, frequency) for seed in range(100, 200)]
    found = [scene.run(1.0, ramp=ramp) for scene in scenes]
    times = np.array([scene.t if one else np.inf for scene, one in zip(scenes, found, strict=True)])
    print(np.percentile(times, [0, 50, 90, 95], method="lower"), np.isinf(times).sum())
    assert np.isinf(times).sum() <= 10
    assert all(one is None or one.is_added is ("gravity" in adds) for one in found)


@pytest.mark.promise("gravity-contradiction")
@pytest.mark.parametrize(("says", "adds"), WRONG)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_drive_that_is_switched_on_later_is_found(
    seed: int, says: frozenset[str], adds: frozenset[str]
) -> None:
    """Brakes hold the arm for a second, while torques are sent."""
    scene = Scene(seed, says, adds, 0.0)
    watch, held = scene.watch, scene.robot.state.q.copy()
    still = Motion.at_rest(held)
    for _ in range(250):
        watch.take(scene.t, held, scene.sent, settled=True)
        scene.sent = scene.share.at_rest(still).total
        assert watch.look() is None
        scene.t += PERIOD_S
    assert found_after(scene) <= 2.0
