# SPDX-License-Identifier: Apache-2.0
"""Where refusals are told: in the log with a limited rate, and on /diagnostics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, loose_node
from message_makers import NAMES
from robot_files import ROBOTS
from std_msgs.msg import Float64MultiArray
from test_refused_messages import NODES, Node
from torque_steps import Q

from dyn_msgs.msg import JointTorques
from dyn_nodes.simulation.node import Simulation

WARN = DiagnosticStatus.WARN


def torques_named(loose: LooseNode, name: str) -> None:
    message = JointTorques(name=[*NAMES, name], total=[0.0] * 4)
    message.header.stamp = loose.stamp
    loose.send("feedforward" if loose.node.get_name() == "controller" else "torques", message)


def state_with_twice(loose: LooseNode, name: str) -> None:
    loose.measure([*Q, 0.0, 0.0], (), [*NAMES, name, name])


NAMED: dict[str, tuple[Node, Callable[[LooseNode, str], None]]] = {
    **{name: (node, state_with_twice) for name, node in NODES.items()},
    "simulation": ((Simulation, {}), torques_named),
}
"""Nodes, and a message that is refused because of a joint of this name."""


@pytest.fixture(params=NAMED)
def complaining(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[Any]:
    """A node whose log is timed by the clock of the test, and a message that it refuses because of a name."""
    (make_node, own), send = NAMED[request.param]
    with loose_node(make_node, description_file=str(ROBOTS["rrp"]), **own) as loose:
        loose.node._complaints._steady = lambda: loose.now
        yield loose, partial(send, loose)


LINE = re.compile(r"^\[(?:WARN|ERROR)\] \[[\d.]+\] \[\w+\]: (.*)$")


def warnings_of(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return the warnings in the log since the last time; each line of stderr belongs to one."""
    lines = [line for line in capfd.readouterr().err.splitlines() if "[INFO]" not in line]
    found = [LINE.match(line) for line in lines]
    assert all(found), lines
    return [match[1] for match in found if match]


@pytest.mark.promise("refused-log", "refused-diagnostics")
def test_a_refusal_is_logged_again_after_5_s_and_told_while_it_goes_on(
    complaining: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    loose, send = complaining
    capfd.readouterr()
    for k in range(100):  # every 0.125 s
        send("elbow")
        assert loose.told.level == WARN
        assert (len(loose.told.codes) > 0, "elbow" in loose.told.message) == (True, True)
        lines = [line for line in warnings_of(capfd) if "elbow" in line]
        assert len(lines) == (k % 40 == 0), (k, lines)
        loose.now += 0.125
        loose.ros_now += 125_000_000
        loose._tell_time()
    code = loose.told.values["code"]
    loose.tick()
    loose.tick()
    assert loose.told.values.get("code") != code
    assert loose.node._diagnostics._timer.timer_period_ns == 10**9


@pytest.mark.promise("refused-log-flood")
def test_ten_causes_are_logged_in_5_s_each_in_a_line_of_400_characters(
    complaining: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    _, send = complaining
    capfd.readouterr()
    for k in range(40):
        send(f"joint_{k}\n\x07" + "x" * 10_000 + "\u202e" * 300)
    lines = warnings_of(capfd)
    assert len([line for line in lines if "joint_" in line]) == 10
    assert len(lines) == 11, "one more line says that there are others"
    assert max(map(len, lines)) <= 400
    assert all(line.isprintable() for line in lines)


@pytest.mark.promise("command-malformed", "wrench-malformed")
def test_commands_beyond_1e9_are_refused(ros_environment: dict[str, str]) -> None:
    with loose_node(Simulation, description_file=str(ROBOTS["rrp"])) as loose:
        loose.send("commands", Float64MultiArray(data=[1.0, 2.0, 3.0]))
        loose.send("commands", Float64MultiArray(data=[1.0, 1.1e9, 3.0]))
        assert loose.told.about("effort-implausible", joint="lift")
        loose.send("torques", JointTorques(name=["turn"], total=[-1.1e9]))
        assert loose.told.values["commands refused"] == "1"
        loose.pass_time(0.05)
        assert list(loose.published["joint_states"][-1].effort) == [1.0, 2.0, 3.0]
        assert loose.told.values["commands refused"] == "2"
