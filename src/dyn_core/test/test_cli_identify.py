# SPDX-License-Identifier: Apache-2.0
"""From a log to files on the command line, and back."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from example_robots import descriptions
from identification_log import URDF, true_robot, write_log
from measured import EMPS_URDF, dataset
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.cli.main import main
from dyn_core.results.result import FILES


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
    return main(
        ["identify", str(place / "two.urdf"), "--log", str(place / log), "--out", str(place / out), *more]
    )


def load(place: Path) -> dyn_core.Robot:
    return dyn_core.load_robot(place / "two.urdf")


def test_four_files_are_there_and_nothing_else(out: Path) -> None:
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert stat.S_IMODE(out.stat().st_mode) == 0o777 & ~_umask()
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]


def test_parameters_are_those_of_the_true_robot(place: Path, out: Path) -> None:
    robot = dyn_core.load_parameters(out / "parameters.yaml").applied_to(load(place))
    q, qd, qdd = np.random.default_rng(1).uniform(-1.5, 1.5, (3, 50, 2))
    found, expected = (
        dyn_core.compile_model(one, backend="python").inverse_dynamics(q, qd, qdd)
        for one in (robot, true_robot())
    )
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)
    for joint, true in zip(robot.joints, true_robot().joints, strict=True):
        assert joint.friction.Fv == pytest.approx(true.friction.Fv, rel=0.03)
        assert joint.friction.Fs == pytest.approx(true.friction.Fs, rel=0.03)
        assert joint.friction.Fo == pytest.approx(true.friction.Fo, abs=0.05)


def test_identified_urdf_has_the_same_dynamics_for_others(place: Path, out: Path) -> None:
    """Pinocchio reads it: its torques, with damping, are those of the parameters to 1e-9."""
    parameters = dyn_core.load_parameters(out / "parameters.yaml")
    text = (out / "identified.urdf").read_text()
    robot = parameters.applied_to(dyn_core.load_robot(URDF, snap=0))
    rigid = robot.with_parameters(
        {name: 0.0 for name in robot.parameter_names if name[:2] in ("Ia", "Fs", "Fo")}
    )
    oracle = Oracle(text, robot.joint_names, robot.gravity)
    model = dyn_core.compile_model(rigid, backend="python")
    Fv = np.array([joint.friction.Fv for joint in robot.joints])
    for q, qd, qdd in np.random.default_rng(2).uniform(-1.5, 1.5, (20, 3, 2)):
        expected = oracle.inverse_dynamics(q, qd, qdd, {}) + Fv * qd
        assert np.abs(model.inverse_dynamics(q, qd, qdd) - expected).max() < 1e-9 * np.abs(expected).max()


def test_identified_urdf_is_the_same_robot_for_dyn(place: Path, out: Path) -> None:
    identified = dyn_core.load_robot(out / "identified.urdf", snap=0)
    expected = dyn_core.load_parameters(out / "parameters.yaml").values
    found = dict(zip(identified.parameter_names, identified.parameters, strict=True))
    for name, value in expected.items():
        if not name.startswith("Fo"):
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    # With the file of parameters, which is for it too, it has the offsets.
    whole = dyn_core.load_parameters(out / "parameters.yaml").applied_to(identified)
    assert dict(zip(whole.parameter_names, whole.parameters, strict=True)) == expected


def test_identified_urdf_keeps_everything_else(out: Path) -> None:
    text = (out / "identified.urdf").read_text()
    for kept in (
        "<!-- a comment that has to stay -->",
        '<mesh filename="package://two/meshes/upper.stl"/>',
        '<box size="0.4 0.1 0.1"/>',
        '<sphere radius="0.05"/>',
        '<transmission name="t1">',
        '<gazebo reference="upper"><mu1>0.2</mu1></gazebo>',
        'spring_stiffness="0"',
        '<mass value="9"/>',
    ):
        assert kept in text, kept
    assert '<mass value="4"/>' not in text
    assert text.count("<inertial>") == 3  # of base, upper and fore: that of the tool is in fore


def test_base_parameters_have_the_names_of_dyn_base(
    place: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["base", str(place / "two.urdf"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["base_parameters"]
    found = json.loads((out / "result.json").read_text())["parameters"]["base"]
    assert [p["name"] for p in found] == [p["name"] for p in told]


def test_result_is_json_without_nan(out: Path) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    result = json.loads((out / "result.json").read_text(), parse_constant=refuse)
    held = result["held_out"]
    assert 0.0 < held["relative_torque_error"] < 0.02
    assert set(held["by_joint"]) == {"shoulder", "elbow"}
    assert held["least_squares"]["relative_torque_error"] < 0.02
    assert held["description"]["relative_torque_error"] > 0.2
    assert held["relative_torque_error"] < held["least_squares"]["relative_torque_error"] + 0.002
    assert result["protocol"]["train"] == 0.65
    assert result["protocol"]["cutoff"] > 0.0
    names = dyn_core.load_robot(URDF).parameter_names
    assert tuple(p["name"] for p in result["parameters"]["standard"]) == names
    for parameter in (*result["parameters"]["standard"], *result["parameters"]["base"]):
        assert set(parameter) == {
            *(
                "name",
                "value",
                "deviation",
                "relative_deviation",
                "prior",
                "unit",
                "essential",
                "identifiable",
            )
        }
    assert result["inputs"]["log"]["name"] == "log.csv"
    assert len(result["inputs"]["log"]["sha256"]) == 64
    assert result["findings"] == []


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_needs_nothing_else_and_says_what_matters(out: Path) -> None:
    text = (out / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert page.references == []
    assert "script" not in page.tags
    assert "http" not in text
    assert page.tags.count("svg") >= 2 * 3  # torque, residual and friction of each joint
    for said in ("shoulder", "elbow", "which no fit has seen", "condition number", "essential", "held out"):
        assert said in text, said


def test_prediction_of_another_log(place: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = place / "tau.csv"
    arguments = ["--parameters", str(out / "parameters.yaml"), "--log", str(place / "other.csv")]
    assert main(["predict", str(place / "two.urdf"), *arguments, "--out", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["identified"]["relative_torque_error"] < 0.02
    assert answer["unfiltered"]["relative_torque_error"] < 0.03
    table = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    assert table.dtype.names == (
        *("time", "effort.shoulder", "effort.elbow", "measured.shoulder", "measured.elbow"),
    )
    assert np.isfinite(np.array(table.tolist())).all()
    assert np.std(table["effort.shoulder"] - table["measured.shoulder"]) < 0.1
    # identified.urdf is for the same file of parameters
    assert main(["predict", str(out / "identified.urdf"), *arguments, "--out", str(file)]) == 0
    assert "all" in capsys.readouterr().out


def test_prediction_on_the_same_log_has_the_error_of_the_result(
    place: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = json.loads((out / "result.json").read_text())
    arguments = ["--parameters", str(out / "parameters.yaml"), "--log", str(place / "log.csv")]
    assert (
        main(["predict", str(place / "two.urdf"), *arguments, "--out", str(place / "t.csv"), "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)["identified"]["relative_torque_error"]
    both = [result[part]["relative_torque_error"] for part in ("fitted", "held_out")]
    assert min(both) * 0.98 <= found <= max(both) * 1.02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace('name="two"', 'name="three"'),
            "parameters of robot 'two', but this one is",
        ),
        (lambda text: text.replace("that has to stay", "that may go"), "with the same joints and lengths"),
        (lambda text: text.replace('xyz="0.4 0 0"', 'xyz="0.5 0 0"'), "with other joints or lengths"),
    ],
    ids=["name", "text", "lengths"],
)
def test_parameters_of_another_robot_are_refused(
    place: Path,
    out: Path,
    change: Callable[[str], str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "other.urdf"
    other.write_text(change(URDF))
    arguments = ["--parameters", str(out / "parameters.yaml"), "--log", str(place / "other.csv")]
    assert main(["predict", str(other), *arguments, "--out", str(tmp_path / "tau.csv")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "parameters.yaml: " in error
    assert not (tmp_path / "tau.csv").exists()


def test_other_commands_take_the_parameters(
    place: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = []
    for given in ([], ["--parameters", str(out / "parameters.yaml")]):
        assert main(["eval", str(place / "two.urdf"), "gravity_torques", "--json", *given]) == 0
        values.append(json.loads(capsys.readouterr().out))
    assert values[0] != values[1]


def test_a_second_run_replaces_the_first(place: Path, tmp_path: Path) -> None:
    directory = tmp_path / "again"
    for train in ("0.65", "0.6"):
        assert run(place, "--quiet", "--train", train, "--friction", "standard", out=str(directory)) == 0
        assert json.loads((directory / "result.json").read_text())["protocol"]["train"] == float(train)
    assert sorted(path.name for path in directory.iterdir()) == sorted(FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_a_wrong_sign_is_said_and_fails(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "wrong.csv", true_robot(), sign=(1.0, -1.0))
    assert run(place, log=str(tmp_path / "wrong.csv"), out=str(tmp_path / "out")) == 1
    assert "elbow" in capsys.readouterr().out
    report = (tmp_path / "out" / "report.html").read_text()
    assert "do not use these parameters" in report
    # No robot gets them, unless somebody says so by hand.
    file = tmp_path / "out" / "parameters.yaml"
    with pytest.raises(dyn_core.DynError, match=r"the log had wrong signals \(joint 'elbow': its torque has"):
        dyn_core.load_parameters(file).applied_to(load(place))
    text = file.read_text()
    file.write_text(re.sub(r"wrong_signals:\n(  - .*\n)+", "", text))
    dyn_core.load_parameters(file).applied_to(load(place))


def test_nothing_held_out(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--train", "1", "--friction", "standard", out=str(tmp_path / "out")) == 0
    assert "nothing was held out" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "result.json").read_text())["held_out"] is None


BAD_OPTIONS = {
    "train": (["--train", "1.5"], "train is 1.5"),
    "cutoff": (["--cutoff", "-3"], "cutoff is -3"),
    "cutoff above half of the rate": (["--cutoff", "600"], "600"),
    "decimate": (["--decimate", "2.5"], "--decimate is '2.5': give a whole number"),
    "parts": (["--parts", "1"], "--parts is 1"),
    "prior weight": (["--prior-weight", "0"], "--prior-weight is 0"),
    "no number": (["--cutoff", "ten"], "--cutoff holds 'ten'"),
    "map": (["--map", "none.yaml"], "none.yaml"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_options_that_will_not_do(
    place: Path, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options, message = BAD_OPTIONS[case]
    assert run(place, *options, out=str(tmp_path / "out")) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def bad_logs(good: str) -> dict[str, tuple[str, str]]:
    lines = good.splitlines()
    head, rows = lines[0], lines[1:]
    constant = [f"{k * 0.001},0.1,0.2,1,2" for k in range(3000)]
    return {
        "empty": ("", "the file is empty"),
        "head only": (head + "\n", ""),
        "constant": ("\n".join([head, *constant]), ""),
        "too short": ("\n".join([head, *rows[:90]]), ""),
        "all NaN": ("\n".join([head, *(f"{k * 0.001},nan,nan,nan,nan" for k in range(3000))]), ""),
        "missing joint": (
            "\n".join(",".join(line.split(",")[k] for k in (0, 1, 3)) for line in lines),
            "it has no position of 'elbow'",
        ),
        "no effort": ("\n".join(",".join(line.split(",")[k] for k in (0, 1, 2)) for line in lines), ""),
        "no text": ("\x00\x01\x02" * 1000, ""),
    }


@pytest.mark.parametrize(
    "case",
    ["empty", "head only", "constant", "too short", "all NaN", "missing joint", "no effort", "no text"],
)
def test_logs_that_will_not_do(
    place: Path, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = bad_logs((place / "log.csv").read_text())[case]
    log = tmp_path / "bad.csv"
    log.write_text(text)
    assert run(place, log=str(log), out=str(tmp_path / "out")) == 1
    error = capsys.readouterr().err
    assert error.startswith("dyn: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "out").exists()


def test_a_robot_without_inertials(place: Path, tmp_path: Path) -> None:
    """What the description does not say is expected to be small; the torques are found all the same."""
    bare = re.sub(r"<inertial>.*?</inertial>", "", URDF, flags=re.DOTALL)
    (tmp_path / "two.urdf").write_text(bare)
    arguments = ["--log", str(place / "log.csv"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", str(tmp_path / "two.urdf"), *arguments, "--friction", "standard"]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["held_out"]["relative_torque_error"] < 0.05
    text = (tmp_path / "out" / "identified.urdf").read_text()
    assert text.count("<inertial>") == 2


def test_a_description_from_standard_input_in_a_par_file(place: Path, tmp_path: Path) -> None:
    par = tmp_path / "two.par"
    par.write_text(dyn_core.write_par(dyn_core.load_robot(URDF)))
    robot = dyn_core.load_robot(par)
    write_log(tmp_path / "log.csv", robot, duration=4.0)
    arguments = ["--log", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", str(par), *arguments, "--friction", "standard"]) == 0
    identified = dyn_core.load_robot(tmp_path / "out" / "identified.urdf", snap=0)
    expected = dyn_core.load_parameters(tmp_path / "out" / "parameters.yaml").applied_to(robot)
    q = np.full(2, 0.3)
    found, wanted = (
        dyn_core.compile_model(one, backend="python").gravity_torques(q) for one in (identified, expected)
    )
    assert found == pytest.approx(wanted, rel=1e-9)


def test_ctrl_c_leaves_what_was_there(place: Path, out: Path, tmp_path: Path) -> None:
    """The run is interrupted as soon as it says that it has begun, and later and later."""
    directory = tmp_path / "out"
    assert run(place, "--quiet", "--friction", "standard", out=str(directory)) == 0
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    script = (
        "import sys; sys.stderr.isatty = lambda: True\n"
        "from dyn_core.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    given = ["identify", str(place / "two.urdf"), "--log", str(place / "log.csv"), "--friction", "standard"]
    command = [sys.executable, "-c", script, *given]
    for stage in ("looking", "finding", "writing"):
        began = time.monotonic()
        code, rest = _interrupted([*command, "--out", str(directory), "--train", "0.5"], stage)
        assert time.monotonic() - began < 20.0
        assert "Traceback" not in rest
        assert code == 130 or stage == "writing"
        after = {path.name: path.read_bytes() for path in directory.iterdir()}
        assert set(after) == set(FILES)
        if code == 130:
            assert after == before
        else:
            assert code == 0
            assert json.loads(after["result.json"])["protocol"]["train"] == 0.5
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def _interrupted(command: list[str], stage: str) -> tuple[int, str]:
    """Run a command, send Ctrl-C when it tells of a stage, and answer its exit code and what it said then."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if stage in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        return process.wait(30), rest


def test_ur10_from_its_bag(tmp_path: Path) -> None:
    """The protocol of the data set: at most 7.6 % on what the fit has not seen."""
    bag = dataset("ur10_unisa") / "ur10_exciting_trajectory.db3"
    pytest.importorskip("rosbags")
    paths = [path for path in descriptions() if path.name == "ur10_robot.urdf"]
    if not paths:
        pytest.skip("example-robot-data, which has the UR10, is not installed")
    protocol = ["--cutoff", "10", "--filter-effort", "--margin", "25", "--half-width", "1", "--decimate", "1"]
    command = ["identify", str(paths[0]), "--log", str(bag), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*command, *protocol]) == 0
    held = json.loads((tmp_path / "out" / "result.json").read_text())["held_out"]
    assert held["least_squares"]["relative_torque_error"] <= 0.076
    assert held["relative_torque_error"] <= held["least_squares"]["relative_torque_error"] + 0.002


EMPS_MAP = """
time: {column: t, unit: s}
joints:
  screw:
    position: {column: qm, unit: m}
    effort: {column: vir, unit: V, gain: 35.15065188}
"""


def test_emps_from_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Published parameters by the protocol of the authors; friction that is chosen predicts more."""
    data = dataset("emps")
    (tmp_path / "emps.urdf").write_text(EMPS_URDF)
    (tmp_path / "emps.yaml").write_text(EMPS_MAP)
    common = [str(tmp_path / "emps.urdf"), "--map", str(tmp_path / "emps.yaml")]
    protocol = ["--cutoff", "100", "--half-width", "1", "--margin", "100", "--decimate", "10", "--train", "1"]
    errors = []
    for friction in ("standard", "auto"):
        log, out = ["--log", str(data / "DATA_EMPS.mat")], tmp_path / friction
        given = ["identify", *common, *log, *protocol, "--friction", friction, "--out", str(out), "--quiet"]
        assert main(given) == 0
        log = ["--log", str(data / "DATA_EMPS_PULSES.mat"), "--out", str(tmp_path / "tau.csv"), "--json"]
        assert main(["predict", *common, *log, "--parameters", str(out / "parameters.yaml")]) == 0
        errors.append(json.loads(capsys.readouterr().out)["identified"]["relative_torque_error"])
    assert errors[1] < 0.95 * errors[0]
    result = json.loads((tmp_path / "standard" / "result.json").read_text())
    assert result["fitted"]["least_squares"]["relative_torque_error"] <= 0.0408
    values = {p["name"]: p["value"] for p in result["friction"]["screw"]["least_squares"]}
    assert values["Fv1"] == pytest.approx(203.5034, abs=1.1460)
    assert values["Fs1"] == pytest.approx(20.3935, abs=0.1012)
    assert values["Fo1"] == pytest.approx(-3.1648, abs=0.0444)
    (mass,) = (p for p in result["parameters"]["base"] if p["name"] == "MR1")
    assert mass["value"] == pytest.approx(95.1089, abs=0.1085)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_time_is_not_wasted_before_mistakes_are_told(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory that cannot be used is refused before the log is read."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("work")
    begin = time.monotonic()
    assert run(place, out=str(tmp_path / "mine"), log="no.csv") == 1
    assert "has other files ('thesis.tex')" in capsys.readouterr().err
    assert time.monotonic() - begin < 2.0
