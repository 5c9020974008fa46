# SPDX-License-Identifier: Apache-2.0
"""Each estimator, selected by name, from a log to the result: parameters, deviations and errors."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from identification_log import URDF, true_robot
from refusals import printed_refusal, refused
from simulated_truth import SIX, arm, exact_motion, excitation, measured, sensed, true_values, with_drives

import dyn_core
from dyn_core.cli.main import main
from dyn_core.identification.estimators.estimation import _noise as noise_of_rows
from dyn_core.identification.estimators.estimation import unweighted
from dyn_core.identification.estimators.identification_settings import ESTIMATORS, IN_WORDS, Estimator
from dyn_core.identification.estimators.least_squares import factors, own_columns, weighted
from dyn_core.identification.estimators.simulation_estimators import simulated
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import rows_of
from dyn_core.identification.regressor.base_columns import MotorCoupling, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.filters import PositionNoise
from dyn_core.logs.log import Control

CONTROL = """
control:
  shoulder: {position: wish 1, velocity: speed 1, effort: more 1, kp: 1500, kd: 120, limit: 190}
  elbow: {position: wish 2, kp: 400, kd: 30}
joints:
  shoulder: {position: q1, effort: tau1}
  elbow: {position: q2, effort: tau2}
time: {column: time, unit: s}
"""
FRICTION = (FrictionModel(v0=0.15),) * 2  # smooth, as simulated friction must be
LOGS = {"iv": 1, "oe": 1}  # fewer samples for slow estimators


@cache
def exact() -> tuple[dyn_core.Signals, Control]:
    """Return the motion of the robot under a controller, and the controller."""
    robot = true_robot()
    t, q, qd, _ = excitation(2, 8.0)
    gains = np.array([[1500.0, 400.0], [120.0, 30.0], [190.0, np.inf]])
    control = Control(q, qd, 0.0 * q + [5.0, 0.0], *gains)
    start = dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, 0.0 * q, 0.0 * q)
    friction = true_values(robot, base_columns(robot))[-6:]
    model = dyn_core.compile_model(robot, friction=False)
    return simulated(model, FRICTION, friction, control, start), control


def write_log(path: Path, seed: int) -> None:
    """Write sensor signals and the desired motion, without the desired velocity of the elbow."""
    moved, control = exact()
    q, tau = sensed(moved, seed)
    table = np.column_stack([moved.time, q, tau, control.q, control.qd[:, 0], control.feedforward[:, 0]])
    head = "time,q1,q2,tau1,tau2,wish 1,wish 2,speed 1,more 1"
    np.savetxt(path, table, "%.12g", ",", header=head, comments="")


def run(place: Path, estimator: str, *more: str, mapping: str = CONTROL) -> int:
    (place / "two.urdf").write_text(URDF)
    (place / "map.yaml").write_text(mapping)
    given = ["--log", str(place / "log.csv"), "--map", str(place / "map.yaml"), "--estimator", estimator]
    return main(["identify", str(place / "two.urdf"), *given, "--out", str(place / "out"), *more])


def read(place: Path, mapping: str = CONTROL) -> dyn_core.Log:
    (place / "map.yaml").write_text(mapping)
    return dyn_core.read_log(place / "log.csv", place / "map.yaml", dyn_core.load_robot(URDF))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_within_their_deviations(tmp_path: Path, estimator: Estimator) -> None:
    """Deviations are those of the estimate itself; the physically consistent parameters are close to it."""
    errors, cost = [], []
    expected = true_values(true_robot(), base_columns(true_robot()))
    settings = dyn_core.IdentificationSettings(FRICTION, estimator=estimator, diagnose=False)
    for seed in range(LOGS.get(estimator, 3)):
        write_log(tmp_path / "log.csv", seed)
        signals = dyn_core.condition(read(tmp_path), dyn_core.Protocol(train=1.0))
        found = dyn_core.identify(dyn_core.load_robot(URDF), signals, settings)
        plain = [*found.base, *(p for one in found.friction for p in one.parameters)]
        bodies = [*found.consistent_base, *(p for one in found.consistent_friction for p in one.parameters)]
        deviations = np.array([p.deviation for p in plain])
        errors.append((np.array([p.value for p in plain]) - expected) / deviations)
        cost.append(np.array([p.value - q.value for p, q in zip(bodies, plain, strict=True)]) / deviations)
    assert found.procedure.estimator == estimator
    assert np.abs(errors).max() <= 3.5
    assert 0.4 < np.sqrt(np.mean(np.square(errors))) < 1.2
    assert np.sqrt(np.mean(np.square(cost))) < 1.0


@pytest.mark.parametrize("estimator", ["ols", "iv"])
def test_files_name_the_estimator(tmp_path: Path, estimator: Estimator) -> None:
    write_log(tmp_path / "log.csv", 0)
    assert run(tmp_path, estimator, "--friction", "standard", "--quiet") == 0
    protocol = json.loads((tmp_path / "out" / "result.json").read_text())["protocol"]
    assert protocol["estimator"] == estimator
    assert protocol["estimator_in_words"] == IN_WORDS[estimator]
    assert IN_WORDS[estimator] in (tmp_path / "out" / "report.html").read_text()


def test_ordinary_least_squares_deviations_account_for_different_noise_of_joints() -> None:
    """40 runs of one motion with different noise, much of it in some joints: each spread is known to 11 %."""
    robot = with_drives(arm(SIX))
    base, moved = base_columns(robot), exact_motion(robot, 4.0)
    random = np.random.default_rng(1)
    sizes = np.array([2.0, 0.02, 0.5, 0.05, 0.3, 0.01])
    fits = []
    for _ in range(40):
        noisy = replace(moved, tau=moved.tau + sizes * random.normal(size=moved.tau.shape), decimate=40)
        rows = rows_of(Equations(noisy, base), (FrictionModel(),) * 6)
        fits.append(unweighted(rows).solution)
    spread = np.std([one.x for one in fits], axis=0)
    memory = rows.equations.decimation.memory
    claimed = np.sqrt(memory) * np.mean([one.deviations for one in fits], axis=0)
    np.testing.assert_allclose(spread, claimed, rtol=0.4)
    assert np.mean(spread / claimed) == pytest.approx(1.0, abs=0.07)


def test_noise_of_positions_biases_total_least_squares_less() -> None:
    """The filter lets some noise through; the known noise removes a part of the bias."""
    robot = with_drives(arm(SIX)).with_parameters({f"Fs{j}": 0.0 for j in range(1, 7)})
    moved = exact_motion(robot, 15.0)
    q, tau = sensed(moved, 0, position_noise=3e-4)
    log = dyn_core.log_of_arrays(robot.joint_names, moved.time, q, tau)
    signals = dyn_core.condition(log, dyn_core.Protocol(cutoff=40.0, decimate=10, train=1.0))
    np.testing.assert_allclose(signals.noise.deviations, 3e-4, rtol=0.1)
    expected = {p: v for p, v in zip(robot.parameter_names, robot.parameters, strict=True) if p[:2] == "Ia"}
    errors = {}
    settings = dyn_core.IdentificationSettings((FrictionModel(),) * 6, diagnose=False)
    for estimator in ("wls", "tls"):
        found = dyn_core.identify(arm(SIX), signals, replace(settings, estimator=estimator))
        rotors = {p.name: p.value for p in found.base if p.name in expected}
        errors[estimator] = np.mean([abs(rotors[name] / expected[name] - 1.0) for name in rotors])
    assert errors["tls"] < 0.75 * errors["wls"]


def test_missing_inputs_of_an_estimator_are_named() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 6.0), seed=0)
    settings = dyn_core.IdentificationSettings(diagnose=False, friction=(FrictionModel(),) * 6)
    with refused("position-noise-unknown"):
        dyn_core.identify(arm(SIX), moved, replace(settings, estimator="tls"))
    for estimator in ("iv", "oe"):
        with refused("control-unknown", estimator=estimator):
            dyn_core.identify(arm(SIX), moved, replace(settings, estimator=estimator))
    zeros, iv = np.zeros((10, 6)), replace(settings, estimator="iv")
    short = replace(moved, control=Control(zeros, zeros, zeros, *np.zeros((3, 6))))
    with refused("control-signals-mismatch", samples=10, joints=6, expected_joints=6):
        dyn_core.identify(arm(SIX), short, iv)
    controlled = replace(moved, control=Control(moved.q, moved.qd, moved.tau, *np.ones((3, 6))))
    with refused("estimator-coupling-unsupported"):
        coupled = replace(iv, couplings=(MotorCoupling("6", {"joint_6": 1.0}),))
        dyn_core.identify(arm(SIX), controlled, coupled)
    with refused("argument-choice-unknown", argument="estimator", known="one of ols, wls, irls, tls, iv, oe"):
        replace(settings, estimator="best")
    with refused("control-array-shape", argument="kp"):
        Control(zeros, zeros, zeros, np.zeros(5), np.zeros(6), np.zeros(6))


@pytest.mark.parametrize(
    ("mapping", "code", "values"),
    [
        (CONTROL.replace("position: wish 2, ", ""), "map-entry-missing", {"entry": "position"}),
        (CONTROL.replace("wish 2", "wish 3"), "map-column-unknown", {"column": "wish 3"}),
        (CONTROL.replace("kp: 400", "kp: -1"), "value-negative", {"given": -1.0}),
        (re.sub(".*wish 2.*", "", CONTROL), "control-joint-missing", {"missing": ["elbow"]}),
        (CONTROL[CONTROL.index("joints:") :], "control-unknown", {"estimator": "iv"}),
        # Gains of another robot.
        (CONTROL.replace("kp: 400, kd: 30", "kp: 4e7, kd: 0"), "simulated-robot-diverges", {}),
    ],
)
def test_unusable_controllers_are_refused(
    tmp_path: Path, mapping: str, code: str, values: dict, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "log.csv", 0)
    assert run(tmp_path, "iv", "--friction", "standard", "--json", mapping=mapping) == 1
    error = printed_refusal(capsys)
    assert (error["code"], error["values"] | values) == (code, error["values"])
    if code == "map-entry-missing":
        assert (error["line"], error["element"]) == (4, "control, joint 'elbow'")


def test_desired_motions_are_read_from_the_log(tmp_path: Path) -> None:
    """Desired motions have the sample times and the joint's ratio; column 0 means none."""
    write_log(tmp_path / "log.csv", 0)
    mapping = CONTROL.replace("effort: tau2}", "effort: tau2, ratio: 2}")
    log = read(tmp_path, mapping.replace("wish 2,", "wish 2, velocity: 0,"))
    moved, control = exact()
    np.testing.assert_allclose(log.control.q, control.q / [1.0, 2.0], atol=1e-9)
    np.testing.assert_allclose(log.control.qd, control.qd * [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(log.control.feedforward, control.feedforward)
    signals = dyn_core.condition(log, dyn_core.Protocol(cutoff=20.0))
    first = round(signals.time[0] * 1000.0)
    np.testing.assert_allclose(signals.control.q, log.control.q[first : first + len(signals)], atol=1e-9)
    assert len(moved) == len(log.time)


def test_joints_at_rest_do_not_change_the_estimated_noise_of_columns() -> None:
    """Torques of joints at rest, or without torques, are not used; they add no noise."""
    robot = with_drives(arm(SIX))
    base = base_columns(robot)
    moved = measured(exact_motion(robot, 6.0), seed=0, position_noise=1e-4)
    moved = replace(moved, noise=PositionNoise((1e-4,) * 6, moved.period, 15.0, 4, 1))
    half = len(moved) // 2

    def relative(signals: dyn_core.Signals, stands: np.ndarray) -> np.ndarray:
        rows = rows_of(Equations(signals, base, stood=stands), (FrictionModel(),) * 6)
        data = factors(rows)
        noise = np.diag(noise_of_rows(rows, weighted(data), own_columns(data)))
        return noise[:-1][noise[:-1] > 0.0] / noise[-1]

    stands = np.zeros(moved.q.shape, dtype=bool)
    stands[half:] = True
    first = relative(moved.part(0, half), stands[:half])
    np.testing.assert_allclose(relative(moved, stands), first, rtol=0.25)
