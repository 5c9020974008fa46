# SPDX-License-Identifier: Apache-2.0
"""Logs in ROS 2 bags of both storage formats, complete and truncated."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_case import Motion, arm, assert_same, codes, found, motion
from refusals import refused

import dyn_core
from dyn_core import Log
from dyn_core.core.messages import Message
from dyn_core.logs.readers.bag import MessageTypes
from dyn_core.logs.readers.bag_messages import RawMessage

rosbags2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags is not installed")
typesys = pytest.importorskip("rosbags.typesys")

SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * SECOND
STORAGES = {"mcap": rosbags2.StoragePlugin.MCAP, "sqlite3": rosbags2.StoragePlugin.SQLITE3}
HEADER = "std_msgs/Header header"
POINT = "trajectory_msgs/JointTrajectoryPoint"
INTERFACE = "control_msgs/InterfaceValue"
TYPES = {
    "dyn_msgs/msg/JointTorques": f"{HEADER}\nstring[] name\nfloat64[] inertial\nfloat64[] coriolis\n"
    "float64[] gravity\nfloat64[] friction\nfloat64[] total\nuint8 status\n",
    "control_msgs/msg/JointTrajectoryControllerState": f"{HEADER}\nstring[] joint_names\n"
    f"{POINT} reference\n{POINT} feedback\n{POINT} error\n{POINT} output\n",
    "control_msgs/msg/DynamicJointState": f"{HEADER}\nstring[] joint_names\n{INTERFACE}[] interface_values\n"
    f"{'=' * 80}\nMSG: {INTERFACE}\nstring[] interface_names\nfloat64[] values\n",
}
STORE = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
for name, text in TYPES.items():
    types = typesys.get_types_from_msg(text, name)
    STORE.register({key: value for key, value in types.items() if key not in STORE.fielddefs})

Items = list[tuple[int, Any]]
Record = Callable[..., Path]
M = motion()


def of_type(kind: str, stamp: int | None = None, /, **fields: Any) -> Any:
    """Return a message; a stamp (ns) adds a header."""
    if stamp is not None:
        time = of_type("builtin_interfaces/msg/Time", sec=stamp // SECOND, nanosec=stamp % SECOND)
        fields["header"] = of_type("std_msgs/msg/Header", stamp=time, frame_id="")
    return STORE.types[kind](**fields)


def joint_state(stamp: int, joints: Sequence[str], *signals: Sequence[float]) -> Any:
    """Return a message with positions, or with velocities and efforts, too."""
    q, qd, tau = (np.array(values, dtype=float) for values in (*signals, (), ())[:3])
    kind = "sensor_msgs/msg/JointState"
    return of_type(kind, stamp, name=list(joints), position=q, velocity=qd, effort=tau)


def each(m: Motion, message: Callable[[int, int], Any]) -> Items:
    """Return messages with their receive times; a function makes them from stamp and sample."""
    stamps = [EPOCH + round(t * SECOND) for t in m.time]
    return [(stamp, message(stamp, k)) for k, stamp in enumerate(stamps)]


def joint_states(m: Motion, part: slice = slice(None)) -> Items:
    """Return a motion, or only some of its joints, as messages."""
    arrays = (m.q[:, part], m.qd[:, part], m.tau[:, part])
    return each(m, lambda stamp, k: joint_state(stamp, m.joints[part], *(array[k] for array in arrays)))


def write_bag(path: Path, topics: dict[str, Items], storage: str = "mcap") -> Path:
    """Write messages, each with its receive time (ns), by topic."""
    with rosbags2.Writer(path, version=9, storage_plugin=STORAGES[storage]) as writer:
        entries = []
        for topic, items in topics.items():
            connection = writer.add_connection(topic, items[0][1].__msgtype__, typestore=STORE)
            entries += [(received, connection, message) for received, message in items]
        for received, connection, message in sorted(entries, key=lambda entry: entry[0]):
            writer.write(connection, received, STORE.serialize_cdr(message, message.__msgtype__))
    return path


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a function that writes topics as a new bag, and returns its path."""
    return lambda topics: write_bag(tmp_path / f"bag_{len(list(tmp_path.iterdir()))}", topics)


def motion_bag(path: Path, storage: str, m: Motion) -> Path:
    return write_bag(path, {"/joint_states": joint_states(m)}, storage)


def bag_file(path: Path) -> Path:
    return next(file for file in path.iterdir() if file.suffix in (".mcap", ".db3"))


@pytest.mark.parametrize("storage", STORAGES)
def test_joint_states(storage: str, tmp_path: Path) -> None:
    bag = motion_bag(tmp_path / "bag", storage, M)
    log = dyn_core.read_log(bag)
    assert_same(log, M)
    assert log.qd is not None
    np.testing.assert_array_equal(log.qd, M.qd)
    assert log.findings == ()
    assert_same(dyn_core.read_log(bag_file(bag)), M)
    (bag / "metadata.yaml").unlink()
    log = dyn_core.read_log(bag)
    assert_same(log, M)
    found(log, "bag-without-metadata", remedy=Message("bag-file-alone"))
    (bag / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 5}")
    log = dyn_core.read_log(bag)
    assert_same(log, M)
    assert "bag-unreadable-as-whole" in codes(log)
    # A file is known by its contents.
    shutil.move(bag_file(bag), tmp_path / "log.csv")
    assert_same(dyn_core.read_log(tmp_path / "log.csv"), M)


def test_a_bag_of_several_files(tmp_path: Path) -> None:
    count = len(M.time)
    halves = (np.arange(count // 2), np.arange(count // 2, count))
    whole = tmp_path / "whole"
    whole.mkdir()
    for k, half in enumerate(halves):
        part = motion_bag(tmp_path / f"part_{k}", "mcap", M.part(half))
        shutil.move(bag_file(part), whole / f"bag_{k}.mcap")
    log = dyn_core.read_log(whole)
    assert_same(log, M)
    found(log, "bag-without-metadata", remedy=Message("bag-files-alone", count=2))
    last = whole / "bag_1.mcap"
    last.write_bytes(last.read_bytes()[:-1000])
    log = dyn_core.read_log(whole)
    assert len(halves[0]) < len(log.time) < count + 1
    assert "bag-cut" in codes(log)


@pytest.fixture(scope="module", params=STORAGES)
def long_bag(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Motion]:
    m = motion(joints=7, duration=20.0, rate=1000.0)
    return bag_file(motion_bag(tmp_path_factory.mktemp("long") / "bag", request.param, m)), m


def cut(file: Path, part: float, m: Motion, path: Path) -> Log:
    """Return the log of the first part of a bag, and check that almost all samples in it are read."""
    data = file.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    log = dyn_core.read_log(path)
    assert 0.8 * part * len(m.time) < len(log.time) <= len(m.time)
    np.testing.assert_array_equal(log.q, m.q[: len(log.time)])
    np.testing.assert_array_equal(log.tau, m.tau[: len(log.time)])
    return log


@pytest.mark.parametrize("part", [0.4, 0.7, 0.99])
def test_a_truncated_bag_is_read(long_bag: tuple[Path, Motion], part: float, tmp_path: Path) -> None:
    file, m = long_bag
    log = cut(file, part, m, tmp_path / f"cut{file.suffix}")
    found(log, "bag-cut", count=len(log.time))


@pytest.mark.parametrize("part", [0.3, 0.5, 0.6, 0.75, 0.9])
@pytest.mark.parametrize("letters", [4, 200, 900])
def test_an_sqlite_bag_can_be_truncated_anywhere(letters: int, part: float, tmp_path: Path) -> None:
    """Rows on one page or several, trees of two or three levels, and root pages that point beyond the end."""
    m = motion(joints=7, duration=8.0, rate=250.0)
    m = replace(m, joints=tuple(f"{name:_<{letters}}" for name in m.joints))
    file = bag_file(motion_bag(tmp_path / "bag", "sqlite3", m))
    assert "bag-cut" in codes(cut(file, part, m, file))


def test_an_sqlite_bag_with_overwritten_pages(tmp_path: Path) -> None:
    """Messages after the overwritten pages are read."""
    m = motion(joints=6, duration=4.0, rate=500.0)
    file = bag_file(motion_bag(tmp_path / "bag", "sqlite3", m))
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 9000] = b"\xff" * 9000
    file.write_bytes(data)
    log = dyn_core.read_log(file)
    assert 0.95 * len(m.time) < len(log.time) < len(m.time)
    rows = np.searchsorted(m.time, log.time - log.time[0] + m.time[0] - 1e-4)
    found(log, "gaps-filled", samples=(log.q != m.q[rows]).any(axis=1).sum())
    np.testing.assert_allclose(log.q, m.q[rows], atol=1e-6)


@pytest.mark.parametrize(
    ("size", "mcap", "sqlite3"),
    [
        *((10, "bag-damaged", "table-without-numbers"), (100, "bag-damaged", "bag-damaged")),
        *((1000, "log-too-short", "bag-damaged"), (5000, "log-too-short", "bag-damaged")),
    ],
)
def test_a_bag_without_readable_messages_is_refused(
    size: int, mcap: str, sqlite3: str, tmp_path: Path
) -> None:
    for storage, code in (("mcap", mcap), ("sqlite3", sqlite3)):
        file = bag_file(motion_bag(tmp_path / storage, storage, M))
        file.write_bytes(file.read_bytes()[:size])
        with refused(code):
            dyn_core.read_log(file)


def test_joints_in_other_orders_and_in_several_messages(record: Record) -> None:
    m = motion(joints=4)
    generator = np.random.default_rng(1)

    def turned(stamp: int, k: int) -> Any:
        order = generator.permutation(4)
        names = [m.joints[j] for j in order]
        return joint_state(stamp, names, m.q[k, order], m.qd[k, order], m.tau[k, order])

    gripper = each(m, lambda stamp, k: joint_state(stamp, ["gripper"], [0.1], [0.0], [1.0]))[1::2]
    bag = record({"/joint_states": [*each(m, turned), *((at + 1000, message) for at, message in gripper)]})
    log = dyn_core.read_log(bag, robot=dyn_core.load_robot(arm(m.joints)))
    assert_same(log, m)
    found(log, "topic-joint-orders", count=24)
    assert "topic-joint-sets" in codes(log)
    found(log, "joint-not-of-robot", "gripper")


def test_joints_of_two_publishers(tmp_path: Path) -> None:
    late = motion(time=M.time + 0.0013)
    items = [*joint_states(M, slice(2)), *joint_states(late, slice(2, None))[::2]]
    log = dyn_core.read_log(write_bag(tmp_path / "bag", {"/joint_states": items}, "sqlite3"))
    # The first and last samples have no value of the wrist, which is recorded at half the rate.
    assert len(log.time) == len(M.time) - 2
    np.testing.assert_allclose(log.q, motion(time=log.time + M.time[1]).q, atol=2e-3)
    assert "topic-interpolated" in codes(log)


def test_the_selected_topic(record: Record) -> None:
    states, other = joint_states(M), joint_states(motion(seed=5))
    text = [(EPOCH, of_type("std_msgs/msg/String", data="hello"))]
    bag = record({"/joint_states": states, "/dynamic/joint_states_2": other, "/rosout": text})
    log = dyn_core.read_log(bag)
    assert_same(log, M)
    found(log, "topic-chosen", "/joint_states", others=("/dynamic/joint_states_2",))
    log = dyn_core.read_log(bag, {"topic": "/dynamic/joint_states_2"})
    np.testing.assert_allclose(log.q, motion(seed=5).q, atol=1e-9)
    with refused("map-topic-without-joints", topic="/nothing"):
        dyn_core.read_log(bag, {"topic": "/nothing"})
    with refused("topic-ambiguous", topics=["/left", "/right"]):
        dyn_core.read_log(record({"/left": states, "/right": other}))
    with refused("log-topics-without-joints", topics=["/rosout (std_msgs/msg/String)"]):
        dyn_core.read_log(record({"/rosout": text}))


def test_efforts_of_another_topic(record: Record) -> None:
    states = each(M, lambda stamp, k: joint_state(stamp, M.joints, M.q[k]))
    nothing = {name: np.zeros(3) for name in ("inertial", "coriolis", "gravity", "friction")}
    kind = "dyn_msgs/msg/JointTorques"
    names = list(M.joints)
    torques = each(M, lambda stamp, k: of_type(kind, stamp, name=names, total=M.tau[k], status=0, **nothing))
    log = dyn_core.read_log(record({"/joint_states": states, "/dyn/torques": torques}))
    assert_same(log, M)
    assert "effort-commanded" in codes(log)
    layout = of_type("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
    numbers = each(M, lambda _, k: of_type("std_msgs/msg/Float64MultiArray", layout=layout, data=M.tau[k]))
    bag = record({"/joint_states": states, "/effort/commands": numbers})
    with refused("log-without-efforts"):
        dyn_core.read_log(bag)
    joints: dict[str, object] = {}
    for k, joint in enumerate(M.joints):
        effort = {"column": f"data[{k}]", "topic": "/effort/commands"}
        joints[joint] = {"position": f"position.{joint}", "effort": effort}
    assert_same(dyn_core.read_log(bag, {"topic": "/joint_states", "joints": joints}), M)


def test_states_of_controllers(record: Record) -> None:
    start, joints = of_type("builtin_interfaces/msg/Duration", sec=0, nanosec=0), list(M.joints)

    def point(**signals: np.ndarray) -> Any:
        none = {name: np.zeros(0) for name in ("positions", "velocities", "accelerations", "effort")}
        kind = "trajectory_msgs/msg/JointTrajectoryPoint"
        return of_type(kind, **{**none, **signals}, time_from_start=start)

    def state(stamp: int, k: int) -> Any:
        kind = "control_msgs/msg/JointTrajectoryControllerState"
        feedback, output = point(positions=M.q[k], velocities=M.qd[k]), point(effort=M.tau[k])
        points = {"reference": point(), "feedback": feedback, "error": point(), "output": output}
        return of_type(kind, stamp, joint_names=joints, **points)

    def dynamic(stamp: int, k: int) -> Any:
        interface, names = "control_msgs/msg/InterfaceValue", ["effort", "position"]
        rows = np.column_stack([M.tau[k], M.q[k]])
        values = [of_type(interface, interface_names=names, values=row) for row in rows]
        kind = "control_msgs/msg/DynamicJointState"
        return of_type(kind, stamp, joint_names=joints, interface_values=values)

    assert_same(dyn_core.read_log(record({"/arm/controller_state": each(M, state)})), M)
    assert_same(dyn_core.read_log(record({"/dynamic_joint_states": each(M, dynamic)})), M)


def test_malformed_messages_are_left_out(record: Record) -> None:
    items = joint_states(M)
    items[100][1].position = items[100][1].position[:2]
    items[200] = (items[200][0], joint_state(EPOCH + SECOND, ["elbow"] * 2, [0, 0], [0, 0], [0, 0]))
    log = dyn_core.read_log(record({"/joint_states": items}))
    assert len(log.time) == len(M.time) - 2
    found(log, "topic-messages-malformed", count=2, total=1600)
    # Messages without stamps get the receive time.
    items = each(M, lambda _, k: joint_state(0, M.joints, M.q[k], M.qd[k], M.tau[k]))
    assert_same(dyn_core.read_log(record({"/joint_states": items})), M)


def test_a_bag_above_the_size_limit_is_read_in_part(record: Record) -> None:
    log = dyn_core.read_log(record({"/joint_states": joint_states(M)}), max_values=9000)
    assert len(log.time) == 1000
    found(log, "bag-too-large", count=1000)


def test_bags_without_rosbags(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = record({"/joint_states": joint_states(M)})
    monkeypatch.setitem(sys.modules, "rosbags.typesys", None)
    with refused("rosbags-missing"):
        dyn_core.read_log(bag)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_bags_packed_with_zstd(mode: str, storage: str, tmp_path: Path) -> None:
    path = tmp_path / "bag"
    writer = rosbags2.Writer(path, version=9, storage_plugin=STORAGES[storage])
    writer.set_compression(rosbags2.CompressionMode[mode], rosbags2.CompressionFormat.ZSTD)
    items = joint_states(M)
    with writer:
        connection = writer.add_connection("/joint_states", items[0][1].__msgtype__, typestore=STORE)
        for received, message in items:
            writer.write(connection, received, STORE.serialize_cdr(message, message.__msgtype__))
    assert mode == "MESSAGE" or [file.suffix for file in path.glob("bag*")] == [".zstd"]
    assert_same(dyn_core.read_log(path), M)


IDL = """
module dyn_msgs { module msg { struct JointTorques {
    std_msgs::msg::Header header;
    sequence<string> name;
    @unit("N m")
    sequence<double> total;
    double more[2];
}; }; };
"""


@pytest.mark.parametrize("has_head", [True, False])
def test_definitions_in_idl(has_head: bool) -> None:
    """The fields of a type as its bag defines them, in one part or under a line with the name."""
    kind = "dyn_msgs/msg/JointTorques"
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    store.register({key: value for key, value in typesys.get_types_from_idl(IDL).items() if key == kind})
    header = joint_state(EPOCH + 7, [], []).header
    fields = {"name": ["a", "b"], "total": np.array([3.0, 4.0]), "more": np.array([1.0, 2.0])}
    data = bytes(store.serialize_cdr(store.types[kind](header=header, **fields), kind))
    definition = f"{'=' * 80}\nIDL: {kind}\n{IDL}" if has_head else IDL
    message, known = RawMessage("/torques", kind, "ros2idl", definition, EPOCH, data), MessageTypes()
    known.learn(message)
    content = known.deserialize(message)
    assert content.header.stamp.nanosec == 7
    assert (content.name, content.total.tolist(), content.more.tolist()) == (["a", "b"], [3, 4], [1, 2])
