# SPDX-License-Identifier: Apache-2.0
"""Logs in ROS 2 bags of both storages, whole and cut."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from log_bag import EPOCH, SECOND, Messages, bag_file, joint_states, motion_bag, write_bag
from log_case import Motion, arm, assert_same, motion, said

import dyn_core
from dyn_core import DynError

STORAGES = ("mcap", "sqlite3")


@pytest.fixture(scope="module")
def m() -> Motion:
    return motion()


@pytest.fixture(scope="module")
def messages() -> Messages:
    return Messages()


def at(t: float) -> int:
    return EPOCH + round(t * SECOND)


@pytest.mark.parametrize("storage", STORAGES)
def test_joint_states(m: Motion, storage: str, tmp_path: Path) -> None:
    bag = motion_bag(tmp_path / "bag", storage, m)
    log = dyn_core.read_log(bag)
    assert_same(log, m)
    assert log.qd is not None
    np.testing.assert_array_equal(log.qd, m.qd)
    assert log.findings == ()
    assert_same(dyn_core.read_log(bag_file(bag)), m)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_bag_is_known_by_what_is_in_it(m: Motion, storage: str, tmp_path: Path) -> None:
    bag = motion_bag(tmp_path / "bag", storage, m)
    shutil.move(bag_file(bag), tmp_path / "log.csv")
    assert_same(dyn_core.read_log(tmp_path / "log.csv"), m)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_bag_without_metadata(m: Motion, storage: str, tmp_path: Path) -> None:
    bag = motion_bag(tmp_path / "bag", storage, m)
    (bag / "metadata.yaml").unlink()
    log = dyn_core.read_log(bag)
    assert_same(log, m)
    assert "the bag has no metadata.yaml, as when its recorder was killed: its file is read by" in said(log)
    (bag / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 5}")
    log = dyn_core.read_log(bag)
    assert_same(log, m)
    assert "the bag cannot be read as a whole" in said(log)


def test_a_bag_of_several_files(m: Motion, tmp_path: Path) -> None:
    count = len(m.time)
    halves = (np.arange(count // 2), np.arange(count // 2, count))
    whole = tmp_path / "whole"
    whole.mkdir()
    for k, half in enumerate(halves):
        part = motion_bag(tmp_path / f"part_{k}", "mcap", m.part(half))
        shutil.move(bag_file(part), whole / f"bag_{k}.mcap")
    log = dyn_core.read_log(whole)
    assert_same(log, m)
    assert "its 2 files are read by themselves" in said(log)
    last = whole / "bag_1.mcap"
    last.write_bytes(last.read_bytes()[:-1000])
    log = dyn_core.read_log(whole)
    assert len(halves[0]) < len(log.time) < count + 1
    assert "the bag was cut or is damaged" in said(log)


@pytest.fixture(scope="module", params=STORAGES)
def long_bag(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Motion]:
    m = motion(joints=7, duration=20.0, rate=1000.0)
    return bag_file(motion_bag(tmp_path_factory.mktemp("long") / "bag", request.param, m)), m


@pytest.mark.parametrize("part", [0.4, 0.7, 0.99])
def test_a_bag_that_was_cut(long_bag: tuple[Path, Motion], part: float, tmp_path: Path) -> None:
    file, m = long_bag
    data = file.read_bytes()
    cut = tmp_path / f"cut{file.suffix}"
    cut.write_bytes(data[: int(part * len(data))])
    log = dyn_core.read_log(cut)
    count = len(log.time)
    assert 0.8 * part * len(m.time) < count <= len(m.time)
    np.testing.assert_array_equal(log.q, m.q[:count])
    np.testing.assert_array_equal(log.tau, m.tau[:count])
    assert "the bag was cut or is damaged" in said(log)
    assert f"the {count} messages up to there are used" in said(log)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.6, 0.75, 0.9])
@pytest.mark.parametrize("letters", [4, 200, 900])
def test_an_sqlite_bag_that_was_cut_anywhere(letters: int, part: float, tmp_path: Path) -> None:
    """Rows on one page or several, trees of two or three levels, roots that point beyond the end."""
    m = motion(joints=7, duration=8.0, rate=250.0)
    m = replace(m, joints=tuple(f"{name:_<{letters}}" for name in m.joints))
    file = bag_file(motion_bag(tmp_path / "bag", "sqlite3", m))
    data = file.read_bytes()
    file.write_bytes(data[: int(part * len(data))])
    log = dyn_core.read_log(file)
    count = len(log.time)
    assert 0.8 * part * len(m.time) < count <= len(m.time)
    np.testing.assert_array_equal(log.q, m.q[:count])
    assert "the bag was cut or is damaged" in said(log)


def test_an_sqlite_bag_with_a_hole(tmp_path: Path) -> None:
    """Behind pages that were overwritten, messages go on."""
    m = motion(joints=6, duration=4.0, rate=500.0)
    file = bag_file(motion_bag(tmp_path / "bag", "sqlite3", m))
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 9000] = b"\xff" * 9000
    file.write_bytes(data)
    log = dyn_core.read_log(file)
    assert 0.95 * len(m.time) < len(log.time) < len(m.time)
    rows = np.searchsorted(m.time, log.time - log.time[0] + m.time[0] - 1e-4)
    made_up = (log.q != m.q[rows]).any(axis=1)
    assert f"filled with {made_up.sum()} samples" in said(log)
    np.testing.assert_allclose(log.q, m.q[rows], atol=1e-6)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", [10, 100, 1000, 5000])
def test_a_bag_of_which_nothing_is_left(m: Motion, storage: str, size: int, tmp_path: Path) -> None:
    file = bag_file(motion_bag(tmp_path / "bag", storage, m))
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(DynError) as caught:
        dyn_core.read_log(file)
    assert any(
        word in str(caught.value)
        for word in ("the bag cannot be read", "too short", "neither text nor", "no topic", "no line")
    )


def test_joints_in_other_orders_and_in_several_messages(messages: Messages, tmp_path: Path) -> None:
    m = motion(joints=4)
    items = []
    generator = np.random.default_rng(1)
    for k, t in enumerate(m.time):
        order = generator.permutation(4)
        items.append(
            (
                at(t),
                messages.joint_state(
                    at(t), [m.joints[j] for j in order], m.q[k, order], m.qd[k, order], m.tau[k, order]
                ),
            )
        )
        if k % 2:
            items.append((at(t) + 1000, messages.joint_state(at(t), ["gripper"], [0.1], [0.0], [1.0])))
    bag = write_bag(tmp_path / "bag", "mcap", messages, {"/joint_states": items})
    log = dyn_core.read_log(bag, robot=dyn_core.load_robot(arm(m.joints)))
    assert_same(log, m)
    assert "joints come in 24 different orders: they are sorted by name of joint" in said(log)
    assert "different messages name different joints" in said(log)
    assert "joint 'gripper': the robot has no joint of this name: it is left out" in said(log)


def test_joints_of_two_publishers(m: Motion, messages: Messages, tmp_path: Path) -> None:
    late = motion(time=m.time + 0.0013)
    items = [
        (at(t), messages.joint_state(at(t), m.joints[:2], m.q[k, :2], m.qd[k, :2], m.tau[k, :2]))
        for k, t in enumerate(m.time)
    ]
    items += [
        (at(t), messages.joint_state(at(t), m.joints[2:], late.q[k, 2:], late.qd[k, 2:], late.tau[k, 2:]))
        for k, t in enumerate(late.time)
        if k % 2 == 0
    ]
    bag = write_bag(tmp_path / "bag", "sqlite3", messages, {"/joint_states": items})
    log = dyn_core.read_log(bag)
    # The first sample, and the last, have no value of the wrist, which is recorded at half the rate.
    assert len(log.time) == len(m.time) - 2
    np.testing.assert_allclose(log.q, motion(time=log.time + m.time[1]).q, atol=2e-3)
    assert "was interpolated at the times of" in said(log)


def test_the_topic_that_is_taken(m: Motion, messages: Messages, tmp_path: Path) -> None:
    states = joint_states(messages, m)
    other = joint_states(messages, motion(seed=5))
    text = [(at(0.0), messages.text("hello"))]
    topics = {"/joint_states": states, "/dynamic/joint_states_2": other, "/rosout": text}
    bag = write_bag(tmp_path / "a", "mcap", messages, topics)
    log = dyn_core.read_log(bag)
    assert_same(log, m)
    assert "it is taken for the joints; so could be '/dynamic/joint_states_2'" in said(log)
    log = dyn_core.read_log(bag, {"topic": "/dynamic/joint_states_2"})
    np.testing.assert_allclose(log.q, motion(seed=5).q, atol=1e-9)
    with pytest.raises(DynError, match="the topic '/nothing' says nothing of joints: use one of"):
        dyn_core.read_log(bag, {"topic": "/nothing"})
    bag = write_bag(tmp_path / "b", "mcap", messages, {"/left": states, "/right": other})
    with pytest.raises(DynError, match="several topics could be meant: choose one of '/left', '/right'"):
        dyn_core.read_log(bag)
    bag = write_bag(tmp_path / "c", "mcap", messages, {"/rosout": text})
    with pytest.raises(DynError, match="no topic says anything of joints: its topics are '/rosout"):
        dyn_core.read_log(bag)


def test_efforts_of_another_topic(m: Motion, messages: Messages, tmp_path: Path) -> None:
    none: list[float] = []
    states = [
        (at(t), messages.joint_state(at(t), m.joints, m.q[k], none, none)) for k, t in enumerate(m.time)
    ]
    torques = [(at(t), messages.joint_torques(at(t), m.joints, m.tau[k])) for k, t in enumerate(m.time)]
    topics = {"/joint_states": states, "/dyn/torques": torques}
    log = dyn_core.read_log(write_bag(tmp_path / "a", "mcap", messages, topics))
    assert_same(log, m)
    assert "no effort was measured: what was commanded is taken for it" in said(log)
    commands = [(at(t), messages.numbers(m.tau[k])) for k, t in enumerate(m.time)]
    topics = {"/joint_states": states, "/effort/commands": commands}
    bag = write_bag(tmp_path / "b", "mcap", messages, topics)
    with pytest.raises(DynError, match="there is no effort of a joint in it"):
        dyn_core.read_log(bag)
    joints = {
        joint: {
            "position": f"position.{joint}",
            "effort": {"column": f"data[{k}]", "topic": "/effort/commands"},
        }
        for k, joint in enumerate(m.joints)
    }
    assert_same(dyn_core.read_log(bag, {"topic": "/joint_states", "joints": joints}), m)


def test_states_of_controllers(m: Motion, messages: Messages, tmp_path: Path) -> None:
    items = [
        (
            at(t),
            messages.controller_state(
                at(t), m.joints, messages.point(m.q[k], m.qd[k]), messages.point((), (), m.tau[k])
            ),
        )
        for k, t in enumerate(m.time)
    ]
    log = dyn_core.read_log(write_bag(tmp_path / "a", "mcap", messages, {"/arm/controller_state": items}))
    assert_same(log, m)
    items = [
        (at(t), messages.dynamic_joint_state(at(t), m.joints, m.q[k], m.tau[k])) for k, t in enumerate(m.time)
    ]
    bag = write_bag(tmp_path / "b", "mcap", messages, {"/dynamic_joint_states": items})
    assert_same(dyn_core.read_log(bag), m)


def test_messages_that_do_not_fit(m: Motion, messages: Messages, tmp_path: Path) -> None:
    items = joint_states(messages, m)
    short = messages.joint_state(at(m.time[100]), m.joints, m.q[100, :2], m.qd[100], m.tau[100])
    twice = messages.joint_state(at(m.time[200]), ["elbow", "elbow"], [0, 0], [0, 0], [0, 0])
    items[100] = (items[100][0], short)
    items[200] = (items[200][0], twice)
    log = dyn_core.read_log(write_bag(tmp_path / "bag", "mcap", messages, {"/joint_states": items}))
    assert len(log.time) == len(m.time) - 2
    assert "2 of 1600 messages have no values, or not one for each name: they are left out" in said(log)


def test_messages_without_stamps_go_by_the_clock_of_the_recorder(
    m: Motion, messages: Messages, tmp_path: Path
) -> None:
    items = [
        (at(t), messages.joint_state(0, m.joints, m.q[k], m.qd[k], m.tau[k])) for k, t in enumerate(m.time)
    ]
    assert_same(dyn_core.read_log(write_bag(tmp_path / "bag", "mcap", messages, {"/joint_states": items})), m)


def test_a_bag_that_is_larger_than_what_is_read(m: Motion, tmp_path: Path) -> None:
    log = dyn_core.read_log(motion_bag(tmp_path / "bag", "mcap", m), max_values=9000)
    assert len(log.time) == 1000
    assert "it is larger than what is read at once: only its first 1000 messages are used" in said(log)


def test_bags_without_rosbags(m: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = motion_bag(tmp_path / "bag", "mcap", m)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(DynError, match="bags cannot be read without rosbags: install it with"):
        dyn_core.read_log(bag)
