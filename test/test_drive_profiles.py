# SPDX-License-Identifier: Apache-2.0
"""Driver profiles: their files, the parameters that they give, and each with the drive that it describes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from drive_loop import BENT, DriveLoop
from loose_node import loose_node
from message_makers import to_rest_at
from rclpy.serialization import deserialize_message
from refusals import refused
from rnea import frictionless
from sentence_patterns import Told, said
from std_msgs.msg import Bool
from torque_steps import send_state

from dyn_core import DynError
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.drive_profile import profile_directory, profile_names, read_profile
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.simulated_robot import AddedTorques

NAMES = (
    *("effort_motor_side", "franka_effort", "kinova_gen3_torque", "kuka_lbr_torque"),
    *("ros2_control_effort", "ur_torque", "xarm"),
)
COMPENSATING = ("franka_effort", "kuka_lbr_torque", "ur_torque")
TAKING = [name for name in NAMES if name not in ("kinova_gen3_torque", "xarm")]
RRP = {"robot_description": frictionless("rrp")}
MILLIRADIAN = 1e-3


@pytest.fixture
def nodes(ros_environment: dict[str, str]) -> Iterator[ExitStack]:
    with ExitStack() as nodes:
        yield nodes


# Files


def test_the_installed_profiles_can_be_read_and_say_where_their_facts_are_from() -> None:
    assert profile_names() == NAMES
    for name in NAMES:
        profile = read_profile(name)
        assert profile == read_profile(str(profile_directory() / f"{name}.yaml"))
        assert profile.name == name
        text = (profile_directory() / f"{name}.yaml").read_text()
        assert all(f"\n{key}:" in text for key in ("verified", "unverified", "notes", "sources"))
        assert profile.takes_torque is (name in TAKING)


GOOD = "title: t\ndrive_compensates: [gravity]\npayload_known_to_drive: told\n"
BAD_FILES = {
    "weight: 1": ("entry-unknown", {"given": "weight"}),
    "rate: 0.1": ("profile-number-range", {"given": 0.1}),
    "rate: quick": ("node-not-finite", {"given": "quick"}),
    "on_stale: panic": ("profile-choice-unknown", {"given": "panic"}),
    "effort: {kind: volts}": ("profile-choice-unknown", {"given": "volts"}),
    "effort: {size: 1}": ("entry-unknown", {"given": "size"}),
    "takes_torque: false": ("profile-reason-misplaced", {}),
    "reason: none": ("profile-reason-misplaced", {}),
    "title: u": ("yaml-key-repeated", {"key": "title"}),
    "rate: [": ("yaml-malformed-in-line", {}),
}


@pytest.mark.parametrize("line", BAD_FILES)
def test_a_bad_file_is_an_error_with_its_path(line: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD)
    assert read_profile(str(file)).drive_compensates == ("gravity",)
    file.write_text(f"{GOOD}{line}\n")
    code, values = BAD_FILES[line]
    with refused(code, **values) as problem:
        read_profile(str(file))
    assert problem.value.file == str(file)
    for key in ("title", "drive_compensates", "payload_known_to_drive"):
        file.write_text("\n".join(other for other in GOOD.splitlines() if not other.startswith(key)))
        with refused("entry-missing", entry=key):
            read_profile(str(file))


def test_an_unknown_profile_names_the_similar_one() -> None:
    with refused("profile-unknown-similar", profile="ur_torqe", similar="ur_torque"):
        read_profile("ur_torqe")
    with refused("profile-unknown", profile="juggler", known=NAMES):
        read_profile("juggler")
    with pytest.raises(DynError):
        read_profile("/no/such.yaml")


# Parameters


@pytest.mark.promise("profile-without-torque")
@pytest.mark.parametrize("kind", [Feedforward, Controller])
@pytest.mark.parametrize("name", ["kinova_gen3_torque", "xarm"])
def test_a_driver_without_torques_is_refused_with_the_reason(name: str, kind: Any, nodes: ExitStack) -> None:
    with refused("profile-takes-no-torque", profile=name, reason=read_profile(name).reason):
        nodes.enter_context(loose_node(kind, profile=name, mode="inverse_dynamics", **RRP))


def parameters_of(nodes: ExitStack, kind: Any = Feedforward, **given: Any) -> dict[str, Any]:
    node = nodes.enter_context(loose_node(kind, **RRP, **given)).node
    values = {name: node.get_parameter(name).value for name in node.get_parameters_by_prefix("")}
    return {name: list(v) if isinstance(v, list | tuple) else v for name, v in values.items()}


@pytest.mark.promise("profile-defaults")
@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("kind", [Feedforward, Controller])
def test_a_profile_gives_defaults_and_what_is_set_counts_more(
    kind: Any, name: str, nodes: ExitStack, capfd: pytest.CaptureFixture[str]
) -> None:
    mode = {"mode": "inverse_dynamics"} if kind is Feedforward else {}
    usual = parameters_of(nodes, kind, **mode)
    capfd.readouterr()
    with_it = parameters_of(nodes, kind, profile=name, **mode)
    log = capfd.readouterr().err
    profile = read_profile(name)
    assert said("profile-used", profile=name, effort=str(profile.effort)).search(log)
    assert not said("profile-overridden").search(log)
    expected = {key: value for key, value in profile.parameters.items() if key != "on_stale"}
    expected["on_stale"] = "ramp" if kind is Controller else profile.on_stale
    assert with_it == usual | expected | {"profile": name}
    own = {"rate": 123.0, "ramp_start": 0.25, "drive_compensates": ["coriolis"]}
    both = parameters_of(nodes, kind, profile=name, **mode, **own)
    assert both == with_it | own
    others = [f"{key} {own[key]}" for key in profile.parameters if key in own]
    assert said("profile-overridden", others=others).search(capfd.readouterr().err)


@pytest.mark.promise("drive-interrupted")
@pytest.mark.parametrize("kind", [Feedforward, Controller])
def test_torques_are_zero_while_the_drive_takes_none_and_begin_with_a_ramp(
    kind: Any, nodes: ExitStack
) -> None:
    given = {"p": 100.0} if kind is Controller else {"mode": "gravity"}
    loose = nodes.enter_context(loose_node(kind, **RRP, **given, running_topic="/runs", ramp_start=0.5))
    torques = loose.published["torques"]

    def greatest(count: int) -> list[float]:
        """Return the greatest torques for joint states of a robot that was pushed away meanwhile."""
        begin = len(torques)
        for _ in range(count):
            send_state(loose, [0.15, 0.35, 0.06])
        return [max(map(abs, one.total)) for one in torques[begin:]]

    for _ in range(100):
        send_state(loose)
    full = greatest(100)[-1]
    assert full > 1.0
    loose.send("/runs", Bool(data=True))
    assert min(greatest(20)) > 1.0, "it ran before"
    for _ in range(2):
        loose.send("/runs", Bool(data=False))
        assert max(greatest(20)) == 0.0
        assert torques[-1].status == JointTorques.STATUS_ZERO
        loose.pass_time(1.0)
        assert not any(torques[-1].total), "also while data is stale"
        loose.send("/runs", Bool(data=True))
        if kind is Feedforward:
            again = greatest(100)
            assert again[0] < 0.01 * full
            assert again[10] < 0.2 * full
            assert again[-1] == pytest.approx(full)
        else:
            assert max(greatest(100)) < 1e-9, "it is held where it is"


# Drives


def loop(nodes: ExitStack, name: str, **more: Any) -> DriveLoop:
    """Return the loop of a profile and the drive that it describes."""
    given = {"profile": name, "mode": "computed_torque", "on_shutdown": "hold", **more}
    return DriveLoop(nodes, read_profile(name).drive_compensates, **given)


def farthest(positions: np.ndarray) -> float:
    return float(np.abs(positions - BENT).max())


@pytest.mark.promise("drive-rest")
@pytest.mark.parametrize("mode", ["computed_torque", "inverse_dynamics"])
@pytest.mark.parametrize("name", TAKING)
def test_at_rest_the_robot_stays_where_it_is(name: str, mode: str, nodes: ExitStack) -> None:
    assert farthest(loop(nodes, name, mode=mode).run(1.5)) < MILLIRADIAN


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["computed_torque", "inverse_dynamics"])
@pytest.mark.parametrize("name", TAKING)
def test_at_rest_the_robot_stays_for_a_minute(name: str, mode: str, nodes: ExitStack) -> None:
    assert farthest(loop(nodes, name, mode=mode).run(60.0)) < MILLIRADIAN


@pytest.mark.promise("drive-rest")
@pytest.mark.parametrize("name", ["franka_effort", "ros2_control_effort"])
def test_with_the_wrong_drive_it_does_not_stay(name: str, nodes: ExitStack) -> None:
    """So the tests of this file can fail."""
    adds = () if read_profile(name).drive_compensates else ("gravity", "friction")
    wrong = DriveLoop(nodes, adds, profile=name, mode="inverse_dynamics")
    assert farthest(wrong.run(0.7)) > 100 * MILLIRADIAN


GOAL = [-0.2, -0.1, 1.3, 0.6, 0.2, 0.5]


@pytest.mark.parametrize("name", TAKING)
def test_tracking_is_as_good_as_with_a_drive_that_adds_nothing(name: str, nodes: ExitStack) -> None:
    """The model is off by up to 10 %."""
    wrong_model = {"model_error": 0.1, "seed": 3}
    alone = DriveLoop(nodes, (), mode="computed_torque", ramp_start=0.0, real=wrong_model)
    errors = [
        one.follow(GOAL, 1.0, 0.3) for one in (alone, loop(nodes, name, ramp_start=0.0, real=wrong_model))
    ]
    assert errors[1] < 1.2 * errors[0], errors


@pytest.mark.promise("drive-rest", "gravity-left-out")
@pytest.mark.parametrize("mode", ["computed_torque", "inverse_dynamics"])
@pytest.mark.parametrize("name", TAKING)
def test_at_rest_the_robot_stays_in_all_transitions(name: str, mode: str, nodes: ExitStack) -> None:
    """Stale data, data again, deactivation, activation, and a clock that is set."""
    adds_gravity = bool(read_profile(name).drive_compensates)
    for on_stale, on_shutdown in (("ramp", "zero"), ("hold", "hold"), ("stop", "zero")):
        if not adds_gravity and (on_stale, on_shutdown) != ("hold", "hold"):
            continue
        one = loop(nodes, name, mode=mode, on_stale=on_stale, on_shutdown=on_shutdown)
        positions = [one.run(0.3), one.run(0.9, hears=False), one.run(0.7)]
        one.node.node.trigger_deactivate()
        one.exert()
        positions += [one.run(0.3, hears=False)]
        one.node.node.trigger_activate()
        positions += [one.run(0.7)]
        for loose in (one.node, one.simulation):
            loose.set_time(loose.ros_now + 5 * 10**9)
        positions += [one.run(0.6)]
        assert max(map(farthest, positions)) < MILLIRADIAN, [farthest(part) for part in positions]


def noticed(one: DriveLoop, seconds: float = 1.2) -> float:
    """Return when the node says that torques and motion contradict each other (s); else infinity."""
    for k in range(round(seconds / one.period)):
        one.step()
        if one.node.node._running.maker.contradiction is not None:
            return k * one.period
    return math.inf


WRONG = [
    (name, adds) for name in TAKING for adds in ((), ("gravity",), ("friction",), ("gravity", "friction"))
]
WRONG = [(name, adds) for name, adds in WRONG if ("gravity" in adds) != (name in COMPENSATING)]


@pytest.mark.promise("gravity-contradiction")
@pytest.mark.parametrize("mode", ["computed_torque", "inverse_dynamics"])
@pytest.mark.parametrize(("name", "adds"), WRONG)
def test_the_wrong_profile_is_noticed_within_a_second_and_a_free_arm_is_braked(
    name: str, adds: tuple[str, ...], mode: str, nodes: ExitStack
) -> None:
    """Under inverse dynamics at rest nothing holds the arm, nor while torques begin."""
    one = DriveLoop(nodes, adds, profile=name, mode=mode, real={"model_error": 0.1})
    assert noticed(one) <= 1.0
    node, is_added = one.node.node, "gravity" in adds
    free = node._running.maker.is_rescued
    assert free or mode == "computed_torque"
    code = ("gravity-added-twice" if is_added else "gravity-not-added") + ("-braked" if free else "")
    told = Told(deserialize_message(one.told[-1], DiagnosticArray).status[0])
    assert told.codes == {code}
    assert told.about(code, setting=f"profile '{name}'")
    assert told.level == DiagnosticStatus.ERROR
    if free:
        fastest = np.abs(one.robot.state.qd).max()
        where = one.run(1.0)[-1]
        assert np.abs(one.robot.state.qd).max() < 0.1 * fastest
        assert np.abs(one.run(0.5) - where).max() < 0.05
        one.node.send("joint_trajectory", to_rest_at(where.tolist(), 1.0, one.names))
        one.step()
        assert (
            Told(deserialize_message(one.told[-1], DiagnosticArray).status[0]).values["trajectories refused"]
            == "1"
        )
    node.trigger_deactivate()
    node.trigger_activate()
    assert node._running.maker.contradiction is None


@pytest.mark.promise("gravity-contradiction")
@pytest.mark.parametrize(("name", "lift"), [("franka_effort", 0.4), ("ros2_control_effort", BENT[1])])
def test_an_arm_that_something_else_moved_is_braked_as_its_setting_says(
    name: str, lift: float, nodes: ExitStack
) -> None:
    """What looks like gravity and ends: at first another drive is believed, then that of the setting."""
    one = loop(nodes, name, mode="inverse_dynamics", at=[BENT[0], lift, *BENT[2:]])
    assert noticed(one, 0.8) == math.inf
    robot = one.simulation.node._running.robot
    own = robot._drive
    robot._drive = None if own else AddedTorques(robot.simulator.robot, ["gravity"], knows_payload=True)
    assert noticed(one) < 1.0
    assert one.node.node._running.maker.is_rescued
    robot._drive = own
    one.run(1.5)
    told = Told(deserialize_message(one.told[-1], DiagnosticArray).status[0])
    assert told.codes == {"gravity-doubtful-braked"}
    assert np.abs(one.robot.state.qd).max() < 0.1


@pytest.mark.promise("gravity-contradiction-quiet")
@pytest.mark.parametrize("name", TAKING)
def test_with_the_right_profile_nothing_is_noticed(name: str, nodes: ExitStack) -> None:
    """The robot rests, moves, and is pushed, with a model that is off by 20 %."""
    one = loop(nodes, name, real={"model_error": 0.2, "seed": 5})
    assert noticed(one, 0.7) == math.inf
    one.follow(GOAL, 1.0, 0.1)
    for force in ([0.0, 0.0, 200.0], [100.0, -50.0, 0.0], [0.0, 0.0, -200.0]):
        one.robot.set_wrenches({"hand": [*force, 0.0, 0.0, 0.0]})
        assert noticed(one, 0.5) == math.inf
        one.robot.set_wrenches({})
        assert noticed(one, 0.2) == math.inf


@pytest.mark.promise("gravity-of-payload")
@pytest.mark.parametrize("told", [True, False])
def test_a_payload_stays_where_it_is(told: bool, nodes: ExitStack) -> None:
    """Of 3 kg, known to both, or to the node alone."""
    payload = {"payload.link": "hand", "payload.mass": 3.0, "payload.centre": [0.0, 0.0, 0.1]}
    real = {key.replace(".", "__"): value for key, value in payload.items()}
    one = DriveLoop(
        nodes,
        ("gravity",),
        mode="inverse_dynamics",
        drive_compensates=["gravity"],
        payload_known_to_drive="told" if told else "never",
        ramp_start=0.0,
        blend_time=0.0,
        real={**real, "drive_knows_payload": told},
    )
    held = one.node.service_request("set_payload")
    held.payload.link_name, held.payload.inertia.m, held.payload.inertia.com.z = "hand", 3.0, 0.1
    assert one.node.call("set_payload", held).success
    assert farthest(one.run(1.0)) < MILLIRADIAN


@pytest.mark.promise("terms-replaced")
def test_parameters_that_drive_compensates_has_replaced_are_refused(nodes: ExitStack) -> None:
    with refused("parameter-replaced", parameter="terms.gravity", instead="drive_compensates"):
        nodes.enter_context(loose_node(Feedforward, terms__gravity=False, **RRP))


def test_the_simulated_drive_adds_its_own_torques(nodes: ExitStack) -> None:
    """Zero torque holds a robot whose drive adds gravity, and efforts in joint states count it."""
    one = DriveLoop(nodes, ("gravity", "friction"), mode="inverse_dynamics", drive_compensates=["gravity"])
    one.run(0.1)
    assert np.abs(one.robot.state.qd).max() < 1e-9
    assert np.abs(one.robot.effort).max() > 20.0
