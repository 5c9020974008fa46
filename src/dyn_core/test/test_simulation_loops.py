# SPDX-License-Identifier: Apache-2.0
"""Simulated robots with loops: their motion, loops that stay closed, passive joints, and singularities."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from extrapolation import integrated
from five_bar import SIDE, UP, Tree, five_bar, urdf

import dyn_core
from dyn_core import DynError, SimulationSettings, Simulator
from dyn_core.cli.main import main
from dyn_core.simulation.integrators.mechanism import Load
from dyn_core.simulation.integrators.passive_motion import PassiveMotion
from dyn_core.simulation.loop_step import checked_step

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
LOOPS = ("five_bar", "palletizer", "sr400")
BEGIN = [-0.15, 0.1]
FREE = {"position_limits": False, "effort_limits": False}


def example(name: str) -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")


def all_joints(simulator: Simulator) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of actuated, then of passive joints."""
    state, passive = simulator.state, simulator.passive_state
    return np.concatenate((state.q, passive.q)), np.concatenate((state.qd, passive.qd))


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", LOOPS)
def test_accelerations_are_those_of_the_model(name: str, backend: Literal["c", "python"]) -> None:
    robot = example(name)
    random = np.random.default_rng(1)
    one = Simulator(robot, SimulationSettings(backend=backend, friction=False, **FREE))
    model = dyn_core.compile_model(robot, friction=False)
    q = one.state.q + random.uniform(-0.1, 0.1, robot.dof)
    qd, tau = random.uniform(-1.0, 1.0, (2, robot.dof))
    on_link = {robot.link_names[-1]: random.uniform(-5.0, 5.0, 6)}
    one.set_state(q, qd)
    one.set_effort(tau)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics(q, qd, tau), rtol=1e-9)
    one.set_wrenches(on_link)
    expected = model.forward_dynamics(q, qd, tau, wrenches={link: -w for link, w in on_link.items()})
    np.testing.assert_allclose(one.acceleration, expected, rtol=1e-9)
    followed = model.solve_loops(q, qd, expected)
    found = (one.passive_state.q, one.passive_state.qd, one.passive_acceleration)
    for ours, theirs in zip(found, followed, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_the_motion_is_that_of_the_tree_with_a_constraint(integrator: Any) -> None:
    """Pinocchio's tree, with multipliers for the loop, integrated by another method of order 16."""
    damping, tau = 0.05, np.array([3.0, -2.0])
    text = urdf(damping=damping)
    settings = SimulationSettings(1e-3, integrator, substeps=1 if integrator == "rk4" else 20, **FREE)
    simulator = Simulator(dyn_core.load_robot(text, loops=SIDE), settings, qd=[0.5, -0.3])
    simulator.set_effort(tau)
    start = np.concatenate(all_joints(simulator))
    for _ in range(500):
        simulator.step()
    tree = Tree(text, damping)
    expected = integrated(lambda x: tree.derivative(x, tau), start, 0.5, steps=25)
    assert np.abs(expected - start).max() > 1.0  # it moved
    bound = 1e-8 if integrator == "rk4" else 2e-2  # of order 4 and 1, of velocities up to 16 rad/s
    np.testing.assert_allclose(np.concatenate(all_joints(simulator)), expected, atol=bound)


def swinging(steps: int, **options: Any) -> tuple[list[float], float, Simulator]:
    """Energies of a swing without efforts (J), the greatest opening of the loop (m, rad), and the end."""
    tree = Tree(urdf(), 0.0, UP)
    simulator = Simulator(five_bar(gravity=UP, **options), SimulationSettings(1e-3), q=BEGIN)
    energies, largest = [], 0.0
    for k in range(steps):
        if k % 10 == 0:
            energies.append(tree.energy(*all_joints(simulator)))
            passive = simulator.passive_state
            largest = max(largest, passive.gap, passive.turn)
        simulator.step()
    return energies, largest, simulator


def test_energy_is_kept_where_nothing_takes_it_and_loops_stay_closed() -> None:
    energies, largest, simulator = swinging(20_000)
    depth = energies[0] - standing(np.array([0.07, -0.07]))
    assert depth > 0.1  # it does swing
    assert max(energies) - min(energies) < 1e-7 * depth
    assert largest < 1e-13
    assert simulator.state.time == pytest.approx(20.0)


def standing(q: np.ndarray) -> float:
    """Energy at rest (J)."""
    simulator = Simulator(five_bar(gravity=UP), q=q)
    return Tree(urdf(), 0.0, UP).energy(*all_joints(simulator))


@pytest.mark.parametrize("passive_friction", [0.002, 0.05, 5.0])
def test_friction_of_passive_joints_takes_energy_whatever_it_is(passive_friction: float) -> None:
    """Also where its torque is much more than what one step of the velocity can take: no chatter."""
    energies, largest, simulator = swinging(6_000, passive_friction=passive_friction)
    assert np.diff(energies).max() < 1e-9
    assert energies[-1] < energies[0] - 0.02
    assert largest < 1e-13
    if passive_friction > 0.01:
        assert np.abs(all_joints(simulator)[1]).max() < 0.03


def test_friction_of_a_passive_joint_is_its_coulomb_friction() -> None:
    """The energy that it takes is the integral of Fs |qd| of both joints."""
    Fs, h = 0.01, 1e-3
    tree = Tree(urdf(), 0.0, UP)
    simulator = Simulator(five_bar(gravity=UP, passive_friction=Fs), SimulationSettings(h), q=BEGIN)
    first, taken = tree.energy(*all_joints(simulator)), 0.0
    for _ in range(400):
        before = simulator.passive_state.q
        simulator.step()
        taken += Fs * float(np.abs(simulator.passive_state.q - before).sum())
    lost = first - tree.energy(*all_joints(simulator))
    assert lost == pytest.approx(taken, rel=0.02)  # what is missing at speeds of some mrad/s


def test_friction_of_actuated_joints_holds_exactly() -> None:
    simulator = Simulator(five_bar(friction=3.0, passive_friction=0.1), q=[-0.4, 0.4])
    before = simulator.state.q
    for _ in range(200):
        simulator.step()
    np.testing.assert_array_equal(simulator.state.q, before)
    np.testing.assert_array_equal(simulator.passive_state.qd, [0.0, 0.0])


def test_a_parallelogram_is_held_by_its_passive_joints() -> None:
    """They turn as the actuated one does, so that their friction is a part of its own, exactly."""
    robot = parallelogram(friction=1.0, passive_friction=2.0)
    simulator = Simulator(robot)
    start = simulator.state.q
    simulator.set_effort([4.9])  # of 1 + 2 + 2 N m
    simulator.step()
    np.testing.assert_array_equal(simulator.state.q, start)
    simulator.set_effort([5.1])
    simulator.step()
    assert simulator.state.q[0] > start[0]


def parallelogram(friction: float, passive_friction: float) -> dyn_core.Robot:
    """Four bars in the horizontal plane, of which one is turned; the fourth joint, cut, has no friction."""

    def joint(name: str, parent: str, x: float, Fs: float) -> str:
        return (
            f'<link name="{name}_arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
            '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{name}_arm"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/><dynamics friction="{Fs}"/></joint>'
        )

    joints = joint("crank", "base", 0.0, friction) + joint("coupler", "crank_arm", 0.4, passive_friction)
    joints += joint("rocker", "base", 0.5, passive_friction)
    loop = {
        "name": "end",
        "type": "revolute",
        "parent": {"link": "coupler_arm", "xyz": [0.5, 0.0, 0.0]},
        "child": {"link": "rocker_arm", "xyz": [0.4, 0.0, 0.0]},
    }
    assembly = {"crank": 1.0, "coupler": -1.0, "rocker": 1.0}
    side = {"loops": [loop], "passive": ["coupler", "rocker"], "assembly": assembly}
    return dyn_core.load_robot(f'<robot name="bars"><link name="base"/>{joints}</robot>', loops=side)


def run(simulator: Simulator, steps: int) -> None:
    for _ in range(steps):
        simulator.step()


def fall(robot: dyn_core.Robot, steps: int, **settings: Any) -> Simulator:
    simulator = Simulator(robot, SimulationSettings(**settings))
    run(simulator, steps)
    return simulator


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_passive_joints_stop_at_their_limits(integrator: Any) -> None:
    """The left elbow is at 1.2 in the assembly and goes up as the arms fall apart."""
    text = urdf(damping=0.05, elbow=(0.5, 1.4))
    tree = Tree(text, 0.05)
    simulator = Simulator(dyn_core.load_robot(text, loops=SIDE), SimulationSettings(integrator=integrator))
    met: set[str] = set()
    before = tree.energy(*all_joints(simulator))
    for _ in range(3000):
        simulator.step()
        passive = simulator.passive_state
        assert passive.q[0] < 1.4 + 1e-4
        assert passive.q[1] > -1.4 - 1e-4
        assert max(passive.gap, passive.turn) < 1e-13
        energy = tree.energy(*all_joints(simulator))
        assert energy < before + 1e-4
        before = energy
        met.update(simulator.at_stop)
    assert {"left_elbow", "right_elbow"} & met
    assert np.abs(all_joints(simulator)[1]).max() < 0.05  # it lies against them


def test_accelerations_are_those_that_stops_leave() -> None:
    """Five-bar at rest on the stops of its elbows, and while one elbow slides along its stop."""
    simulator = Simulator(example("five_bar"))
    h, off = simulator.settings.step, []
    for _ in range(1200):
        given, before, stopped = simulator.acceleration, simulator.state, simulator.at_stop
        after = simulator.step()
        if len(stopped) == 1 and simulator.at_stop == stopped:
            off.append(float(np.abs(given - (after.qd - before.qd) / h).max()))
    assert len(off) > 20
    # Where a joint comes to rest in a step, it has another acceleration at its beginning.
    assert np.quantile(off, 0.9) < 0.5, off
    assert simulator.at_stop == ("left_elbow", "right_elbow")
    np.testing.assert_allclose(simulator.acceleration, 0.0, atol=1e-6)
    np.testing.assert_allclose(simulator.passive_acceleration, 0.0, atol=1e-6)


def test_passive_joints_pass_their_limits_where_there_are_to_be_none() -> None:
    simulator = fall(five_bar(damping=0.2, elbow=(0.5, 1.4)), 300, position_limits=False)
    assert simulator.passive_state.q[0] > 1.5
    assert simulator.at_stop == ()


def test_a_stop_holds_against_an_actuator() -> None:
    simulator = Simulator(five_bar(damping=0.05, elbow=(0.5, 1.4)))
    simulator.set_effort([-30.0, 30.0])
    for _ in range(2000):
        simulator.step()
    np.testing.assert_allclose(simulator.passive_state.q, [1.4, -1.4], atol=1e-5)
    np.testing.assert_allclose(simulator.state.qd, 0.0, atol=1e-6)
    simulator.set_effort([30.0, -30.0])
    for _ in range(30):
        simulator.step()
    assert simulator.passive_state.q[0] < 1.39


def test_where_loops_do_not_close_the_simulation_ends_with_the_last_state() -> None:
    """The arms fall apart until the rods are stretched."""
    simulator = Simulator(five_bar(), SimulationSettings(position_limits=False))
    with pytest.raises(
        DynError, match=r"cannot go on after 0\.\d+ s: .*left = -1\.\d+.*right = 1\.\d+"
    ) as caught:
        run(simulator, 2000)
    state = simulator.state
    assert 0.1 < state.time < 1.0
    assert f"{state.time:.6g} s" in str(caught.value)
    assert np.abs(state.qd).max() < 50.0
    with pytest.raises(DynError, match="cannot go on"):
        simulator.step()
    simulator.reset()
    simulator.step()
    assert simulator.state.time == pytest.approx(1e-3)


def test_no_step_goes_through_a_singularity() -> None:
    """Without friction, energy would change where it did."""
    tree = Tree(urdf(), 0.0, UP)
    simulator = Simulator(five_bar(gravity=UP), q=[-0.2, 0.4])
    first = tree.energy(*all_joints(simulator))
    with pytest.raises(DynError, match=r"cannot go on after 0\.29\d* s: .*left = 0\.41\d*.*, right = -0\.4"):
        run(simulator, 2000)
    assert abs(tree.energy(*all_joints(simulator)) - first) < 1e-3


@pytest.mark.parametrize(
    ("moved", "passes"),
    [
        (PassiveMotion([0.012], [2.0], [0.1]), False),
        (PassiveMotion([0.012], [2.0], [-0.1]), True),
        (PassiveMotion([3.14], [2.0], [0.1]), True),
        (PassiveMotion([float("nan")], [2.0], [0.1]), True),
    ],
)
def test_singularities_are_seen_by_determinants_and_by_jumps(moved: PassiveMotion, passes: bool) -> None:
    passive = SimpleNamespace(motion=lambda q, qd: moved)
    mechanism: Any = SimpleNamespace(passive=passive, passive_stops=False, joint_names=("left",))
    now = (np.array([0.5]), np.array([1.0]))
    before, load = PassiveMotion([0.01], [2.0], [0.2]), Load(np.zeros(1))
    if passes:
        with pytest.raises(DynError, match=r"passes a singularity of its loops, .* from left = 0\.5:"):
            checked_step(mechanism, now, before, load, 1e-3, now)
    else:
        assert checked_step(mechanism, now, before, load, 1e-3, now) is now


def test_it_begins_in_the_assembly() -> None:
    simulator = Simulator(five_bar())
    np.testing.assert_allclose(simulator.state.q, [-0.5, 0.5], atol=0.2)
    assert simulator.joint_names == ("left", "right")
    assert simulator.passive_joint_names == ("left_elbow", "right_elbow")
    by_name = Simulator(five_bar(), q={"left": -0.4})
    np.testing.assert_array_equal(by_name.state.q, [-0.4, simulator.state.q[1]])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda s: s.set_state([-1.6, 1.6]), DynError, r"do not close at left = -1\.6 rad, right = 1\.6 rad"),
        (lambda s: s.set_state([0.5, 0.5, 0.1, 0.1]), ValueError, r"expected the shape \(2,\)"),
        (lambda s: s.set_state({"left_elbow": 1.0}), DynError, "joint 'left_elbow' is passive, it follows"),
        (lambda s: s.set_effort({"right_elbow": 1.0}), DynError, "joint 'right_elbow' is passive"),
        (
            lambda s: s.set_state([-1.0, 1.0]),
            DynError,
            r"of joint 'left_elbow' is not between its limits 0\.5",
        ),
        (lambda s: s.set_effort({"knee": 1.0}), DynError, "has no joint 'knee'"),
    ],
)
def test_what_is_refused_changes_nothing(call: Any, error: type[Exception], sentence: str) -> None:
    simulator = Simulator(five_bar(elbow=(0.5, 1.4)))
    state = simulator.state
    with pytest.raises(error, match=sentence):
        call(simulator)
    assert simulator.state is state


def test_trees_have_no_passive_state() -> None:
    simulator = Simulator(dyn_core.load_robot(ROBOTS / "rrp.urdf"))
    assert simulator.passive_joint_names == ()
    assert len(simulator.passive_state.q) == len(simulator.passive_acceleration) == 0


def test_the_command_writes_passive_joints_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their columns obey the loop, and the constant efforts of the file moved the robot."""
    out, efforts = tmp_path / "states.csv", tmp_path / "efforts.csv"
    efforts.write_text("time,right_shoulder,left_shoulder,left_elbow\n0,-3,5,0\n0.2,-3,5,0\n")
    robot, loops = (str(ROBOTS / f"five_bar.{suffix}") for suffix in ("urdf", "yaml"))
    command = ["simulate", robot, "--loops", loops, "--effort", str(efforts), "--out", str(out), "--json"]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["passive_joint_names"] == ["left_elbow", "right_elbow"]
    assert max(summary["loop_gap_m"], summary["loop_turn_rad"]) < 1e-13
    with out.open(newline="") as file:
        names, *rows = csv.reader(file)
    columns = dict(zip(names, np.array(rows, dtype=float).T, strict=True))
    assert "effort.left_elbow" not in columns
    actuated, passive = ("left_shoulder", "right_shoulder"), ("left_elbow", "right_elbow")
    motion = [
        np.stack([columns[f"{what}.{joint}"] for joint in actuated], axis=-1)
        for what in ("position", "velocity", "acceleration")
    ]
    model = dyn_core.compile_model(example("five_bar"))
    followed = model.solve_loops(*motion)
    for what, values in zip(("position", "velocity", "acceleration"), followed, strict=True):
        found = np.stack([columns[f"{what}.{joint}"] for joint in passive], axis=-1)
        np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-7)  # of 12 digits
    assert np.ptp(columns["position.left_shoulder"]) > 0.03
    assert summary["passive_position"] == pytest.approx([columns[f"position.{j}"][-1] for j in passive])
