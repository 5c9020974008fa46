# SPDX-License-Identifier: Apache-2.0
"""``dyn feasible``: output, files, and refusals of bad files."""

from __future__ import annotations

import io
import json
import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from refusals import refused
from robots import ROBOTS, loop_robot

import dyn_core
from dyn_core import read_limits

RX90 = str(ROBOTS / "rx90.urdf")
NAMES = [f"joint_{k}" for k in range(1, 7)]
HEAD, ROW = f"time,{','.join(f'position.{joint}' for joint in NAMES)}\n", "0,0,0,0,0,0,0\n"
ALL = ("position", "velocity", "acceleration")


class Feasible(Command):
    """``dyn feasible`` of the RX90."""

    def motion(self, rate: float, quantities: tuple[str, ...] = ALL) -> tuple[str, str]:
        """Write a motion there and back in 2 s / `rate`; return the option that names its file."""
        t = np.linspace(0.0, 2.0 / rate, 401)
        w = math.pi * rate
        columns = {
            "position": 0.5 * (1.0 - np.cos(w * t)),
            "velocity": 0.5 * w * np.sin(w * t),
            "acceleration": 0.5 * w * w * np.cos(w * t),
        }
        names = [f"{quantity}.{joint}" for quantity in quantities for joint in NAMES]
        rows = np.column_stack([t, *(columns[quantity] for quantity in quantities for _ in NAMES)])
        text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
        return "--trajectory", self.write("motion.csv", f"time,{','.join(names)}\n{text}\n")

    def limits(self, text: str) -> tuple[str, str]:
        return "--limits", self.write("limits.yaml", text)


@pytest.fixture
def feasible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Feasible:
    return Feasible(tmp_path, capsys, "feasible", RX90, "--side-file", "none")


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    return dyn_core.load_robot(RX90)


def table(file: str) -> list[list[str]]:
    """Cells of the rows of a file; the first row holds the column names."""
    return [line.split(",") for line in Path(file).read_text().splitlines()]


def written(rows: list[list[str]]) -> str:
    return "\n".join(map(",".join, rows)) + "\n"


def test_a_slow_motion_passes(feasible: Feasible) -> None:
    motion = feasible.motion(0.2)
    printed = feasible(*motion)
    assert printed.out.startswith(feasible.json(*motion)["verdict"] + "\n\nMotors")
    assert "401 samples" in printed.out
    assert printed.err == ""
    before = Path(motion[1]).read_text()
    feasible.refused(*motion, "--out", motion[1], code="output-replaces-motion")
    assert Path(motion[1]).read_text() == before


@pytest.mark.parametrize(
    ("quantity", "factor"),
    [
        *(("velocity", factor) for factor in (0.0, 1e-3, -1.0, 57.3)),
        *(("acceleration", x) for x in (57.3, -57.3)),
    ],
)
def test_columns_that_contradict_the_positions_are_refused(
    quantity: str, factor: float, feasible: Feasible
) -> None:
    """For example a stream without velocities, or another unit or sign."""
    motion = feasible.motion(0.2)
    head, *rows = table(motion[1])
    column = head.index(f"{quantity}.joint_2")
    for row in rows:
        row[column] = repr(factor * float(row[column]))
    feasible.write("motion.csv", written([head, *rows]))
    place = {"file": motion[1], "element": f"column '{quantity}.joint_2'"}
    error = feasible.refused(*motion, code="motion-rates-contradict", others=0, **place)
    assert error["line"] > 1
    cause = error["values"]["cause"]
    values = cause["values"]
    assert (cause["code"], values["joint"]) == ("rates-unlike-changes", "joint_2")
    words = {"velocity": ("rad/s", "positions"), "acceleration": ("rad/s^2", "velocities")}
    assert (values["unit"], values["changing"]) == words[quantity]
    assert values["given"] == pytest.approx(factor * values["made"], rel=0.02)


def test_a_fast_motion_fails_and_its_slowed_copy_passes(feasible: Feasible) -> None:
    motion, report = feasible.motion(4.0), feasible.folder / "report.html"
    out = str(feasible.folder / "slower.csv")
    data = feasible.json(*motion, "--out", out, "--report", str(report), code=1)
    assert (data["feasible"], data["joint_names"]) == (False, NAMES)
    assert data["time_scaling"] > 1.0
    assert {failure["quantity"] for failure in data["failures"]} == {"velocity", "effort"}
    assert max(max(motor["speed_use"], motor["effort_use"]) for motor in data["motors"]) > 1.0
    assert [load["joint"] for load in data["bearings"]] == NAMES
    assert (data["limits"][0]["curve"], data["limits"][0]["power"]) == ([[0.0, 320.0]], None)
    slower = feasible.json("--trajectory", out)
    assert slower["time_scaling"] == 1.0
    assert slower["duration"] == pytest.approx(data["time_scaling"] * data["duration"], rel=1e-9)

    page = report.read_text()
    assert page.count("<svg viewBox") >= 18
    assert "http" not in page
    text = feasible(*motion, code=1).out
    assert text.startswith(data["verdict"])
    assert all(word in text for word in ("'joint_1'", "6.283 rad/s", "2.18 rad/s", "4.1 rad/s", "Bearings"))


def test_curves_and_power_limits_of_a_file_are_used(feasible: Feasible) -> None:
    motion = feasible.motion(1.0)
    feasible(*motion)
    curve = "curve: [[0, 320], [1.0, 320], [3.5, 200]], power: 150"
    text = f"joints:\n  joint_2: {{{curve}, braking_power: 120, continuous_effort: 100}}\n"
    limits = feasible.limits(f"{text}  joint_1: {{effort: 40, velocity: 2, position: [-1, 2]}}\n")
    data = feasible.json(*motion, *limits, code=1)
    failed = {(failure["joint"], failure["quantity"]) for failure in data["failures"]}
    assert failed >= {("joint_2", "power"), ("joint_1", "effort")}
    assert data["limits"][1]["curve"] == [[0.0, 320.0], [1.0, 320.0], [3.5, 200.0]]
    motor = data["motors"][1]
    assert motor["power_use"] == pytest.approx(motor["peak_power"] / 150.0)
    assert motor["continuous_use"] == pytest.approx(motor["rms_effort"] / 100.0)


def test_missing_velocities_and_accelerations_are_differences_of_positions(feasible: Feasible) -> None:
    expected = feasible.json(*feasible.motion(2.0))["time_scaling"]
    for quantities, derived in (
        (("position",), ["velocity", "acceleration"]),
        (("position", "velocity"), ["acceleration"]),
        (("position", "acceleration"), ["velocity"]),
    ):
        motion = feasible.motion(2.0, quantities)
        if (
            "velocity" in derived and len(quantities) > 1
        ):  # differences of positions with few digits would be inaccurate
            head, *rows = table(motion[1])
            rows = [[t, *(f"{float(x):.5f}" for x in row)] for t, *row in rows]
            feasible.write("motion.csv", written([head, *rows]))
        found = feasible.json(*motion)
        assert found["derived"] == derived
        assert found["time_scaling"] == pytest.approx(expected, rel=1e-3)
        assert f"dyn: warning: {motion[1]}: " in feasible(*motion).err
    spoilt = [[*row[:7], *(str(57.3 * float(x)) for x in row[7:])] for row in rows]
    feasible.write("motion.csv", written([head, *spoilt]))
    place = {"element": "column 'acceleration.joint_1'"}
    feasible.refused(*motion, code="motion-rates-contradict-in-several", others=5, **place)


def test_wrench(feasible: Feasible, robot: dyn_core.Robot) -> None:
    motion, root, tip = feasible.motion(0.2), robot.link_names[0], robot.link_names[-1]
    force = ("--wrench", f"{tip}=0,0,100,0,0,0")
    free, loaded = feasible.json(*motion), feasible.json(*motion, *force)
    assert loaded["motors"][1]["peak_effort"] != free["motors"][1]["peak_effort"]
    feasible.refused(*motion, "--wrench", "nonsense", code="option-malformed", given="nonsense")
    on_root = f"{root}=0,0,100,0,0,0"
    feasible.refused(*motion, "--wrench", on_root, code="wrench-on-fixed-link", link=root)
    feasible.refused(*motion, *force, *force, code="wrench-repeated", link=tip)


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("", "number-table-empty", {"expected": "position.<joint> for each joint"}),
        ("time,position.joint_1\n0,0\n", "motion-positions-missing", {"missing": NAMES[1:]}),
        ("time,nonsense\n0,0\n", "motion-column-unknown", {"element": "column 'nonsense'", "line": 1}),
        (f"{HEAD}{ROW}1{ROW[1:]}", "motion-samples-too-few", {"count": 2}),
        (f"{HEAD}{ROW}", "motion-single-sample", {"count": 1}),
        (f"{HEAD}{ROW}{ROW}", "line-time-not-increasing", {"line": 3, "time": 0.0, "previous": 0.0}),
        (f"{HEAD}0,0,0,nan,0,0,0\n", "line-value-not-finite", {"element": "column 'position.joint_3'"}),
    ],
)
def test_bad_trajectories(text: str, code: str, values: dict, feasible: Feasible) -> None:
    file = feasible.write("bad.csv", text)
    feasible.refused("--trajectory", file, code=code, file=file, **values)


JOINT = "joint 'joint_1'"
POSITION, CURVE, VELOCITY = (f"{JOINT}, {entry}" for entry in ("position", "curve", "velocity"))
NOT_POSITIVE, ABOVE = "actuator-limit-not-positive", "continuous-effort-above-limit"


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("joints: {joint_9: {effort: 3}}", "limits-unsupported", {"element": "joint 'joint_9'", "line": 1}),
        ("limits: {}", "entry-unknown", {"given": "limits", "known": ["joints"], "line": 1}),
        ("{}", "entry-missing", {"entry": "joints"}),
        ("position: [1, -1]", "joint-limits-inverted", {"lower": 1.0, "upper": -1.0}),
        ("effort: 0", "actuator-effort-not-positive", {"limit": "effort limit", "given": 0.0}),
        ("velocity: 0", NOT_POSITIVE, {"limit": "velocity limit", "given": 0.0}),
        ("power: -5", NOT_POSITIVE, {"limit": "power limit", "given": -5.0}),
        ("curve: [[0, 0], [1, 5]]", "curve-without-holding-effort", {}),
        ("curve: [[1, 5], [1, 4]]", "curve-speeds-not-increasing", {"after": 1.0, "before": 1.0}),
        ("curve: [[0, 5], [1]]", "curve-point-count", {"element": CURVE, "count": 1}),
        ("curve: []", "curve-empty", {"element": None, "owner": "joint 'joint_1'"}),
        ("curve: [[0, .inf]]", "node-not-finite", {"element": CURVE, "given": ".inf"}),
        ("position: [1]", "limits-range-count", {"element": POSITION, "count": 1}),
        ("position: [.inf, 2]", "limits-least-infinite", {"element": POSITION, "given": None}),
        ("position: [-1, -.inf]", "limits-greatest-infinite", {"element": POSITION, "given": None}),
        ("position: [.nan, 2]", "limits-not-number", {"element": POSITION, "given": ".nan"}),
        ("velocity: -.inf", "limits-greatest-infinite", {"element": VELOCITY}),
        ("velocity: .nan", "limits-not-number", {"element": VELOCITY, "given": ".nan"}),
        ("effort: nan", "limits-not-number", {"element": f"{JOINT}, effort", "given": "nan"}),
        ("power: [1]", "node-not-number", {"element": f"{JOINT}, power"}),
        ("curve: [[0, -5]]", "curve-point-invalid", {"speed": 0.0, "effort": -5.0}),
        ("curve: [[0, 5]], effort: 3", "limits-effort-and-curve", {}),
        ("force: 3", "entry-unknown", {"given": "force"}),
        ("continuous_effort: 400", ABOVE, {"given": 400.0, "limit": 320.0}),
        ("effort: 30, continuous_effort: 31", ABOVE, {"given": 31.0, "limit": 30.0}),
        ("curve: [[0, 5], [1, 9]], continuous_effort: 6", "continuous-effort-above-curve", {"limit": 5.0}),
    ],
)
def test_bad_limits(text: str, code: str, values: dict, feasible: Feasible) -> None:
    of_joint = not text.startswith(("joints", "limits", "{"))
    limits = feasible.limits(f"joints: {{joint_1: {{{text}}}}}" if of_joint else text)
    place = {"file": limits[1]} | ({"element": JOINT} if of_joint else {})
    feasible.refused(*feasible.motion(0.2), *limits, code=code, **{**place, **values})


@pytest.mark.parametrize(
    ("text", "code", "element", "line"),
    [
        ("joints:\n", "limits-empty", "joints", 1),
        ("joints: {}\n", "limits-empty", "joints", 1),
        ("joints:\n  joint_1: {power: 9}\n  joint_2: {}\n", "limits-of-joint-empty", "joint 'joint_2'", 3),
        ("joints:\n  joint_2:\n", "limits-of-joint-empty", "joint 'joint_2'", 2),
    ],
)
def test_limits_without_content_are_refused(
    text: str, code: str, element: str, line: int, feasible, robot
) -> None:
    limits = feasible.limits(text)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        read_limits(limits[1], robot)
    (warning,) = (one.message for one in caught)
    assert (warning.code, warning.element, warning.line) == (code, element, line)
    assert feasible(*feasible.motion(0.2), *limits).err == f"dyn: warning: {warning}\n"
    assert str(warning).startswith(f"{limits[1]}: ")


def test_limits_that_fail_at_any_duration_are_reported(feasible: Feasible) -> None:
    options = (*feasible.motion(0.2), *feasible.limits("joints: {joint_2: {effort: 30}}"))
    data = feasible.json(*options, code=1)
    assert (data["feasible"], data["time_scaling"]) == (False, None)
    out = feasible.folder / "slower.csv"
    for more in (["--json"], []):
        printed = feasible(*options, "--out", str(out), *more, code=1)
        assert printed.err.startswith("dyn: error: ")
        assert str(out) in printed.err
        assert data["verdict"] in (json.loads(printed.out)["verdict"] if more else printed.out)
        assert not out.exists()


def test_robots_that_cannot_follow_a_joint_motion_are_refused() -> None:
    """With passive or elastic joints, or on a free base, whose motion depends on the joints."""
    urdf = """<robot name="f"><link name="w"/><link name="b"/><link name="a"/>
      <joint name="root" type="floating"><parent link="w"/><child link="b"/></joint>
      <joint name="j" type="continuous"><parent link="b"/><child link="a"/></joint></robot>"""
    for robot in (dyn_core.load_robot(RX90, loops={"passive": ["joint_3"]}), dyn_core.load_robot(urdf)):
        with refused("passive-joints-unsupported", reference="motion"):
            dyn_core.Feasibility(robot)
    with refused("elastic-joint-unsupported", operation="a motion that is given", joint="base_yaw"):
        dyn_core.Feasibility(loop_robot("high_speed_machine"))


@pytest.mark.parametrize("nothing", ["none", "null", "~", "None", ".inf", "+.inf", ".Inf"])
def test_limits_can_be_removed(nothing: str, feasible: Feasible, robot: dyn_core.Robot) -> None:
    entries = ("velocity", "effort", "power", "braking_power", "continuous_effort")
    infinite = "inf" in nothing.lower()
    _, file = feasible.limits(
        f"joints:\n  joint_1: {{{', '.join(f'{entry}: {nothing}' for entry in entries)}}}\n"
        f"  joint_2: {{position: [none, 1.0], curve: {'none' if infinite else nothing}}}\n"
        f"  joint_3: {{position: [-1.0, {nothing}]}}\n"
        f"  joint_4: {{position: {'[-.inf, .inf]' if infinite else nothing}}}\n"
        "  joint_5: {position: [-.inf, 0.5]}\n"
    )
    found = read_limits(file, robot)
    first = found.of_joints[0]
    assert first.velocity == first.power == first.braking_power == first.continuous_effort == math.inf
    assert first.curve.efforts == (math.inf,)
    assert math.isfinite(first.upper)
    assert found.of_joints[1].curve.efforts == (math.inf,)
    assert found.lower[1:5].tolist() == [-math.inf, -1.0, -math.inf, -math.inf]
    assert found.upper[1:5].tolist() == [1.0, math.inf, math.inf, 0.5]
    assert math.isfinite(found.velocity[1])


def test_limits_from_data_equal_those_from_a_file(feasible: Feasible, robot: dyn_core.Robot) -> None:
    """Both have the same entries."""
    data = {"joints": {"joint_1": {"curve": [[0.0, 5.0], [1.0, 4.0]], "power": 3.0}}}
    assert read_limits(data, robot) == read_limits(feasible.limits(json.dumps(data))[1], robot)
    found = read_limits({"joints": {"joint_1": {"velocity": None, "position": [-math.inf, 1.0]}}}, robot)
    assert (found.velocity[0], found.lower[0], found.upper[0]) == (math.inf, -math.inf, 1.0)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        read_limits({"joints": {"joint_2": {}}}, robot)
    (warning,) = (one.message for one in caught)
    assert (warning.code, warning.element) == ("limits-of-joint-empty", "joint 'joint_2'")
    for effort in ("effort: 60", "effort: none", "curve: [[0, 60], [1, 10]]"):  # with a continuous limit only
        _, file = feasible.limits(f"joints: {{joint_1: {{{effort}, continuous_effort: 60}}}}")
        assert read_limits(file, robot).continuous_effort[0] == 60.0


def test_unknown_limits_are_named(feasible: Feasible) -> None:
    motion, page = feasible.motion(4.0), feasible.folder / "report.html"
    nothing = "{position: none, velocity: none, effort: none}"
    options = (*motion, *feasible.limits("joints:\n" + "".join(f"  {j}: {nothing}\n" for j in NAMES)))
    first, second, _ = feasible(*options, "--report", str(page)).out.split("\n", 2)
    assert first == feasible.json(*options)["verdict"]
    assert all(line in page.read_text() for line in (first, second))
    assert all(quantity in second for quantity in ("position", "velocity", "effort"))
    feasible.limits("joints:\n  joint_2: {effort: none}\n  joint_3: {effort: none, velocity: none}\n")
    unlimited = feasible.json(*options, code=1)["unlimited"]
    assert (unlimited["effort"], unlimited["velocity"]) == (["joint_2", "joint_3"], ["joint_3"])
    assert "position" not in unlimited
    assert unlimited["power"] == NAMES
    line = next(line for line in feasible(*options, code=1).out.splitlines() if "effort of" in line)
    assert "velocity of 'joint_3'; effort of 'joint_2', 'joint_3'" in line
    urdf = re.sub("<limit[^>]*/>", '<limit effort="0" velocity="0"/>', Path(RX90).read_text())
    feasible._words = ("feasible", feasible.write("rx90.urdf", urdf))
    assert feasible(*feasible.motion(0.2)).out.startswith(f"{first}\n{second}\n")


def test_continuous_effort_is_checked(feasible: Feasible) -> None:
    """The motors can make the motion once, but not repeatedly."""
    motion, page = feasible.motion(0.2), feasible.folder / "report.html"
    data = feasible.json(*motion)
    assert (data["repeatable"], data["overheating"]) == (True, [])
    rms = data["motors"][1]["rms_effort"]
    feasible(*motion, *feasible.limits(f"joints: {{joint_2: {{continuous_effort: {rms * (1.0 + 1e-6)!r}}}}}"))
    options = (*motion, *feasible.limits(f"joints: {{joint_2: {{continuous_effort: {0.8 * rms!r}}}}}"))
    first, second, _ = feasible(*options, "--report", str(page), code=1).out.split("\n", 2)
    assert first == data["verdict"]
    words = ("'joint_2'", f"{rms:.4g} N m", f"{0.8 * rms:.4g} N m", f"{0.2 * rms:.3g} N m")
    assert all(word in second for word in words)
    assert second in unescape(page.read_text())
    data = feasible.json(*options, code=1)
    assert (data["feasible"], data["time_scaling"], data["repeatable"]) == (True, 1.0, False)
    hot = {"joint": "joint_2", "value": rms, "limit": pytest.approx(0.8 * rms), "unit": "N m"}
    assert data["overheating"] == [hot]


def test_a_zero_limit_is_printed_without_a_sign(feasible: Feasible) -> None:
    """The motors have no torque left at this speed, and the motion needs torques of both signs."""
    nothing = "{curve: [[0, 900], [0.01, 0]], velocity: 9}"
    limits = feasible.limits("joints:\n" + "".join(f"  {joint}: {nothing}\n" for joint in NAMES))
    options = (*feasible.motion(1.0), *limits)
    out = feasible(*options, code=1).out
    assert " 0 N m" in out
    assert "-0 N m" not in out
    assert ": -0.0" not in feasible(*options, "--json", code=1).out


def test_the_motion_from_standard_input(feasible: Feasible, monkeypatch: pytest.MonkeyPatch) -> None:
    motion = feasible.motion(0.2)
    expected = feasible(*motion).out
    stream = ("--trajectory", "-")

    def given(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    given(Path(motion[1]).read_bytes())
    assert feasible(*stream).out == expected
    given(b"time,nonsense\n0,0\n")
    place = {"file": "standard input", "line": 1, "element": "column 'nonsense'"}
    feasible.refused(*stream, code="motion-column-unknown", **place)
    given(b"time,\xff\n")
    feasible.refused(*stream, code="input-not-utf8", file="standard input")
    monkeypatch.setattr("sys.stdin", None)
    feasible.refused(*stream, code="input-closed", file="standard input")
    feasible._words = ("feasible", "-")
    feasible.refused(*stream, code="input-ambiguous")
