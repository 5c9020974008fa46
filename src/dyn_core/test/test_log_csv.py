# SPDX-License-Identifier: Apache-2.0
"""Logs in CSV, as people and programs write them."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from log_case import Motion, arm, assert_same, motion, motion_csv, said, write_csv

import dyn_core
from dyn_core import DynError, Severity


@pytest.fixture
def m() -> Motion:
    return motion()


def test_a_clean_log_is_taken_as_it_is(m: Motion, tmp_path: Path) -> None:
    log = dyn_core.read_log(motion_csv(tmp_path / "log.csv", m))
    assert_same(log, m)
    assert log.qd is not None
    np.testing.assert_allclose(log.qd, m.qd, atol=1e-9)
    assert log.findings == ()
    assert log.segments == ((0, len(m.time)),)
    assert log.rate == pytest.approx(200.0)
    assert log.units == ("rad",) * 3


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", ", "])
def test_separators(m: Motion, separator: str, tmp_path: Path) -> None:
    assert_same(dyn_core.read_log(write_csv(tmp_path / "log", m.table, m.names, separator)), m)


def test_decimal_commas(m: Motion, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", m.table, m.names, ";")
    path.write_text(
        path.read_text().replace(".", ",").replace("position,", "position.").replace("effort,", "effort.")
    )
    assert_same(dyn_core.read_log(path), m)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# made by a robot\n# on a Friday\n\n" + text,
        lambda text: "#" + text,
        lambda text: "% " + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\n\n"),
        lambda text: (
            "\n".join(",".join(f'"{word}"' for word in line.split(",")) for line in text.splitlines()) + "\n"
        ),
        lambda text: text.replace(",", " , "),
        lambda text: "".join(f"{line},\n" for line in text.splitlines()),
        lambda text: "".join(
            f"{'mode' if k == 0 else 'AUTO'},{line}\n" for k, line in enumerate(text.splitlines())
        ),
    ],
    ids=["comments", "hash", "percent", "crlf", "bom", "blank", "quotes", "spaces", "trailing", "words"],
)
def test_ways_to_write(m: Motion, change: object, tmp_path: Path) -> None:
    assert callable(change)
    path = motion_csv(tmp_path / "log.csv", m)
    path.write_bytes(change(path.read_text()).encode())
    assert_same(dyn_core.read_log(path), m)


def test_gzip(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(dyn_core.read_log(packed), m)
    packed.write_bytes(packed.read_bytes()[:-2000])
    log = dyn_core.read_log(packed)
    assert 1000 < len(log.time) < len(m.time)
    assert "as in a file that was cut" in said(log)


@pytest.mark.parametrize(
    "names",
    [
        "t,q1,q2,q3,qd1,qd2,qd3,tau1,tau2,tau3",
        "timestamp,actual_q_0,actual_q_1,actual_q_2,actual_qd_0,actual_qd_1,actual_qd_2,tau0,tau1,tau2",
        "Time [s],position[0],position[1],position[2],velocity[0],velocity[1],velocity[2],effort[0],"
        "effort[1],effort[2]",
        "time_s,q_1,q_2,q_3,dq_1,dq_2,dq_3,torque_1_Nm,torque_2_Nm,torque_3_Nm",
        "%time,field.position0,field.position1,field.position2,field.velocity0,field.velocity1,"
        "field.velocity2,field.effort0,field.effort1,field.effort2",
    ],
)
def test_numbered_columns(m: Motion, names: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", m.table, names.split(","))
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.q, m.q, atol=1e-9)
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-7)
    assert log.joint_names == (
        ("joint_1", "joint_2", "joint_3")
        if "1,q2" in names or "_3," in names
        else ("joint_0", "joint_1", "joint_2")
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "{joint}_{what}",
        "{joint}.{what}",
        "/joint_states/{joint}/{what}",
        "{what} of {joint}",
        "measured_{what}_{joint}",
        "{what}/{joint}",
    ],
)
def test_named_columns_of_a_known_robot(m: Motion, pattern: str, tmp_path: Path) -> None:
    names = ["time"]
    for what in ("position", "velocity", "effort"):
        names += [pattern.format(joint=joint, what=what) for joint in m.joints]
    path = write_csv(tmp_path / "log.csv", m.table, names)
    robot = dyn_core.load_robot(arm(m.joints))
    assert_same(dyn_core.read_log(path, robot=robot), m)


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (
            "{what} {n}",
            "the columns number the joints 1 to 3: taken for 'shoulder', 'elbow', 'wrist', in this",
        ),
        (
            "J{n} {what}",
            "the columns number the joints 1 to 3: taken for 'shoulder', 'elbow', 'wrist', in this",
        ),
        ("Axis {n} {what} (SI)", "the columns number the joints 1 to 3"),
        ("{what}_{name}_joint", "names of joints taken: 'shoulder_joint' for 'shoulder', 'elbow_joint' for"),
        ("{what}.{NAME}", "names of joints taken: 'SHOULDER' for 'shoulder'"),
    ],
)
def test_joints_that_the_robot_calls_otherwise(m: Motion, names: str, note: str, tmp_path: Path) -> None:
    columns = ["time"]
    for what in ("position", "velocity", "effort"):
        columns += [
            names.format(what=what, n=k + 1, name=joint, NAME=joint.upper())
            for k, joint in enumerate(m.joints)
        ]
    robot = dyn_core.load_robot(arm(m.joints))
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", m.table, columns), robot=robot)
    assert_same(log, m)
    assert note in said(log)


def test_as_many_numbers_as_the_robot_has_joints(m: Motion, tmp_path: Path) -> None:
    names = ["t", "q1", "q2", "q3", "qd1", "qd2", "qd3", "tau1", "tau2", "tau3"]
    path = write_csv(tmp_path / "log.csv", m.table, names)
    robot = dyn_core.load_robot(arm((*m.joints, "finger")))
    with pytest.raises(DynError, match="the columns number 3 joints, but there are 4: 'shoulder', 'elbow'"):
        dyn_core.read_log(path, robot=robot)


def test_numbers_of_joints_in_two_ways(m: Motion, tmp_path: Path) -> None:
    names = ["t", "q_1", "q_2", "q_3", "dq_1", "dq_2", "dq_3", "tau_J1", "tau_J2", "tau_J3"]
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", m.table, names))
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-7)
    assert log.joint_names == ("joint_1", "joint_2", "joint_3")


def test_columns_of_the_tool_are_none_of_joints(m: Motion, tmp_path: Path) -> None:
    others = [
        "actual_TCP_speed_0",
        "actual_TCP_force_0",
        "pose.position.x",
        "wrench.force.z",
        "joint_temperatures_0",
    ]
    names = ["timestamp"]
    names += [f"actual_{what}_{k}" for what in ("q", "qd", "effort") for k in range(3)]
    table = np.column_stack([m.table, np.zeros((len(m.time), len(others)))])
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", table, [*names, *others]))
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-7)
    assert log.findings == ()


def test_motors_by_the_names_of_columns(m: Motion, tmp_path: Path) -> None:
    names = [
        "time",
        *(f"motor_{what}_{joint}" for what in ("position", "velocity", "torque") for joint in m.joints),
    ]
    path = write_csv(tmp_path / "log.csv", m.table, names)
    text = said(dyn_core.read_log(path))
    assert (
        "joints 'shoulder', 'elbow', 'wrist': its position is that of the motor, by the name of the column"
        in text
    )
    ratios = {"joints": {joint: {"ratio": 50.0} for joint in m.joints}}
    log = dyn_core.read_log(path, ratios)
    assert log.findings == ()
    np.testing.assert_allclose(log.tau, 50.0 * m.tau, atol=1e-6)
    both = [*names, *(f"joint_position_{joint}" for joint in m.joints)]
    table = np.column_stack([m.table, m.q / 50.0])
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", table, both))
    np.testing.assert_allclose(log.q, m.q / 50.0, atol=1e-9)


@pytest.mark.parametrize(
    "form",
    [
        "2024-05-31 23:59:{:09.6f}",
        "2024-05-31T23:59:{:09.6f}Z",
        "2024/05/31 23:59:{:09.6f}+02:00",
        "23:59:{:09.6f}",
        "2024-05-31 23:59:{:012.9f}",
    ],
)
def test_dates(m: Motion, form: str, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    lines = path.read_text().splitlines()
    for k, t in enumerate(m.time):
        lines[k + 1] = form.format(t) + lines[k + 1][lines[k + 1].index(",") :]
    path.write_text("\n".join(lines) + "\n")
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.time, m.time, atol=1e-6)
    np.testing.assert_allclose(log.q, m.q, atol=1e-9)
    assert log.findings == ()


def test_decimal_commas_between_spaces(m: Motion, tmp_path: Path) -> None:
    names = ["t", "q", "tau"]
    path = write_csv(tmp_path / "log.txt", m.table[:, [0, 1, 7]], names, " ", digits=9)
    path.write_text(path.read_text().replace(".", ","))
    np.testing.assert_allclose(dyn_core.read_log(path).q[:, 0], m.q[:, 0], atol=1e-6)


def test_units_in_a_second_line(m: Motion, tmp_path: Path) -> None:
    table = m.table.copy()
    table[:, 0] *= 1e3
    table[:, 1:4] = np.rad2deg(table[:, 1:4])
    lines = [",".join(m.names), ",".join(["ms", *["deg"] * 3, *["rad/s"] * 3, *["Nm"] * 3])]
    path = write_csv(tmp_path / "log.csv", table)
    path.write_text("\n".join([*lines, path.read_text()]))
    log = dyn_core.read_log(path)
    assert_same(log, m)
    assert "position of 'shoulder', 'elbow', 'wrist' converted from deg" in log.done


def test_commands_are_no_measurements(m: Motion, tmp_path: Path) -> None:
    names = [
        *m.names,
        *(f"target_position.{joint}" for joint in m.joints),
        *(f"tau_cmd_{joint}" for joint in m.joints),
    ]
    table = np.column_stack([m.table, m.q + 0.1, m.tau + 1.0])
    assert_same(dyn_core.read_log(write_csv(tmp_path / "log.csv", table, names)), m)
    without = [k for k, name in enumerate(names) if not name.startswith("effort")]
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", table[:, without], [names[k] for k in without]))
    np.testing.assert_allclose(log.tau, m.tau + 1.0, atol=1e-7)
    assert "no effort was measured: what was commanded is taken for it" in said(log)


def test_efforts_beside_currents(m: Motion, tmp_path: Path) -> None:
    names = [*m.names, *(f"current.{joint}" for joint in m.joints)]
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", np.column_stack([m.table, m.tau * 9.0]), names))
    assert_same(log, m)


def test_lines_that_cannot_be_used(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    lines = path.read_text().splitlines()
    lines[100] = lines[100].rsplit(",", 2)[0]
    lines[200] = "robot stopped"
    path.write_text("\n".join(lines) + "\n")
    log = dyn_core.read_log(path)
    assert len(log.time) == len(m.time) - 2
    assert f"2 of {len(m.time)} lines are left out; the first: line 101 has 8 values instead of 10" in said(
        log
    )


def test_the_last_line_of_a_file_that_was_cut(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    path.write_text(path.read_text()[:-3])
    log = dyn_core.read_log(path)
    assert len(log.time) == len(m.time) - 1
    assert "the last line has no end, as in a file that was cut: it is not used" in said(log)


def test_a_file_that_is_larger_than_what_is_read(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    log = dyn_core.read_log(path, max_values=10_000)
    assert len(log.time) == 1000
    np.testing.assert_allclose(log.q, m.q[:1000], atol=1e-9)
    assert "it is larger than what is read at once: only its first 1000 samples are used" in said(log)


def test_memory_is_bounded(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    lines = path.read_bytes()
    with path.open("ab") as file:
        for _ in range(200):
            file.write(lines[lines.index(b"\n") + 1 :])
    assert path.stat().st_size > 30_000_000
    dyn_core.examine_log(path, max_values=1000)
    tracemalloc.start()
    try:
        log = dyn_core.examine_log(path, max_values=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000
    assert "it is larger than what is read at once" in str(log.findings[0])


def test_columns_that_are_there_twice(m: Motion, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", np.column_stack([m.table, m.q[:, 0]]), [*m.names, m.names[1]])
    with pytest.raises(DynError, match="several columns could be the position of joint 'shoulder': 'posi"):
        dyn_core.read_log(path)


def test_the_time_of_the_table_beside_those_of_headers(m: Motion, tmp_path: Path) -> None:
    names = ["__time", "/joint_states/header/stamp", "/other/header/stamp", *m.names[1:]]
    table = np.column_stack([m.time, m.time * 0.9, m.time * 0.8, m.table[:, 1:]])
    assert_same(dyn_core.read_log(write_csv(tmp_path / "log.csv", table, names)), m)


def test_joint_states_as_ros2_topic_echo_writes_them(m: Motion, tmp_path: Path) -> None:
    lines = [
        ",".join(
            [
                str(1_700_000_000 + int(t)),
                str(round(t % 1.0 * 1e9)),
                "base",
                *m.joints,
                *(f"{value:.12g}" for values in (m.q[k], m.qd[k], m.tau[k]) for value in values),
            ]
        )
        for k, t in enumerate(m.time)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    log = dyn_core.read_log(path)
    assert_same(log, m)
    assert log.findings == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "no line of numbers among the first"),
        ("time,position.a,effort.a\n", "no line of numbers among the first"),
        ("robots are nice\n" * 100, "the first line is 'robots are nice'"),
        ("time,position.a,effort.a\n0,0,0\n", "it is too short: 1 samples in 0 s"),
        (
            "a,b,c\n" + "".join(f"{k},{k},{k}\n" for k in range(200)),
            "no column is known to be of a joint: there are",
        ),
        ("time,position.a,effort.a\n" + "0,1\n" * 200, "line 2 has 2 values, but there are 3 names"),
        (
            "position.a,effort.a\n" + "".join(f"{k},{k}\n" for k in range(200)),
            "no column is the time: there are 'position.a', 'effort.a'; give a map",
        ),
        (
            "time,stamp,position.a,effort.a\n" + "".join(f"{k},{k},{k},{k}\n" for k in range(200)),
            "several columns could be the time: 'time', 'stamp'",
        ),
        (
            "time,position.a,pos_a,effort.a\n" + "".join(f"{k},{k},{k},{k}\n" for k in range(200)),
            "several columns could be the position of joint 'a': 'pos_a', 'position.a'; give a map",
        ),
        (
            "time,position.a,velocity.a\n" + "".join(f"{k / 100},{k % 7},{k % 3}\n" for k in range(200)),
            "there is no effort of a joint in it",
        ),
        ("\0\1\2" * 1000, "neither text nor a kind of log that is known"),
        ("time,position.a,effort.a\n" + "x,y,z\n" * 300 + "0,0,0\n", "no line of numbers among the first"),
    ],
)
def test_files_that_are_no_logs(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(DynError) as caught:
        dyn_core.read_log(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    report = dyn_core.examine_log(path)
    assert report.log is None
    assert report.findings[0].severity is Severity.ERROR


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DynError, match=r"no such file: '.*' is neither a log nor the directory of a bag"):
        dyn_core.read_log(tmp_path / "log.csv")
    with pytest.raises(DynError, match=r"this is a directory without metadata.yaml, .mcap or .db3 files"):
        dyn_core.read_log(tmp_path)
    with pytest.raises(DynError, match="no such file"):
        dyn_core.read_log("a\0b")


def test_utf16(m: Motion, tmp_path: Path) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    path.write_bytes(path.read_text().encode("utf-16"))
    with pytest.raises(DynError, match="the file is UTF-16: save it as UTF-8"):
        dyn_core.read_log(path)


def test_columns_without_names_go_by_their_numbers(m: Motion, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", m.table)
    with pytest.raises(DynError, match="no column is known to be of a joint: there are '1', '2'"):
        dyn_core.read_log(path)
    mapping = {
        "time": {"column": "1", "unit": "s"},
        "joints": {joint: {"position": str(k + 2), "effort": str(k + 8)} for k, joint in enumerate(m.joints)},
    }
    assert_same(dyn_core.read_log(path, mapping), m)


@pytest.mark.parametrize(("unit", "factor"), [("Ncm", 100.0), ("N cm", 100.0), ("Nmm", 1000.0)])
@pytest.mark.parametrize("second_line", [False, True])
def test_torques_in_small_units(
    m: Motion, unit: str, factor: float, second_line: bool, tmp_path: Path
) -> None:
    table = m.table.copy()
    table[:, 7:] *= factor
    units = ["s", *["rad"] * 3, *["rad/s"] * 3, *[unit] * 3]
    lines = [",".join(m.names), ",".join(units)]
    if not second_line:
        lines = [",".join(f"{name} [{unit}]" for name, unit in zip(m.names, units, strict=True))]
    path = write_csv(tmp_path / "log.csv", table)
    path.write_text("\n".join([*lines, path.read_text()]))
    assert_same(dyn_core.read_log(path), m)


@pytest.mark.parametrize("second_line", [False, True])
def test_units_that_nobody_knows_are_refused(m: Motion, second_line: bool, tmp_path: Path) -> None:
    units = ["s", *["rad"] * 3, *["rad/s"] * 3, *["kgf cm"] * 3]
    lines = [",".join(m.names), ",".join(units)]
    if not second_line:
        lines = [",".join(f"{name} [{unit}]" for name, unit in zip(m.names, units, strict=True))]
    path = write_csv(tmp_path / "log.csv", m.table)
    path.write_text("\n".join([*lines, path.read_text()]))
    with pytest.raises(
        DynError,
        match="joint 'shoulder': the name of its effort ends in 'kgf cm', which is no unit of effort",
    ):
        dyn_core.read_log(path)
    assert_same(dyn_core.read_log(path, mapping={"units": {"effort": "N m"}}), m)


def test_remarks_in_brackets_are_no_units(m: Motion, tmp_path: Path) -> None:
    names = [m.names[0], *(f"{name} (measured)" for name in m.names[1:])]
    assert_same(dyn_core.read_log(write_csv(tmp_path / "log.csv", m.table, names)), m)


def test_columns_without_names_show_what_a_map_is(m: Motion, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    np.savetxt(path, m.table, delimiter=",", fmt="%.9g")
    with pytest.raises(DynError, match="no column is known to be of a joint") as caught:
        dyn_core.read_log(path)
    assert "'  elbow: {position: {column: 2}, effort: {column: " in str(caught.value)
    assert "'time: {column: 1}'" in str(caught.value)


def test_a_log_in_which_nothing_happens(m: Motion, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    table = np.tile(m.table[:1], (len(m.time), 1))
    table[:, 0] = m.time
    np.savetxt(path, table, delimiter=",", header=",".join(m.names), comments="", fmt="%.9g")
    with pytest.raises(DynError, match="all efforts are constant"):
        dyn_core.read_log(path)


def test_a_column_of_a_joint_that_mimics_another(tmp_path: Path) -> None:
    one = '<parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/><limit effort="9" velocity="9"/>'
    robot = dyn_core.load_robot(
        '<robot name="gripper"><link name="base"/><link name="one"/><link name="two"/>'
        f'<joint name="finger_1" type="continuous">{one.format("base", "one")}</joint>'
        f'<joint name="finger_2" type="continuous">{one.format("base", "two")}'
        '<mimic joint="finger_1"/></joint>'
        "</robot>"
    )
    two = motion(joints=2)
    path = tmp_path / "log.csv"
    header = ["time", *(f"{what}.finger_{k}" for what in ("position", "velocity", "effort") for k in (1, 2))]
    np.savetxt(path, two.table, delimiter=",", header=",".join(header), comments="", fmt="%.9g")
    log = dyn_core.read_log(path, robot=robot)
    assert "joint 'finger_2': it mimics 'finger_1', whose column says where it is" in said(log)
    assert "no joint of this name" not in said(log)
    with pytest.raises(DynError, match="held: 'finger_2' mimics 'finger_1': leave it out"):
        dyn_core.read_log(path, {"held": {"finger_2": 0.0}}, robot)
