# SPDX-License-Identifier: Apache-2.0
"""What a result says of itself is what one gets who computes it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from identification_log import URDF, true_robot, write_log

import dyn_core
from dyn_core.control.smooth_friction import SmoothFriction
from dyn_core.identification.output.identification_result import finite, result_entries
from dyn_core.identification.output.report_page import notices, verdict
from dyn_core.identification.pipeline import make_result
from dyn_core.identification.stages import IdentifyStage, ResultStage
from dyn_core.results import prediction
from dyn_core.results.prediction import predicted, torque_error
from dyn_core.results.report_page import report_page
from dyn_core.results.result import Result
from dyn_core.robot.robot_files import read_robot


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of the true robot whose Coulomb friction changes its sign over 0.05 rad/s."""
    path = tmp_path_factory.mktemp("result") / "log.csv"
    robot = true_robot()
    write_log(path, robot)
    lines = path.read_text().splitlines()
    table = np.array([line.split(",") for line in lines[1:]], dtype=float)
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


def test_errors_are_those_of_the_predictions(result: Result) -> None:
    robot = result.loaded.robot
    errors = result.identified.consistent_errors
    for part, error in zip(result.signals.split(), (errors.fitted, errors.held_out), strict=True):
        torques = predicted(robot, result.parameters, part.q, part.qd, part.qdd)
        assert error is not None
        found = torque_error(part, torques.tau)
        assert found.relative == pytest.approx(error.relative, rel=1e-6)
        assert found.by_joint == pytest.approx(error.by_joint, rel=1e-6)
        assert found.rms == pytest.approx(error.rms, rel=1e-6)


def test_standard_friction_is_what_models_have(result: Result) -> None:
    robot = result.loaded.robot
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 40, 2))
    model = dyn_core.compile_model(result.parameters.applied_to(robot), backend="python")
    rigid = dyn_core.compile_model(result.parameters.applied_to(robot), backend="python", friction=False)
    expected = rigid.inverse_dynamics(q, qd, qdd)
    expected += SmoothFriction(model, result.parameters.coulomb_velocity).torques(qd)
    assert predicted(robot, result.parameters, q, qd, qdd).standard == pytest.approx(expected, rel=1e-9)


def test_blocks_do_not_show(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = result.loaded.robot
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 40, 2))
    whole = predicted(robot, result.parameters, q, qd, qdd)
    monkeypatch.setattr(prediction, "BLOCK", 7)
    parts = predicted(robot, result.parameters, q, qd, qdd)
    for name in ("tau", "standard", "load"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_the_coulomb_velocity_is_found(result: Result) -> None:
    assert set(result.parameters.coulomb_velocity) == {"shoulder", "elbow"}
    assert result.identified.coulomb_velocity == pytest.approx((0.05, 0.05), rel=0.3)
    assert result.at_once_errors.held_out is not None
    assert result.standard_errors.held_out is not None
    assert result.standard_errors.held_out.relative < 0.8 * result.at_once_errors.held_out.relative


def test_the_comparison_is_the_held_out_part(result: Result) -> None:
    compared = result.comparison
    assert compared.is_held_out
    time = compared.time[np.isfinite(compared.time)]
    first = result.signals.split()[1].time[0]
    assert first <= time[0] < time[-1] <= result.signals.time[-1]
    residual = compared.measured - compared.predicted
    held = result.identified.consistent_errors.held_out
    assert held is not None
    assert np.sqrt(np.nanmean(residual**2, axis=0)) == pytest.approx(held.rms, rel=1e-6)


def test_friction_curves_are_those_that_were_measured(result: Result) -> None:
    for curves in result.friction:
        known = np.isfinite(curves.measured)
        assert known.sum() > 200
        assert np.abs(curves.measured - curves.chosen)[known].mean() < 0.1


def test_words(result: Result) -> None:
    assert "a good model" in verdict(result)
    assert "which no fit has seen" in verdict(result)
    assert "".join(notices(result))


def test_a_gap_in_the_log_is_one_in_the_plots(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.csv"
    cut.write_text("".join(lines[:6500] + lines[6800:]))
    settings = dyn_core.IdentificationSettings(friction=(dyn_core.FrictionModel(),) * 2)
    found = make_result(read_robot(URDF), cut, "a test", settings=settings)
    assert np.isnan(found.comparison.measured).any(axis=1).sum() == 1
    assert np.isfinite(found.comparison.time).all()
    assert any("gap" in finding.message for finding in found.log.findings)


@pytest.mark.filterwarnings("error")
def test_a_joint_without_effort(log: Path, tmp_path: Path) -> None:
    rows = [line.split(",")[:4] for line in log.read_text().splitlines()]
    one = tmp_path / "one.csv"
    one.write_text("\n".join(map(",".join, rows)))
    settings = dyn_core.IdentificationSettings(friction=(dyn_core.FrictionModel(),) * 2)
    found = make_result(read_robot(URDF), one, "a test", settings=settings)
    assert any("'elbow' was not measured" in remark for remark in found.identified.remarks)
    entries = finite(result_entries(found))["held_out"]
    for errors in (entries, entries["least_squares"], entries["standard_friction"], entries["description"]):
        assert errors["by_joint"]["elbow"] is None
        assert errors["by_joint"]["shoulder"] > 0.0
        assert errors["relative_torque_error"] > 0.0
    assert "elbow: residual" not in report_page(found)


def test_a_robot_without_joints(log: Path) -> None:
    with pytest.raises(dyn_core.DynError, match="robot 'r' has no joint that moves"):
        make_result(read_robot('<robot name="r"><link name="a"/></robot>'), log, "a test")
