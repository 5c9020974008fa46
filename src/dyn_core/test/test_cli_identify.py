# SPDX-License-Identifier: Apache-2.0
"""From a log to result files and back to predictions on the command line."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dyn_process import interrupted_at
from example_robots import descriptions
from html_elements import Elements
from identification_log import URDF, true_robot, write_log
from measured_data_sets import EMPS_MAP, EMPS_PUBLISHED, EMPS_URDF, dataset
from pinocchio_oracle import Oracle
from refusals import printed_refusal, refused, refused_command, rows, summary

import dyn_core
from dyn_core.cli.main import main
from dyn_core.core.messages import sentence
from dyn_core.identification.output.identification_result import FILES

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a description and two logs of the true robot."""
    directory = tmp_path_factory.mktemp("identify")
    (directory / "two.urdf").write_text(URDF)
    write_log(directory / "log.csv", true_robot())
    write_log(directory / "other.csv", true_robot(), duration=4.0, seed=5)
    return directory


@pytest.fixture(scope="module")
def out(place: Path) -> Path:
    assert run(place, "--quiet") == 0
    return place / "out"


def run(place: Path, *more: str, log: str = "log.csv", out: str = "out") -> int:
    files = ["--log", str(place / log), "--out", str(place / out)]
    return main(["identify", str(place / "two.urdf"), *files, *more])


def predict(robot: Path, out: Path, log: Path, table: Path, *more: str) -> int:
    files = ["--parameters", str(out / "parameters.yaml"), "--log", str(log), "--out", str(table)]
    return main(["predict", str(robot), *files, *more])


def result_of(out: Path) -> Any:
    """Return result.json, which must not contain NaN."""
    return json.loads((out / "result.json").read_text(), parse_constant=pytest.fail)


def torques(robot: dyn_core.Robot, *states: np.ndarray) -> np.ndarray:
    return dyn_core.compile_model(robot, backend="python").inverse_dynamics(*states)


def values_of(robot: dyn_core.Robot) -> dict[str, float]:
    return dict(zip(robot.parameter_names, robot.parameters, strict=True))


def test_exactly_four_files_are_written(out: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert stat.S_IMODE(out.stat().st_mode) == 0o777 & ~mask
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]


def test_parameters_agree_with_the_true_robot(place: Path, out: Path) -> None:
    described = dyn_core.load_robot(place / "two.urdf")
    robot = dyn_core.load_parameters(out / "parameters.yaml").applied_to(described)
    states = np.random.default_rng(1).uniform(-1.5, 1.5, (3, 50, 2))
    found, expected = torques(robot, *states), torques(true_robot(), *states)
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)
    for joint, true in zip(robot.joints, true_robot().joints, strict=True):
        found, expected = joint.friction, true.friction
        assert (found.Fv, found.Fs) == pytest.approx((expected.Fv, expected.Fs), rel=0.03)
        assert found.Fo == pytest.approx(expected.Fo, abs=0.05)


def test_identified_urdf_has_the_same_dynamics(out: Path) -> None:
    """Torques of Pinocchio with damping agree with the parameters to 1e-9, and so do torques of dyn_core."""
    parameters = dyn_core.load_parameters(out / "parameters.yaml")
    robot = parameters.applied_to(dyn_core.load_robot(URDF, snap=0))
    rigid = robot.with_parameters({n: 0.0 for n in robot.parameter_names if n[:2] in ("Ia", "Fs", "Fo")})
    oracle = Oracle((out / "identified.urdf").read_text(), robot.joint_names, robot.gravity)
    Fv = np.array([joint.friction.Fv for joint in robot.joints])
    for q, qd, qdd in np.random.default_rng(2).uniform(-1.5, 1.5, (20, 3, 2)):
        tau = oracle.inverse_dynamics(q, qd, qdd, {}) + Fv * qd
        np.testing.assert_allclose(torques(rigid, q, qd, qdd), tau, rtol=0.0, atol=1e-9 * np.abs(tau).max())
    identified = dyn_core.load_robot(out / "identified.urdf", snap=0)
    expected = {name: value for name, value in parameters.values.items() if not name.startswith("Fo")}
    found = values_of(identified)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)
    # With the parameter file, which fits this URDF, too, it has the offsets.
    assert values_of(parameters.applied_to(identified)) == parameters.values


def test_identified_urdf_keeps_everything_else(out: Path) -> None:
    text = (out / "identified.urdf").read_text()
    for kept in (
        *("<!-- a comment that has to stay -->", '<mesh filename="package://two/meshes/upper.stl"/>'),
        *('<box size="0.4 0.1 0.1"/>', '<sphere radius="0.05"/>', '<transmission name="t1">'),
        *('<gazebo reference="upper"><mu1>0.2</mu1></gazebo>', 'spring_stiffness="0"', '<mass value="9"/>'),
    ):
        assert kept in text, kept
    assert '<mass value="4"/>' not in text
    assert text.count("<inertial>") == 3  # base, upper and fore; the tool is merged into fore


def test_the_result_as_json(place: Path, out: Path, capsys: Capture) -> None:
    result = result_of(out)
    held = result["held_out"]
    of_all, of_fit = (one["relative_torque_error"] for one in (held, held["least_squares"]))
    assert 0.0 < of_all < of_fit + 0.002
    assert max(of_all, of_fit) < 0.02 < 0.2 < held["description"]["relative_torque_error"]
    assert set(held["by_joint"]) == {"shoulder", "elbow"}
    assert result["protocol"]["train"] == 0.65
    assert result["protocol"]["cutoff"] > 0.0
    names = dyn_core.load_robot(URDF).parameter_names
    assert tuple(p["name"] for p in result["parameters"]["standard"]) == names
    entries = "name value unit prior deviation relative_deviation essential identifiable"
    for parameter in (*result["parameters"]["standard"], *result["parameters"]["base"]):
        assert set(parameter) == set(entries.split())
    log = result["inputs"]["log"]
    assert (log["name"], len(log["sha256"]), result["findings"]) == ("log.csv", 64, [])
    capsys.readouterr()
    assert main(["base", str(place / "two.urdf"), "--json"]) == 0
    base = json.loads(capsys.readouterr().out)["base_parameters"]
    assert [p["name"] for p in result["parameters"]["base"]] == [p["name"] for p in base]


def test_the_report_is_self_contained_and_complete(out: Path) -> None:
    text = (out / "report.html").read_text()
    page = Elements(text)
    tags = [tag for tag, _ in page.seen]
    assert not [attributes for _, attributes in page.seen if {"src", "href"} & set(attributes)]
    assert ("script" in tags, "http" in text) == (False, False)
    assert tags.count("svg") >= 2 * 3  # torque, residual and friction of each joint
    for words in ("shoulder", "elbow", "which no fit has seen", "condition number", "essential", "held out"):
        assert words in text, words


def test_prediction_of_logs(place: Path, out: Path, capsys: Capture) -> None:
    file, robot = place / "tau.csv", place / "two.urdf"
    assert predict(robot, out, place / "other.csv", file, "--json") == 0
    errors = json.loads(capsys.readouterr().out)
    assert errors["identified"]["relative_torque_error"] < 0.02
    assert errors["unfiltered"]["relative_torque_error"] < 0.03
    table = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    names = ("time", "effort.shoulder", "effort.elbow", "measured.shoulder", "measured.elbow")
    assert table.dtype.names == names
    assert np.isfinite(np.array(table.tolist())).all()
    assert np.std(table["effort.shoulder"] - table["measured.shoulder"]) < 0.1
    # identified.urdf goes with the same parameter file
    assert predict(out / "identified.urdf", out, place / "other.csv", file) == 0
    assert "all" in capsys.readouterr().out
    # The prediction of this log has the error of the result.
    assert predict(robot, out, place / "log.csv", file, "--json") == 0
    found = json.loads(capsys.readouterr().out)["identified"]["relative_torque_error"]
    both = [result_of(out)[part]["relative_torque_error"] for part in ("fitted", "held_out")]
    assert min(both) * 0.98 <= found <= max(both) * 1.02


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('name="two"', 'name="three"', "parameters-other-robot"),
        ("that has to stay", "that may go", "parameters-other-description"),
        ('xyz="0.4 0 0"', 'xyz="0.5 0 0"', "parameters-other-kinematics"),
    ],
)
def test_parameters_of_another_robot_are_refused(
    place: Path, out: Path, old: str, new: str, code: str, tmp_path: Path, capsys: Capture
) -> None:
    other, table = tmp_path / "other.urdf", tmp_path / "tau.csv"
    other.write_text(URDF.replace(old, new))
    assert predict(other, out, place / "other.csv", table, "--json") == 1
    error = printed_refusal(capsys)
    assert (error["code"], error["file"]) == (code, str(out / "parameters.yaml"))
    if code == "parameters-other-description":
        assert error["values"]["given"] == f"{dyn_core.load_robot(other).description_hash[:12]}..."
        assert dyn_core.load_robot(URDF).description_hash[:12] in error["values"]["expected"]
    assert not table.exists()


def test_other_commands_take_the_parameters(place: Path, out: Path, capsys: Capture) -> None:
    printed = set()
    for given in ([], ["--parameters", str(out / "parameters.yaml")]):
        assert main(["eval", str(place / "two.urdf"), "gravity_torques", "--json", *given]) == 0
        printed.add(capsys.readouterr().out)
    assert len(printed) == 2


def test_a_second_run_replaces_the_first(place: Path, tmp_path: Path, capsys: Capture) -> None:
    directory = tmp_path / "again"
    for train in ("0.65", "1"):
        assert run(place, "--train", train, "--friction", "standard", out=str(directory)) == 0
        assert result_of(directory)["protocol"]["train"] == float(train)
        nothing_left = train == "1"
        assert ("nothing was held out" in capsys.readouterr().out) == nothing_left
        assert (result_of(directory)["held_out"] is None) == nothing_left
    assert sorted(path.name for path in directory.iterdir()) == sorted(FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_a_wrong_sign_is_reported_and_fails(place: Path, tmp_path: Path, capsys: Capture) -> None:
    write_log(tmp_path / "wrong.csv", true_robot(), sign=(1.0, -1.0))
    assert run(place, log=str(tmp_path / "wrong.csv"), out=str(tmp_path / "out")) == 1
    assert "elbow" in capsys.readouterr().out
    (finding,) = result_of(tmp_path / "out")["findings"]
    assert (finding["code"], finding["names"]) == ("torque-sign-wrong", ["elbow"])
    assert "do not use these parameters" in (tmp_path / "out" / "report.html").read_text()
    # These parameters are refused unless the user allows them.
    file, robot = tmp_path / "out" / "parameters.yaml", dyn_core.load_robot(place / "two.urdf")
    with refused("verdict-do-not-use", codes=["torque-sign-wrong"]) as caught:
        dyn_core.load_parameters(file).applied_to(robot)
    assert caught.value.values["cause"].startswith("joint 'elbow': ")
    with pytest.warns(dyn_core.ModelWarning):
        dyn_core.load_parameters(file, force=True).applied_to(robot)
    file.write_text(re.sub(r"verdict:\n(  - .*\n)+", "", file.read_text()))
    dyn_core.load_parameters(file).applied_to(robot)


@pytest.mark.parametrize(
    ("log", "option", "found"),
    rows(
        """
        log.csv => --train 1.5 => train-part-out-of-range: 1.5
        log.csv => --cutoff -3 => setting-too-small: -3, 0, cutoff
        log.csv => --cutoff 600 => cutoff-too-high: 600, 500, 1000
        log.csv => --decimate 2.5 => option-invalid: a whole number, 2.5, --decimate
        log.csv => --parts 1 => option-range: a whole number from 2, 1, --parts
        log.csv => --prior-weight 0 => option-range: a number > 0, 0, --prior-weight
        log.csv => --cutoff ten => option-not-finite: ten, --cutoff
        log.csv => --map none.yaml => path-missing: YAML, none.yaml
        one_joint.csv => - => log-joint-missing: elbow, [elbow]
        no_effort.csv => - => log-without-efforts
        """
    ),
)
def test_refusals_leave_no_file(place: Path, tmp_path: Path, log: str, option: str, found: str) -> None:
    table = [line.split(",") for line in (place / "log.csv").read_text().splitlines()]
    for name, kept in (("one_joint", (0, 1, 3)), ("no_effort", (0, 1, 2))):
        (place / f"{name}.csv").write_text("\n".join(",".join(row[k] for k in kept) for row in table))
    files = ["--log", str(place / log), "--out", str(tmp_path / "out")]
    words = ["identify", str(place / "two.urdf"), *files, *option.split()]
    assert summary(refused_command(words, found.split(":")[0])) == found
    assert not list(tmp_path.iterdir())


def test_a_robot_without_inertials(place: Path, tmp_path: Path) -> None:
    """Small bodies are the prior without inertials; the torques are still found."""
    (tmp_path / "two.urdf").write_text(re.sub(r"<inertial>.*?</inertial>", "", URDF, flags=re.DOTALL))
    assert run(tmp_path, "--quiet", "--friction", "standard", log=str(place / "log.csv")) == 0
    assert result_of(tmp_path / "out")["held_out"]["relative_torque_error"] < 0.05
    assert (tmp_path / "out" / "identified.urdf").read_text().count("<inertial>") == 2


def test_a_description_in_a_par_file(tmp_path: Path) -> None:
    par = tmp_path / "two.par"
    par.write_text(dyn_core.write_par(dyn_core.load_robot(URDF)))
    robot = dyn_core.load_robot(par)
    write_log(tmp_path / "log.csv", robot, duration=4.0)
    files = ["--log", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", str(par), *files, "--friction", "standard"]) == 0
    identified = dyn_core.load_robot(tmp_path / "out" / "identified.urdf", snap=0)
    expected = dyn_core.load_parameters(tmp_path / "out" / "parameters.yaml").applied_to(robot)
    models = [dyn_core.compile_model(one, backend="python") for one in (identified, expected)]
    found, truth = (model.gravity_torques(np.full(2, 0.3)) for model in models)
    assert found == pytest.approx(truth, rel=1e-9)


def test_ctrl_c_leaves_the_old_files(place: Path, tmp_path: Path) -> None:
    """Interrupt the run when it reports its start, and again at later times."""
    directory = tmp_path / "out"
    assert run(place, "--quiet", "--friction", "standard", out=str(directory)) == 0
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    given = ["identify", str(place / "two.urdf"), "--log", str(place / "log.csv"), "--friction", "standard"]
    for stage in ("looking", "finding", "writing"):
        began = time.monotonic()
        code, rest = interrupted_at(stage, *given, "--out", str(directory), "--train", "0.5")
        assert time.monotonic() - began < 20.0
        assert "Traceback" not in rest
        assert code == 130 or (code, stage) == (0, "writing")
        after = {path.name: path.read_bytes() for path in directory.iterdir()}
        assert set(after) == set(FILES)
        if code == 130:
            assert after == before
        else:
            assert json.loads(after["result.json"])["protocol"]["train"] == 0.5
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_ur10_from_its_bag(tmp_path: Path) -> None:
    """The protocol of the data set: at most 7.6 % on data that were not used for the fit."""
    bag = dataset("ur10_unisa") / "ur10_exciting_trajectory.db3"
    pytest.importorskip("rosbags")
    paths = [path for path in descriptions() if path.name == "ur10_robot.urdf"]
    if not paths:
        pytest.skip("example-robot-data, which has the UR10, is not installed")
    protocol = ["--cutoff", "10", "--filter-effort", "--margin", "25", "--half-width", "1", "--decimate", "1"]
    files = ["--log", str(bag), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", str(paths[0]), *files, *protocol]) == 0
    held = result_of(tmp_path / "out")["held_out"]
    assert held["least_squares"]["relative_torque_error"] <= 0.076
    assert held["relative_torque_error"] <= held["least_squares"]["relative_torque_error"] + 0.002


def test_emps_from_its_files(tmp_path: Path, capsys: Capture) -> None:
    """Published parameters by the authors' protocol; the selected friction model predicts better."""
    data, urdf = dataset("emps"), tmp_path / "emps.urdf"
    urdf.write_text(EMPS_URDF)
    (tmp_path / "emps.yaml").write_text(json.dumps(EMPS_MAP))
    mapped = ["--map", str(tmp_path / "emps.yaml")]
    protocol = ["--cutoff", "100", "--half-width", "1", "--margin", "100", "--decimate", "10", "--train", "1"]
    errors = []
    for friction in ("standard", "auto"):
        out = tmp_path / friction
        files = ["--log", str(data / "DATA_EMPS.mat"), "--out", str(out), "--quiet", *mapped]
        assert main(["identify", str(urdf), *files, *protocol, "--friction", friction]) == 0
        table = tmp_path / "tau.csv"
        assert predict(urdf, out, data / "DATA_EMPS_PULSES.mat", table, "--json", *mapped) == 0
        errors.append(json.loads(capsys.readouterr().out)["identified"]["relative_torque_error"])
    assert errors[1] < 0.95 * errors[0]
    result = result_of(tmp_path / "standard")
    assert result["fitted"]["least_squares"]["relative_torque_error"] <= 0.0408
    found = [*result["friction"]["screw"]["least_squares"], *result["parameters"]["base"]]
    values = {p["name"]: p["value"] for p in found}
    for name, (value, deviation) in EMPS_PUBLISHED.items():
        assert values[name] == pytest.approx(value, abs=deviation)


def test_a_directory_that_cannot_be_used_is_refused_before_the_log_is_read(
    place: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "thesis.tex").write_text("work")
    begin = time.monotonic()
    assert run(place, out=str(tmp_path), log="no.csv") == 1
    values = {"path": str(tmp_path), "files": ["thesis.tex"]}
    assert capsys.readouterr().err == f"dyn: error: {sentence('directory-occupied', values)}\n"
    assert time.monotonic() - begin < 2.0
