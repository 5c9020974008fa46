# SPDX-License-Identifier: Apache-2.0
"""The contents of a result, checked by independent computation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from identification_log import URDF, true_robot, write_log
from refusals import refused

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import SmoothFriction
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.identification_settings import IdentifyStage, ResultStage
from dyn_core.identification.output import parameter_set as prediction
from dyn_core.identification.output.identification_result import Result, finite, result_entries
from dyn_core.identification.output.parameter_set import predicted, torque_error
from dyn_core.identification.output.report_page import notices, report_page, verdict
from dyn_core.identification.pipeline import make_result
from dyn_core.robot.robot_files import read_robot


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of the true robot; its Coulomb friction changes sign over 0.05 rad/s."""
    robot = true_robot()
    path = write_log(tmp_path_factory.mktemp("result") / "log.csv", robot)
    lines = path.read_text().splitlines()
    table = np.loadtxt(lines[1:], delimiter=",")
    qd = np.gradient(table[:, 1:3], table[:, 0], axis=0)
    Fs = np.array([joint.friction.Fs for joint in robot.joints])
    table[:, 3:] += Fs * (np.tanh(qd / 0.05) - np.sign(qd))
    np.savetxt(path, table, delimiter=",", header=lines[0], comments="", fmt="%.9g")
    return path


@pytest.fixture(scope="module")
def result(log: Path) -> Result:
    stages: list[str] = []
    found = make_result(read_robot(URDF), log, "a test", progress=stages.append)
    reading, conditioning, comparing = ResultStage
    assert stages == [reading, conditioning, *IdentifyStage, comparing]
    return found


def test_errors_agree_with_the_predictions(result: Result) -> None:
    errors = result.identified.consistent_errors
    for part, error in zip(result.signals.split(), (errors.fitted, errors.held_out), strict=True):
        torques = predicted(result.loaded.robot, result.parameters, part.q, part.qd, part.qdd)
        found = torque_error(part, torques.tau)
        for name in ("relative", "by_joint", "rms"):
            assert getattr(found, name) == pytest.approx(getattr(error, name), rel=1e-6)


def test_standard_friction_is_the_friction_of_models(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = result.loaded.robot
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 40, 2))
    applied = result.parameters.applied_to(robot)
    model = dyn_core.compile_model(applied, backend="python")
    expected = dyn_core.compile_model(applied, backend="python", friction=False).inverse_dynamics(q, qd, qdd)
    expected += SmoothFriction(model, result.parameters.coulomb_velocity).torques(qd)
    whole = predicted(robot, result.parameters, q, qd, qdd)
    assert whole.standard == pytest.approx(expected, rel=1e-9)
    monkeypatch.setattr(prediction, "BLOCK", 7)  # the effect of blocks is not visible
    parts = predicted(robot, result.parameters, q, qd, qdd)
    for name in ("tau", "standard", "load"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_the_coulomb_velocity_is_found(result: Result) -> None:
    assert set(result.parameters.coulomb_velocity) == {"shoulder", "elbow"}
    assert result.identified.coulomb_velocity == pytest.approx((0.05, 0.05), rel=0.3)
    assert result.standard_errors.held_out.relative < 0.8 * result.at_once_errors.held_out.relative


def test_the_comparison_shows_the_held_out_part(result: Result) -> None:
    compared, held = result.comparison, result.identified.consistent_errors.held_out
    assert compared.is_held_out
    time = compared.time[np.isfinite(compared.time)]
    assert result.signals.split()[1].time[0] <= time[0] < time[-1] <= result.signals.time[-1]
    rms = np.sqrt(np.nanmean((compared.measured - compared.predicted) ** 2, axis=0))
    assert rms == pytest.approx(held.rms, rel=1e-6)


def test_friction_curves_verdict_and_notices(result: Result) -> None:
    for curves in result.friction:
        known = np.isfinite(curves.measured)
        assert known.sum() > 200
        assert np.abs(curves.measured - curves.chosen)[known].mean() < 0.1
    assert "a good model" in verdict(result)
    assert "which no fit has seen" in verdict(result)
    places = [("error", "warning", "note").index(kind) for kind, _ in notices(result)]
    assert places
    assert places == sorted(places)


def of_log(path: Path, lines: Iterable[str]) -> Result:
    """Return the result, with standard friction, of a log with these lines."""
    path.write_text("\n".join(lines))
    settings = dyn_core.IdentificationSettings(friction=(dyn_core.FrictionModel(),) * 2)
    return make_result(read_robot(URDF), path, "a test", settings=settings)


def test_a_gap_in_the_log_is_a_gap_in_the_plots(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines()
    found = of_log(tmp_path / "cut.csv", lines[:6500] + lines[6800:])
    assert np.isnan(found.comparison.measured).any(axis=1).sum() == 1
    assert np.isfinite(found.comparison.time).all()
    assert "gaps-cut" in [finding.code for finding in found.log.findings]


@pytest.mark.filterwarnings("error")
def test_a_joint_without_effort(log: Path, tmp_path: Path) -> None:
    found = of_log(tmp_path / "one.csv", (line.rpartition(",")[0] for line in log.read_text().splitlines()))
    assert Message("torque-not-measured", joints=("elbow",)) in found.identified.remarks
    entries = finite(result_entries(found))["held_out"]
    for errors in (entries, entries["least_squares"], entries["standard_friction"], entries["description"]):
        assert errors["by_joint"]["elbow"] is None
        assert errors["by_joint"]["shoulder"] > 0.0
        assert errors["relative_torque_error"] > 0.0
    assert "elbow: residual" not in report_page(found)


def test_a_robot_without_joints(log: Path) -> None:
    with refused("robot-without-moving-joint", robot="r"):
        make_result(read_robot('<robot name="r"><link name="a"/></robot>'), log, "a test")
