# SPDX-License-Identifier: Apache-2.0
"""Identification of robots with loops.

Simulated truth in actuated torques, models, files and trajectories.
"""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from refusals import refused, replaced
from robots import ROBOTS, loop_robot
from simulated_truth import excitation, measured, sensed, true_values

import dyn_core
from dyn_core.cli.main import main
from dyn_core.control.trajectories.fourier_motion import assembly
from dyn_core.excitation.excitation_settings import ExcitationSettings
from dyn_core.excitation.exciting_trajectory import excite
from dyn_core.excitation.motion_limits import loop_limits
from dyn_core.identification.estimators.identification_model import identification_model
from dyn_core.identification.estimators.identification_settings import IdentificationSettings, check_signals
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.online.recursive_estimator import OnlineEstimator, online_standard
from dyn_core.identification.pipeline import identify
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.momentum_energy import energies, momenta
from dyn_core.logs.conditioning.signals import Signals, signals_of_arrays
from dyn_core.robot.robot import Robot

REACH = {"five_bar": 0.4, "sr400": 0.6}
"""Fraction of the usual motion (rad) that keeps loops closed and far from singularities."""


def truth(robot: Robot, seed: int = 1) -> Robot:
    """The true robot: other bodies and rotors than in its description, and friction in all joints.

    Passive joints have bearings: little friction, and no offset.
    """
    random = np.random.default_rng(seed)
    values = np.array(robot.parameters).reshape(-1, 14).copy()
    values[:, :10] *= random.uniform(0.8, 1.25, (len(values), 1))
    values[:, 10] *= random.uniform(0.8, 1.25, len(values))
    for row, joint in zip(values, robot.joints, strict=True):
        size = 1.0 if joint.mu else 0.2
        row[11:] = size * random.uniform(1.0, 3.0), size * random.uniform(1.0, 4.0), 0.4 * joint.mu
    return robot.with_parameters(values.ravel().tolist())


def moved(robot: Robot, part: float | np.ndarray, seed: int = 0, duration: float = 30.0) -> Signals:
    """Exact signals of a robot whose actuated joints move about its assembly."""
    t, *motion = excitation(robot.dof, duration, seed)
    q, qd, qdd = (part * values for values in motion)
    q += assembly(robot)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    return signals_of_arrays(robot.coordinate_names, t, q, qd, qdd, tau)


def relative_error(robot: Robot, motion: Signals) -> float:
    """Return the torque error of a robot along a motion, at every 500th sample."""
    q, qd, qdd, tau = (a[::500] for a in (motion.q, motion.qd, motion.qdd, motion.tau))
    found = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    return float(np.linalg.norm(found - tau) / np.linalg.norm(tau))


@pytest.mark.parametrize("name", REACH)
def test_parameters_of_a_simulated_robot(name: str) -> None:
    """Noise is 1 % of the greatest torque: check what is left of it after the filter, and the parameters."""
    robot = loop_robot(name)
    true = truth(robot)
    exact = moved(true, REACH[name])
    found = identify(robot, measured(exact, seed=3))
    assert not found.findings
    assert found.errors.held_out.relative < 0.006  # noise alone gives 0.0034 and 0.0046
    assert found.consistent_errors.held_out.relative < 1.02 * found.errors.held_out.relative
    base = base_columns(robot)
    parameters = [*found.base, *(p for friction in found.friction for p in friction.parameters)]
    for parameter, value in zip(parameters, true_values(true, base), strict=True):
        known = parameter.name in base.names and not parameter.identifiable
        assert known or abs(parameter.value - value) < 4.5 * parameter.deviation
    identified = robot.with_parameters(found.parameters)
    assert all(is_possible(np.array(body.values)) for body in identified.bodies[1:])
    # Friction of passive joints is identified: it matters for the torques of another motion.
    passive = [value for n, value in found.parameters.items() if n[:2] in ("Fv", "Fs") and n in base.passive]
    assert min(passive) > 0.0
    assert relative_error(identified, moved(true, 0.8 * REACH[name], seed=4)) < 0.005


@pytest.mark.parametrize("name", ["five_bar", "sr400", "palletizer"])
def test_base_columns_give_the_torques(name: str) -> None:
    """Without friction, apart from that of passive joints."""
    robot = truth(loop_robot(name))
    base = base_columns(robot)
    own = {f"{term}{j}": 0.0 for j in robot.coordinates for term in ("Fv", "Fs", "Fo")}
    left_out = {n: 0.0 for n in robot.parameter_names if n[:2] in ("Fv", "Fs") and n not in base.passive}
    exact = moved(robot.with_parameters({**own, **left_out}), 0.3)
    q, qd, qdd, tau = (values[::500] for values in (exact.q, exact.qd, exact.qdd, exact.tau))
    found = base.columns(q, qd, qdd) @ true_values(robot, base)[: len(base.kept)]
    np.testing.assert_allclose(found, tau, rtol=0.0, atol=1e-9 * np.abs(exact.tau).max())


@pytest.mark.parametrize("name", ["five_bar", "sr400"])
def test_momenta_and_energy(name: str) -> None:
    """``torques = d/dt D1 K + D2 K``, where coupling factors change with the position; power is dE/dt."""
    robot = loop_robot(name)
    base = base_columns(robot)
    exact = moved(robot, 0.4)
    q, qd, qdd = (values[1000:9000:500] for values in (exact.q, exact.qd, exact.qdd))
    h = 1e-4
    later, earlier = ((q + s * qd + 0.5 * s * s * qdd, qd + s * qdd) for s in (h, -h))
    columns = base.columns(q, qd, qdd)
    D, E = momenta(base), energies(base)
    bodies = [k for k, n in enumerate(base.kept) if n not in base.passive]
    by_momenta = (D(*later) - D(*earlier))[:, 0] / (2.0 * h) + D(q, qd)[:, 1]
    scale = np.abs(columns).max(axis=(0, 1))[bodies]
    assert np.all(np.abs(by_momenta - columns)[..., bodies] < 2e-5 * np.maximum(scale, 1.0))
    power = np.einsum("kjm,kj->km", columns, qd)[:, bodies]
    gained = ((E(*later) - E(*earlier)) / (2.0 * h))[:, bodies]
    np.testing.assert_allclose(gained, power, rtol=0.0, atol=2e-5 * np.abs(power).max())


@pytest.mark.parametrize("kind", ["dynamic", "filtered", "energy", "power"])
def test_all_models_agree_on_the_torques(kind: str) -> None:
    """All four identification models of the five-bar."""
    true = truth(loop_robot("five_bar"))
    signals = measured(moved(true, REACH["five_bar"]), 3, torque_noise=1e-4, position_noise=0.0, cutoff=40.0)
    found = identification_model(true, signals, kind)
    base = found.base
    left = found.columns @ true_values(true, base) - found.measured
    # Encoder steps, and velocity signs that change between two samples, leave 2.2e-3.
    assert np.linalg.norm(left) < 4e-3 * np.linalg.norm(found.measured)
    if kind == "dynamic":
        assert found.structure[:, : len(base.kept)].all()
        assert len(found.link_by_link().values) == len(found.names)


def test_estimators_that_simulate_require_the_controller() -> None:
    robot = loop_robot("five_bar")
    with refused("control-unknown"):
        check_signals(robot, measured(moved(robot, 0.3), 3), IdentificationSettings(estimator="iv"))


@pytest.mark.parametrize("name", ["five_bar", "sr400"])
def test_a_resting_actuated_joint_is_fixed(name: str) -> None:
    """The loops then have one degree of freedom less."""
    robot = loop_robot(name)
    part = np.array([0.4] * (robot.dof - 1) + [0.0])
    found = identify(robot, measured(moved(truth(robot), part, duration=20.0), 3))
    assert list(found.fixed) == [robot.coordinate_names[-1]]
    assert found.errors.held_out.relative < 0.01


@pytest.mark.parametrize("name", ["five_bar", "sr400"])
def test_a_trajectory_keeps_the_limits_of_loops(name: str) -> None:
    robot = loop_robot(name)
    settings = ExcitationSettings(duration=12.0, blend=1.0, tries=1, iterations=20)
    found, again = excite(robot, settings), excite(robot, settings)
    assert found.condition < found.initial_condition
    q, _, _ = found.trajectory.at_many(np.linspace(0.0, found.duration, 3001))
    model = dyn_core.compile_model(robot, backend="python")
    passive = model.solve_loops(q)
    joints = [robot.joint(n) for n in robot.passive_joint_names]
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in joints]).T
    assert np.all(np.abs(passive - 0.5 * (lower + upper)) <= 0.95 * 0.5 * (upper - lower))
    assert model.loop_condition(q).max() < 100.0
    assert "passive position" in {margin.kind for margin in found.margins}
    np.testing.assert_array_equal(again.trajectory.at(3.0).q, found.trajectory.at(3.0).q)


def test_ranges_are_reduced_where_loops_do_not_close() -> None:
    """A jack of the AKR-3000 that is 3 m longer cannot close its loop."""
    robot = loop_robot("akr3000")
    limits = loop_limits(robot, ExcitationSettings())
    longer = np.array([3.0 if n == "joint_5" else 0.0 for n in robot.coordinate_names])
    far = np.array([limits.centre, limits.centre + longer, limits.centre + 0.01])
    near = limits.drawn_in(far)
    np.testing.assert_array_equal(near[[0, 2]], far[[0, 2]])
    assert limits.passive(far) is None
    assert limits.passive(near) is not None
    np.testing.assert_array_equal(far[1], limits.centre + longer)


def test_a_floating_platform_has_no_friction() -> None:
    robot = loop_robot("delta")
    of = {robot.joints[int(name[2:]) - 1].name for name in base_columns(robot).passive}
    assert of == {f"{part}_{leg}" for part in ("elbow", "sway") for leg in (1, 2, 3)}


def test_boxes_of_passive_joints_are_refused() -> None:
    box = dyn_core.ForbiddenBox("table", {"left_elbow": (0.2, 0.4)})
    with refused("box-joint-passive", box="table", joint="left_elbow"):
        excite(loop_robot("five_bar"), ExcitationSettings(boxes=(box,)))


def test_payload_and_online_estimates_of_a_robot_with_loops() -> None:
    """A payload on a distal link, and recursive estimation, use the same columns."""
    robot = loop_robot("five_bar")
    true = truth(robot)
    exact = moved(true, REACH["five_bar"])
    held = true.with_payload("right_distal", 2.0, (0.02, 0.03, 0.1), (0.006, 0.0, 0.0, 0.005, 0.0, 0.004))
    loaded = measured(moved(held, REACH["five_bar"], 4), 5)
    payload = dyn_core.identify_payload(robot, "right_distal", loaded, measured(exact, 3))
    mass, x, _, z = payload.values[:4]
    for value, expected in ((mass, 2.0), (x, 0.02), (z, 0.1)):
        assert abs(value.value - expected) < 4.5 * value.deviation
    estimation = OnlineEstimator(base_columns(robot))
    for k in range(0, 20_000, 2):
        estimation.add(float(exact.time[k]), exact.q[k], exact.qd[k], exact.tau[k])
    found = online_standard(estimation.knowledge())
    identified = robot.with_parameters(dict(zip(found.names, found.values, strict=True)))
    assert relative_error(identified, exact) < 1e-3


def test_an_assembly_at_its_limits_is_refused() -> None:
    limits = loop_robot("five_bar").joint("left_elbow").limits
    text = (ROBOTS / "five_bar.urdf").read_text()
    narrow = replaced(text, f'lower="{limits.lower:g}"', 'lower="2.0"')
    with refused("assembly-without-room") as caught:
        excite(dyn_core.load_robot(narrow, loops=ROBOTS / "five_bar.yaml"))
    assert "left_elbow" in str(caught.value.values["cause"])


def test_commands_from_a_log_to_torques(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of the actuated joints also has positions of passive joints, which are not used."""
    robot = loop_robot("five_bar")
    true, model = truth(robot), dyn_core.compile_model(robot, backend="python")
    arm = [str(ROBOTS / "five_bar.urdf"), "--side-file", str(ROBOTS / "five_bar.yaml")]
    names = robot.coordinate_names
    for seed, file in ((0, "log.csv"), (5, "other.csv")):
        exact = moved(true, REACH["five_bar"], seed)
        q, tau = sensed(exact, seed)
        head = [f"position.{n}" for n in (*names, *robot.passive_joint_names)]
        header = ",".join(["time", *head, *(f"effort.{n}" for n in names)])
        table = np.column_stack([exact.time, q, np.add(model.solve_loops(exact.q), [0.0, 0.05]), tau])
        np.savetxt(tmp_path / file, table, fmt="%.9g", delimiter=",", header=header, comments="")
    out = tmp_path / "out"
    assert main(["identify", *arm, "--log", str(tmp_path / "log.csv"), "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    assert result["held_out"]["relative_torque_error"] < 0.006
    findings = {(f["code"], *f["names"]): f for f in result["log_findings"]}
    assert ("joint-column-of-passive-joint", "right_elbow") in findings
    warning = findings["passive-position-contradicts", "right_elbow"]
    assert (warning["severity"], warning["values"]["rms"]) == ("warning", pytest.approx(0.05, rel=1e-3))
    assert warning["message"] in unescape((out / "report.html").read_text())
    words = "--parameters", str(out / "parameters.yaml"), "--log", str(tmp_path / "other.csv")
    predicted = Command(tmp_path, capsys, "predict", *arm).json(*words, "--out", str(tmp_path / "tau.csv"))
    assert predicted["identified"]["relative_torque_error"] < 0.006
    found = dyn_core.load_parameters(out / "parameters.yaml").applied_to(robot)
    again = dyn_core.load_robot(out / "identified.urdf", loops=ROBOTS / "five_bar.yaml")
    exact = moved(true, 0.3, 7)
    for one in (found, dyn_core.with_base_parameters(found)):
        assert relative_error(one, exact) < 0.005
    for one, other in zip(again.bodies[1:], found.bodies[1:], strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=0.0, atol=1e-9)
    for one, other in zip(again.joints, found.joints, strict=True):
        assert one.friction.Fv == pytest.approx(other.friction.Fv, rel=1e-6, abs=1e-9)


def test_wrong_signals_are_not_sought_where_loops_would_open() -> None:
    """Zeros and signs that open the loops are not suspected; a torque with a wrong sign is found.

    The jacks of the AKR-3000 move by little; with another sign or zero they do not close its loops.
    """
    robot = loop_robot("akr3000")
    signals = measured(moved(truth(robot), 0.06), 3)
    assert base_columns(robot).closes(signals.q)
    assert not base_columns(robot).closes(-signals.q)
    assert identify(robot, signals).findings == ()
    tau = signals.tau * np.where(np.arange(robot.dof) == 4, -1.0, 1.0)
    (finding,) = identify(robot, replace(signals, tau=tau)).findings
    assert (finding.code, finding.names) == ("torque-sign-wrong", (robot.coordinate_names[4],))
    shifted = replace(signals, q=signals.q + 3.0 * (np.arange(robot.dof) == 4))
    with refused("motion-opens-loops") as caught:
        identify(robot, shifted)
    assert caught.value.values["cause"].code == "loops-open-at-positions"
