# SPDX-License-Identifier: Apache-2.0
"""Logs in CSV, in the dialects of people and programs."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest
from log_case import arm, assert_same, codes, found, motion, motion_csv, write_csv
from refusals import refused, summary

import dyn_core
from dyn_core import DynError, Log, Robot, Severity
from dyn_core.core.messages import Message

QUANTITIES = ("position", "velocity", "effort")
Read = Callable[..., Log]
M = motion()


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that writes a table with leading text lines and reads it as a log."""

    def log(
        table: np.ndarray,
        head: Sequence[str] | str,
        mapping: Mapping[str, object] | None = None,
        robot: Robot | None = None,
        **written: object,
    ) -> Log:
        path = write_csv(tmp_path / "log.csv", table, **written)
        lines = head if isinstance(head, str) else ",".join(head)
        path.write_text(f"{lines}\n{path.read_text()}" if lines else path.read_text())
        return dyn_core.read_log(path, mapping, robot)

    return log


def names_of(pattern: str, joints: Sequence[str] = M.joints) -> list[str]:
    """Return the names of the time column and of all signals, by quantity and joint."""
    numbered = [(what, k, joint) for what in QUANTITIES for k, joint in enumerate(joints, start=1)]
    return ["time", *(pattern.format(what=w, joint=j, JOINT=j.upper(), n=k) for w, k, j in numbered)]


def test_a_clean_log_is_unchanged(tmp_path: Path) -> None:
    log = dyn_core.read_log(motion_csv(tmp_path / "log.csv", M))
    assert_same(log, M)
    assert log.qd is not None
    np.testing.assert_allclose(log.qd, M.qd, atol=1e-9)
    assert (log.findings, log.segments, log.units) == ((), ((0, len(M.time)),), ("rad",) * 3)
    assert log.rate == pytest.approx(200.0)


def with_decimal_commas(text: str) -> str:
    head, rest = text.replace(",", ";").split("\n", 1)
    return f"{head}\n{rest.replace('.', ',')}"


WAYS: dict[str, Callable[[str], str]] = {
    **{f"separator {new!r}": methodcaller("replace", ",", new) for new in (";", "\t", "|", " ", ", ", " , ")},
    "decimal commas": with_decimal_commas,
    "comments": lambda text: "# made by a robot\n# on a Friday\n\n" + text,
    "hash": lambda text: "#" + text,
    "percent": lambda text: "% " + text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "quotes": lambda text: "".join('"' + line.replace(",", '","') + '"\n' for line in text.splitlines()),
    "trailing": lambda text: text.replace("\n", ",\n"),
    "words": lambda text: "mode," + text.strip().replace("\n", "\nAUTO,") + "\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_dialects(way: str, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    path.write_bytes(WAYS[way](path.read_text()).encode())
    assert_same(dyn_core.read_log(path), M)


def test_gzip(tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(dyn_core.read_log(packed), M)
    packed.write_bytes(packed.read_bytes()[:-2000])
    log = dyn_core.read_log(packed)
    assert 1000 < len(log.time) < len(M.time)
    assert "table-last-line-cut" in codes(log)


@pytest.mark.parametrize(
    ("first", "names"),
    [
        (1, "t,q{},qd{},tau{}"),
        (0, "timestamp,actual_q_{},actual_qd_{},tau{}"),
        (0, "Time [s],position[{}],velocity[{}],effort[{}]"),
        (1, "time_s,q_{},dq_{},torque_{}_Nm"),
        (0, "%time,field.position{},field.velocity{},field.effort{}"),
        (1, "t,q_{},dq_{},tau_J{}"),
    ],
)
def test_numbered_columns(first: int, names: str, read: Read) -> None:
    time, *patterns = names.split(",")
    head = [time, *(pattern.format(k) for pattern in patterns for k in range(first, first + 3))]
    log = read(M.table, head)
    np.testing.assert_allclose(log.q, M.q, atol=1e-9)
    np.testing.assert_allclose(log.tau, M.tau, atol=1e-7)
    assert log.joint_names == tuple(f"joint_{k}" for k in range(first, first + 3))


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        *((f"{{joint}}{between}{{what}}", "") for between in "_."),
        ("/joint_states/{joint}/{what}", ""),
        ("{what} of {joint}", ""),
        ("measured_{what}_{joint}", ""),
        ("{what}/{joint}", ""),
        *((pattern, "columns-numbered") for pattern in ("{what} {n}", "J{n} {what}", "Axis {n} {what} (SI)")),
        *((pattern, "joint-names-matched") for pattern in ("{what}_{joint}_joint", "{what}.{JOINT}")),
    ],
)
def test_columns_of_a_known_robot(pattern: str, code: str, read: Read) -> None:
    log = read(M.table, names_of(pattern), robot=dyn_core.load_robot(arm(M.joints)))
    assert_same(log, M)
    if code == "columns-numbered":
        found(log, code, first="1", last="3", joints=M.joints)
    elif code:
        given = [joint.upper() if "JOINT" in pattern else f"{joint}_joint" for joint in M.joints]
        pairs = zip(given, M.joints, strict=True)
        found(log, code, pairs=tuple(Message("joint-name-matched", given=g, joint=j) for g, j in pairs))


def test_numbered_columns_of_another_count(read: Read) -> None:
    robot = dyn_core.load_robot(arm((*M.joints, "finger")))
    with refused("columns-joints-mismatch", given=3, expected=4, known=[*M.joints, "finger"]):
        read(M.table, ["t", *(f"{what}{k}" for what in ("q", "qd", "tau") for k in (1, 2, 3))], robot=robot)


def test_columns_of_the_tool_are_not_taken_for_joints(read: Read) -> None:
    names = ["timestamp", *(f"actual_{what}_{k}" for what in ("q", "qd", "effort") for k in range(3))]
    others = ("actual_TCP_speed_0", "actual_TCP_force_0", "pose.position.x", "wrench.force.z")
    table = np.column_stack([M.table, np.zeros((len(M.time), 5))])
    log = read(table, [*names, *others, "joint_temperatures_0"])
    np.testing.assert_allclose(log.tau, M.tau, atol=1e-7)
    assert log.findings == ()


def test_motors_by_the_names_of_columns(read: Read) -> None:
    names = [f"motor_{name}" if "." in name else name for name in M.names]
    found(read(M.table, names), "position-of-motor", *M.joints)
    log = read(M.table, names, {"joints": {joint: {"ratio": 50.0} for joint in M.joints}})
    assert log.findings == ()
    np.testing.assert_allclose(log.tau, 50.0 * M.tau, atol=1e-6)
    both = [*names, *(f"joint_position_{joint}" for joint in M.joints)]
    log = read(np.column_stack([M.table, M.q / 50.0]), both)
    np.testing.assert_allclose(log.q, M.q / 50.0, atol=1e-9)


@pytest.mark.parametrize(
    "form",
    [
        *("2024-05-31 23:59:{:09.6f}", "2024-05-31T23:59:{:09.6f}Z", "2024/05/31 23:59:{:09.6f}+02:00"),
        *("23:59:{:09.6f}", "2024-05-31 23:59:{:012.9f}"),
    ],
)
def test_dates(form: str, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    head, *lines = path.read_text().splitlines()
    dated = [form.format(t) + line[line.index(",") :] for t, line in zip(M.time, lines, strict=True)]
    path.write_text("\n".join([head, *dated]) + "\n")
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.time, M.time, atol=1e-6)
    np.testing.assert_allclose(log.q, M.q, atol=1e-9)
    assert log.findings == ()


def test_decimal_commas_between_spaces(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.txt", M.table[:, [0, 1, 7]], ["t", "q", "tau"], " ", digits=9)
    path.write_text(path.read_text().replace(".", ","))
    np.testing.assert_allclose(dyn_core.read_log(path).q[:, 0], M.q[:, 0], atol=1e-6)


def with_units(second_line: bool, *units: str) -> str:
    """Return the first lines of a table with the units of time, positions, velocities and efforts."""
    of_columns = [units[0], *(unit for unit in units[1:] for _ in M.joints)]
    if second_line:
        return f"{','.join(M.names)}\n{','.join(of_columns)}"
    return ",".join(f"{name} [{unit}]" for name, unit in zip(M.names, of_columns, strict=True))


def test_units_in_a_second_line(read: Read) -> None:
    table = np.column_stack([M.time * 1e3, np.rad2deg(M.q), M.qd, M.tau])
    log = read(table, with_units(True, "ms", "deg", "rad/s", "Nm"))
    assert_same(log, M)
    assert Message("quantity-converted", quantity="position", joints=M.joints, unit="deg") in log.done


@pytest.mark.parametrize(("unit", "factor"), [("Ncm", 100.0), ("N cm", 100.0), ("Nmm", 1000.0)])
@pytest.mark.parametrize("second_line", [False, True])
def test_torques_in_small_units(unit: str, factor: float, second_line: bool, read: Read) -> None:
    table = np.column_stack([M.time, M.q, M.qd, M.tau * factor])
    assert_same(read(table, with_units(second_line, "s", "rad", "rad/s", unit)), M)


@pytest.mark.parametrize("second_line", [False, True])
def test_unknown_units_are_refused(second_line: bool, read: Read) -> None:
    head = with_units(second_line, "s", "rad", "rad/s", "kgf cm")
    with refused("column-unit-unknown", joint="shoulder", quantity="effort", given="kgf cm"):
        read(M.table, head)
    assert_same(read(M.table, head, {"units": {"effort": "N m"}}), M)


def test_other_columns_beside_those_of_signals(read: Read) -> None:
    """Commands, currents, header stamps, remarks in brackets, and a repeated column."""
    names = [*M.names, *(f"{what}_{joint}" for what in ("target_position", "tau_cmd") for joint in M.joints)]
    table = np.column_stack([M.table, M.q + 0.1, M.tau + 1.0])
    assert_same(read(table, names), M)
    without = [k for k, name in enumerate(names) if not name.startswith("effort")]
    log = read(table[:, without], [names[k] for k in without])
    np.testing.assert_allclose(log.tau, M.tau + 1.0, atol=1e-7)
    assert "effort-commanded" in codes(log)
    currents = [f"current.{joint}" for joint in M.joints]
    assert_same(read(np.column_stack([M.table, M.tau * 9.0]), [*M.names, *currents]), M)
    names = ["__time", "/joint_states/header/stamp", "/other/header/stamp", *M.names[1:]]
    assert_same(read(np.column_stack([M.time, M.time * 0.9, M.time * 0.8, M.table[:, 1:]]), names), M)
    assert_same(read(M.table, [M.names[0], *(f"{name} (measured)" for name in M.names[1:])]), M)
    with refused("column-ambiguous", joint="shoulder", quantity="position"):
        read(np.column_stack([M.table, M.q[:, 0]]), [*M.names, M.names[1]])


def test_unusable_lines_are_left_out(tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    lines = path.read_text().splitlines()
    lines[100] = lines[100].rsplit(",", 2)[0]
    lines[200] = "robot stopped"
    path.write_text("\n".join(lines) + "\n")
    log = dyn_core.read_log(path)
    assert len(log.time) == len(M.time) - 2
    cause = Message("table-line-values", first_line=101, given=8, expected=10)
    found(log, "table-lines-left-out", count=2, total=len(M.time), cause=cause)
    path.write_text(path.read_text()[:-3])
    log = dyn_core.read_log(path)
    assert len(log.time) == len(M.time) - 3
    assert "table-last-line-cut" in codes(log)


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    lines = path.read_bytes()
    with path.open("ab") as file:
        for _ in range(200):
            file.write(lines[lines.index(b"\n") + 1 :])
    assert path.stat().st_size > 30_000_000
    log = dyn_core.read_log(path, max_values=10_000)
    np.testing.assert_allclose(log.q, M.q[:1000], atol=1e-9)
    found(log, "log-too-large", count=1000)
    tracemalloc.start()
    try:
        report = dyn_core.examine_log(path, max_values=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000
    assert report.findings[0].code == "log-too-large"


def test_joint_states_as_ros2_topic_echo_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with path.open("w") as file:
        for t, *row in M.table.tolist():
            stamp = f"{1_700_000_000 + int(t)},{round(t % 1.0 * 1e9)}"
            values = ",".join(f"{value:.12g}" for value in row)
            file.write(f"{stamp},base,{','.join(M.joints)},{values}\n")
    log = dyn_core.read_log(path)
    assert_same(log, M)
    assert log.findings == ()


def counted(names: str) -> str:
    """Return a table of these columns; each value contains its line number."""
    lines = (",".join([str(k)] * len(names.split(","))) for k in range(200))
    return "\n".join([names, *lines, ""])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "log-file-empty"),
        ("\n\n", "table-without-numbers: 2, "),
        ("time,position.a,effort.a\n", "table-without-numbers: 1, time,position.a,effort.a"),
        ("robots are nice\n" * 100, "table-without-numbers: 100, robots are nice"),
        ("t,q,tau\n" + "x,y,z\n" * 300 + "0,0,0\n", "table-without-numbers: 200, t,q,tau"),
        ("time,position.a,effort.a\n0,0,0\n", "log-too-short: 1, 0, 100, 1"),
        ("t,q,tau\n" + "0,1\n" * 200, "table-names-count: 3, 2, 2, t,q,tau"),
        ("\0\1\2" * 1000, "log-format-unknown"),
        (counted("a,b,c"), "log-columns-unknown: [a, b, c]"),
        (counted("position.a,effort.a"), "time-column-missing: [position.a, effort.a]"),
        (counted("time,stamp,position.a,effort.a"), "time-column-ambiguous: [time, stamp]"),
        (counted("time,position.a,pos_a,effort.a"), "column-ambiguous: [pos_a, position.a], a, position"),
        ("t,q,qd\n" + "".join(f"{k / 100},{k % 7},{k % 3}\n" for k in range(200)), "log-without-efforts"),
        ("t,q,tau\n" + "".join(f"{k / 100},nan,nan\n" for k in range(200)), "log-without-positions"),
        ("t,q,tau\n" + "".join(f"{k / 100},1,2\n" for k in range(200)), "efforts-constant"),
    ],
)
def test_files_that_are_not_logs_are_refused(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(DynError) as caught:
        dyn_core.read_log(path)
    assert (summary(caught.value), caught.value.file) == (found, str(path))
    report = dyn_core.examine_log(path)
    assert report.log is None
    assert report.findings[0].severity is Severity.ERROR


def test_paths_without_a_log_are_refused(tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", M)
    path.write_bytes(path.read_text().encode("utf-16"))
    cases = ((tmp_path / "no.csv", "log-missing"), (path, "file-utf-16"), ("a\0b", "path-with-null"))
    for given, code in cases:
        with refused(code):
            dyn_core.read_log(given)
    path.unlink()
    with refused("directory-without-bag"):
        dyn_core.read_log(tmp_path)


def test_columns_without_names_are_numbered(read: Read) -> None:
    with refused("log-columns-numbered", known=[str(k) for k in range(1, 11)], joint="elbow"):
        read(M.table, "")
    joints = {joint: {"position": str(k + 2), "effort": str(k + 8)} for k, joint in enumerate(M.joints)}
    assert_same(read(M.table, "", {"time": {"column": "1", "unit": "s"}, "joints": joints}), M)


def test_a_column_of_a_mimic_joint(read: Read) -> None:
    end = "</joint></robot>"
    text = arm(("finger_1", "finger_2")).replace(end, f'<mimic joint="finger_1"/>{end}')
    robot = dyn_core.load_robot(text)
    two = motion(joints=2)
    names = names_of("{what}.finger_{n}", two.joints)
    log = read(two.table, names, robot=robot)
    found(log, "joint-column-of-mimic", "finger_2", leader="finger_1")
    assert "joint-not-of-robot" not in codes(log)
    with refused("held-joint-mimics", joint="finger_2", leader="finger_1"):
        read(two.table, names, {"held": {"finger_2": 0.0}}, robot)
