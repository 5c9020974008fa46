# SPDX-License-Identifier: Apache-2.0
"""Simulated robots with loops: motion, closed loops, passive joints, and singularities."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import planar_chains
import pytest
from commands import Command
from extrapolation import integrated
from five_bar import SIDE, UP, Tree, five_bar, urdf
from refusals import refused
from robots import ROBOTS, example, loop_robot
from simulated_motion import run

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_core.simulation.integrators.integration_step import checked_step
from dyn_core.simulation.integrators.mechanism import Load
from dyn_core.simulation.integrators.passive_motion import PassiveMotion

LOOPS, MOTION = ("five_bar", "palletizer", "sr400"), ("position", "velocity", "acceleration")
BEGIN = [-0.15, 0.1]
FREE = {"position_limits": False, "effort_limits": False}


def all_joints(simulator: Simulator) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of actuated, then of passive joints."""
    state, passive = simulator.state, simulator.passive_state
    return np.concatenate((state.q, passive.q)), np.concatenate((state.qd, passive.qd))


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", LOOPS)
def test_accelerations_agree_with_the_model(name: str, backend: Literal["c", "python"]) -> None:
    robot = loop_robot(name)
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
def test_motion_agrees_with_a_constrained_tree(integrator: Any) -> None:
    """Pinocchio's tree, with multipliers for the loop, integrated by another method of order 16."""
    damping, tau = 0.05, np.array([3.0, -2.0])
    text = urdf(damping=damping)
    settings = SimulationSettings(1e-3, integrator, substeps=1 if integrator == "rk4" else 20, **FREE)
    simulator = Simulator(dyn_core.load_robot(text, loops=SIDE), settings, qd=[0.5, -0.3])
    simulator.set_effort(tau)
    start = np.concatenate(all_joints(simulator))
    run(simulator, 500)
    tree = Tree(text, damping)
    expected = integrated(lambda x: tree.derivative(x, tau), start, 0.5, steps=25)
    assert np.abs(expected - start).max() > 1.0  # it moved
    bound = 1e-8 if integrator == "rk4" else 2e-2  # of order 4 and of order 1, at up to 16 rad/s
    np.testing.assert_allclose(np.concatenate(all_joints(simulator)), expected, atol=bound)


def swinging(steps: int, **options: Any) -> tuple[list[float], float, Simulator]:
    """Energies of a swing without efforts (J), the greatest gap of the loop (m, rad), and the final state."""
    tree = Tree(urdf(), 0.0, UP)
    simulator = Simulator(five_bar(gravity=UP, **options), SimulationSettings(1e-3), q=BEGIN)
    energies, largest = [], 0.0
    for k in range(steps):
        if k % 10 == 0:
            energies.append(tree.energy(*all_joints(simulator)))
            largest = max(largest, simulator.passive_state.gap, simulator.passive_state.turn)
        simulator.step()
    return energies, largest, simulator


def test_energy_is_conserved_without_friction_and_loops_stay_closed() -> None:
    energies, largest, simulator = swinging(20_000)
    standing = Simulator(five_bar(gravity=UP), q=[0.07, -0.07])
    depth = energies[0] - Tree(urdf(), 0.0, UP).energy(*all_joints(standing))
    assert depth > 0.1  # the robot swings
    assert max(energies) - min(energies) < 1e-7 * depth
    assert largest < 1e-13
    assert simulator.state.time == pytest.approx(20.0)


@pytest.mark.parametrize("passive_friction", [0.002, 0.05, 5.0])
def test_friction_of_passive_joints_dissipates_energy_at_any_size(passive_friction: float) -> None:
    """Also where its torque exceeds what stops the joint within one step: no chatter."""
    energies, largest, simulator = swinging(6_000, passive_friction=passive_friction)
    assert np.diff(energies).max() < 1e-9
    assert energies[-1] < energies[0] - 0.02
    assert largest < 1e-13
    if passive_friction > 0.01:
        assert np.abs(all_joints(simulator)[1]).max() < 0.03


def test_energy_loss_of_a_passive_joint_is_that_of_coulomb_friction() -> None:
    """The lost energy is the integral of Fs |qd| of both joints."""
    Fs, tree, taken = 0.01, Tree(urdf(), 0.0, UP), 0.0
    simulator = Simulator(five_bar(gravity=UP, passive_friction=Fs), SimulationSettings(1e-3), q=BEGIN)
    first = tree.energy(*all_joints(simulator))
    for _ in range(400):
        before = simulator.passive_state.q
        simulator.step()
        taken += Fs * float(np.abs(simulator.passive_state.q - before).sum())
    lost = first - tree.energy(*all_joints(simulator))
    assert lost == pytest.approx(taken, rel=0.02)  # error at speeds of some mrad/s


def test_friction_holds_a_parallelogram_exactly() -> None:
    """Passive joints of a parallelogram turn like the actuated one: their friction adds to its own."""
    simulator = Simulator(five_bar(friction=3.0, passive_friction=0.1), q=[-0.4, 0.4])
    np.testing.assert_array_equal(run(simulator, 200).q, [-0.4, 0.4])
    np.testing.assert_array_equal(simulator.passive_state.qd, [0.0, 0.0])
    simulator = Simulator(parallelogram(friction=1.0, passive_friction=2.0))
    start = simulator.state.q
    np.testing.assert_array_equal(run(simulator, 1, [4.9]).q, start)  # of 1 + 2 + 2 N m
    assert run(simulator, 1, [5.1]).q[0] > start[0]


def parallelogram(friction: float, passive_friction: float) -> dyn_core.Robot:
    """Four bars in the horizontal plane, one of them driven.

    The fourth joint, which is cut, has no friction.
    """
    joints = [("crank", "base", 0.0), ("coupler", "crank_arm", 0.4), ("rocker", "base", 0.5)]
    bars = [(name, "continuous", parent, f"{name}_arm", (x, 0.0, 0.0), "0 0 1") for name, parent, x in joints]
    loop = {"name": "end", "type": "revolute", "parent": {"link": "coupler_arm", "xyz": [0.5, 0.0, 0.0]}}
    loop["child"] = {"link": "rocker_arm", "xyz": [0.4, 0.0, 0.0]}
    side = {"loops": [loop], "passive": ["coupler", "rocker"]}
    side["assembly"] = {"crank": 1.0, "coupler": -1.0, "rocker": 1.0}
    robot = dyn_core.load_robot(planar_chains.urdf("bars", bars), loops=side)
    of_joints = zip(robot.joint_names, ("Fs1", "Fs2", "Fs3"), strict=True)
    return robot.with_parameters({Fs: friction if j == "crank" else passive_friction for j, Fs in of_joints})


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_passive_joints_stop_at_their_limits(integrator: Any) -> None:
    """The left elbow starts at 1.2 in the assembly and rises as the arms fall apart."""
    text, met = urdf(damping=0.05, elbow=(0.5, 1.4)), set()
    tree = Tree(text, 0.05)
    simulator = Simulator(dyn_core.load_robot(text, loops=SIDE), SimulationSettings(integrator=integrator))
    before = tree.energy(*all_joints(simulator))
    for _ in range(3000):
        simulator.step()
        passive = simulator.passive_state
        assert max(passive.q[0], -passive.q[1]) < 1.4 + 1e-4
        assert max(passive.gap, passive.turn) < 1e-13
        energy = tree.energy(*all_joints(simulator))
        assert energy < before + 1e-4
        before = energy
        met.update(simulator.at_stop)
    assert {"left_elbow", "right_elbow"} & met
    assert np.abs(all_joints(simulator)[1]).max() < 0.05  # it rests on the stop


def test_reported_accelerations_include_stops() -> None:
    """A five-bar at rest on the stops of its elbows, and while one elbow slides along its stop."""
    simulator = Simulator(loop_robot("five_bar"))
    h, off = simulator.settings.step, []
    for _ in range(1200):
        given, before, stopped = simulator.acceleration, simulator.state, simulator.at_stop
        after = simulator.step()
        if len(stopped) == 1 and simulator.at_stop == stopped:
            off.append(float(np.abs(given - (after.qd - before.qd) / h).max()))
    assert len(off) > 20
    # Where a joint comes to rest during a step, the acceleration at the start of the step differs.
    assert np.quantile(off, 0.9) < 0.5, off
    assert simulator.at_stop == ("left_elbow", "right_elbow")
    np.testing.assert_allclose([simulator.acceleration, simulator.passive_acceleration], 0.0, atol=1e-6)


def test_stops_hold_against_actuators_unless_limits_are_off() -> None:
    simulator = Simulator(five_bar(damping=0.05, elbow=(0.5, 1.4)))
    run(simulator, 2000, [-30.0, 30.0])
    np.testing.assert_allclose(simulator.passive_state.q, [1.4, -1.4], atol=1e-5)
    np.testing.assert_allclose(simulator.state.qd, 0.0, atol=1e-6)
    run(simulator, 30, [30.0, -30.0])
    assert simulator.passive_state.q[0] < 1.39
    free = Simulator(five_bar(damping=0.2, elbow=(0.5, 1.4)), SimulationSettings(position_limits=False))
    run(free, 300)
    assert free.passive_state.q[0] > 1.5
    assert free.at_stop == ()


def test_a_simulation_ends_with_the_last_state_where_loops_open() -> None:
    """The arms fall apart until the rods are stretched."""
    simulator = Simulator(five_bar(), SimulationSettings(position_limits=False))
    with refused("simulation-stopped") as caught:
        run(simulator, 2000)
    state = simulator.state
    assert 0.1 < state.time < 1.0
    assert caught.value.values["time"] == pytest.approx(state.time)
    assert all(name in str(caught.value) for name in ("left = -1.", "right = 1."))
    assert np.abs(state.qd).max() < 50.0
    with refused("simulation-stopped"):
        simulator.step()
    simulator.reset()
    assert simulator.step().time == pytest.approx(1e-3)


def test_no_step_passes_a_singularity() -> None:
    """Without friction, passing it would change the energy."""
    tree = Tree(urdf(), 0.0, UP)
    simulator = Simulator(five_bar(gravity=UP), q=[-0.2, 0.4])
    first = tree.energy(*all_joints(simulator))
    with refused("simulation-stopped") as caught:
        run(simulator, 2000)
    values = caught.value.values
    assert 0.29 <= values["time"] < 0.3
    assert values["cause"].code == "loops-open-at-positions"
    assert all(name in str(values["cause"]) for name in ("left = 0.41", "right = -0.4"))
    assert abs(tree.energy(*all_joints(simulator)) - first) < 1e-3


SINGULAR = [(0.012, 0.1, False), (0.012, -0.1, True), (3.14, 0.1, True), (np.nan, 0.1, True)]


@pytest.mark.parametrize(("q", "determinant", "passes"), SINGULAR)
def test_singularities_are_detected_by_determinants_and_jumps(
    q: float, determinant: float, passes: bool
) -> None:
    moved = PassiveMotion([q], [2.0], [determinant])
    passive = SimpleNamespace(motion=lambda q, qd: moved)
    mechanism: Any = SimpleNamespace(passive=passive, passive_stops=False, joint_names=("left",))
    now = (np.array([0.5]), np.array([1.0]))
    before, load = PassiveMotion([0.01], [2.0], [0.2]), Load(np.zeros(1))
    if passes:
        with refused("loop-singularity-passed", positions="left = 0.5"):
            checked_step(mechanism, now, before, load, 1e-3, now)
    else:
        assert checked_step(mechanism, now, before, load, 1e-3, now) is now


def test_the_simulation_begins_in_the_assembly() -> None:
    simulator = Simulator(five_bar())
    np.testing.assert_allclose(simulator.state.q, [-0.5, 0.5], atol=0.2)
    assert simulator.joint_names == ("left", "right")
    assert simulator.passive_joint_names == ("left_elbow", "right_elbow")
    by_name = Simulator(five_bar(), q={"left": -0.4})
    np.testing.assert_array_equal(by_name.state.q, [-0.4, simulator.state.q[1]])
    tree = Simulator(example("rrp"))
    assert len(tree.passive_joint_names) == len(tree.passive_state.q) == len(tree.passive_acceleration) == 0


@pytest.mark.parametrize(
    ("call", "code", "values"),
    [
        (lambda s: s.set_state([-1.6, 1.6]), "loops-open-at-positions", {"robot": "small_five_bar"}),
        (lambda s: s.set_state([0.5, 0.5, 0.1, 0.1]), "joint-values-shape", {"count": 2}),
        (lambda s: s.set_state({"left_elbow": 1.0}), "argument-joint-passive", {"joint": "left_elbow"}),
        (lambda s: s.set_effort({"right_elbow": 1.0}), "argument-joint-passive", {"joint": "right_elbow"}),
        (lambda s: s.set_state([-1.0, 1.0]), "position-beyond-limits", {"joint": "left_elbow", "lower": 0.5}),
        (lambda s: s.set_effort({"knee": 1.0}), "argument-joint-unknown", {"unknown": ["knee"]}),
    ],
)
def test_refused_calls_change_nothing(call: Any, code: str, values: dict) -> None:
    simulator = Simulator(five_bar(elbow=(0.5, 1.4)))
    state = simulator.state
    with refused(code, **values):
        call(simulator)
    assert simulator.state is state


def test_the_command_writes_passive_joints_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their columns satisfy the loop, and the constant efforts of the file move the robot."""
    out = tmp_path / "states.csv"
    robot = (str(ROBOTS / "five_bar.urdf"), "--side-file", str(ROBOTS / "five_bar.yaml"))
    simulate = Command(tmp_path, capsys, "simulate", *robot, "--out", str(out))
    head = "time,right_shoulder,left_shoulder,left_elbow"
    efforts = simulate.write("efforts.csv", f"{head}\n0,-3,5,0\n0.2,-3,5,0\n")
    summary = simulate.json("--effort", efforts)
    assert summary["passive_joint_names"] == ["left_elbow", "right_elbow"]
    assert max(summary["loop_gap_m"], summary["loop_turn_rad"]) < 1e-13
    with out.open(newline="") as file:
        names, *rows = csv.reader(file)
    columns = dict(zip(names, np.array(rows, dtype=float).T, strict=True))
    assert "effort.left_elbow" not in columns
    actuated, passive = (
        [np.transpose([columns[f"{what}.{side}_{part}"] for side in ("left", "right")]) for what in MOTION]
        for part in ("shoulder", "elbow")
    )
    followed = dyn_core.compile_model(loop_robot("five_bar")).solve_loops(*actuated)
    np.testing.assert_allclose(passive, followed, rtol=1e-6, atol=1e-7)  # printed with 12 digits
    assert np.ptp(columns["position.left_shoulder"]) > 0.03
    assert summary["passive_position"] == pytest.approx(passive[0][-1])
