# SPDX-License-Identifier: Apache-2.0
"""Programming errors: a callback, a model, a publisher or a thread that raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import State
from loose_node import LooseNode, loose_node
from message_makers import NAMES
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from simulation_client import hosted, overrides
from torque_steps import Q, send_state

from dyn_core import DynError
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode, RCLError
from dyn_nodes.compose import NODES
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.identification.node import Identification
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
MAKERS: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "feedforward": (Feedforward, {"on_shutdown": "hold"}),
    "controller": (Controller, {"p": 100.0, "ramp_start": 0.0}),
}
FAULT = {"error_type": "ZeroDivisionError", "reason": "of the test"}
broken = Mock(side_effect=ZeroDivisionError("of the test"))


@pytest.fixture(params=MAKERS)
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    make_node, parameters = MAKERS[request.param]
    with loose_node(make_node, **RRP, **parameters) as made:
        yield made


def state_of(node: ManagedNode) -> int:
    return int(node._state_machine.current_state[0])


@pytest.mark.promise("program-error")
def test_a_model_that_raises_deactivates_the_node_with_zero_torques(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where the last torques should hold the robot, as these need the model, too."""
    send_state(loose)
    maker = loose.node.active.maker
    with monkeypatch.context() as patch:
        for method in ("measure", "idle", "_held"):
            patch.setattr(maker, method, broken, raising=False)
        send_state(loose)
    assert state_of(loose.node) == State.PRIMARY_STATE_INACTIVE
    last = loose.published["torques"][-1]
    assert (list(last.total), last.status) == ([0.0] * 3, JointTorques.STATUS_ZERO)
    assert list(loose.published["commands"][-1].data) == [0.0] * 3
    loose.tick()
    assert loose.told.level == DiagnosticStatus.ERROR
    assert loose.told.about("node-failed", **FAULT)
    count = len(loose.published["torques"])
    send_state(loose)
    loose.pass_time(1.0)
    assert len(loose.published["torques"]) == count
    assert capfd.readouterr().err.count("Traceback") == 1
    # Without the fault the node can be activated again.
    loose.node.trigger_activate()
    for _ in range(200):
        send_state(loose)
    loose.tick()
    assert loose.published["torques"][-1].status == JointTorques.STATUS_OK
    assert loose.told.level == DiagnosticStatus.OK


@pytest.mark.parametrize("make_node", NODES.values(), ids=NODES)
def test_a_timer_that_was_due_before_a_cleanup_is_not_called_after_it(
    make_node: Callable[..., ManagedNode], ros_environment: dict[str, str]
) -> None:
    """Executors look which timers are due, and then call one after the other."""
    with loose_node(make_node, **RRP) as made:
        node = made.node
        due = list(node.timers)
        node.trigger_deactivate()
        node.trigger_cleanup()
        for timer in due:
            timer.callback()
        assert node.failure is None
        assert state_of(node) == State.PRIMARY_STATE_UNCONFIGURED


def test_an_invalid_publisher_at_the_end_is_harmless(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_state(loose)
    gone = Mock(side_effect=RCLError("publisher is invalid"))
    monkeypatch.setattr(loose.node._commands, "publish", gone)
    loose.node.end()
    gone.assert_called()
    assert state_of(loose.node) in (State.PRIMARY_STATE_FINALIZED, State.PRIMARY_STATE_UNCONFIGURED)


@pytest.mark.promise("program-error")
def test_an_error_in_the_error_report_does_not_end_the_process(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_state(loose)
    monkeypatch.setattr(loose.node, "problem", broken)
    loose.tick()
    loose.tick()
    assert state_of(loose.node) == State.PRIMARY_STATE_INACTIVE


@pytest.mark.promise("transition-error")
@pytest.mark.parametrize("make_node", [Feedforward, Controller, Governor, Simulation, Identification])
@pytest.mark.parametrize("method", ["open_diagnostics", "open_robot", "create_subscription", "on_activate"])
def test_an_error_at_the_start_is_told_with_its_cause(
    method: str,
    make_node: Callable[..., ManagedNode],
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(make_node, method, broken)
    with pytest.raises(DynError) as raised:
        make_node(context=context, use_global_arguments=False, parameter_overrides=overrides(**RRP))
    assert (raised.value.code, raised.value.values) == ("error-unexpected", FAULT)
    log = capfd.readouterr().err
    assert "Traceback" in log
    assert "ZeroDivisionError: of the test" in log


@pytest.mark.promise("transition-error")
@pytest.mark.parametrize("method", ["create_timer", "restart"])
def test_an_error_in_a_transition_is_told_with_its_cause(
    method: str, loose: LooseNode, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    node = loose.node
    node.trigger_deactivate()
    with monkeypatch.context() as patch:
        patch.setattr(node if method == "create_timer" else node._running.maker, method, broken)
        assert node.trigger_activate() == TransitionCallbackReturn.ERROR
    assert state_of(node) == State.PRIMARY_STATE_UNCONFIGURED
    assert (loose.told.level, loose.told.codes) == (DiagnosticStatus.ERROR, {"node-failed"})
    assert loose.told.about("node-failed", **FAULT)
    assert capfd.readouterr().err.count("ZeroDivisionError: of the test") == 1
    # Without the fault it can be used again.
    node.trigger_configure()
    loose.reconnect()
    node.trigger_activate()
    send_state(loose)
    loose.tick()
    assert loose.told.level == DiagnosticStatus.OK


@pytest.mark.promise("program-error", "program-error-beside")
@pytest.mark.parametrize("make_node", [Feedforward, Controller, Simulation])
@pytest.mark.parametrize("method", ["prepare", "use"])
def test_a_description_that_raises_in_the_program_does_not_end_the_process(
    method: str, make_node: Callable[..., ManagedNode], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the thread, the present robot stays in use; in the executor, the node deactivates itself."""
    with hosted(graph, make_node, use_global_arguments=False) as node:
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: node.robot)
        monkeypatch.setattr(node, method, broken)
        if method == "prepare":
            monkeypatch.setattr(node._reload, "_prepare", broken)
        graph.describe(urdf("two_branch"))
        code = "error-unexpected" if method == "prepare" else "node-failed"
        graph.wait_for(lambda: graph.told.about(code, **FAULT))
        assert node.robot.name == "rrp"
        expected = State.PRIMARY_STATE_ACTIVE if method == "prepare" else State.PRIMARY_STATE_INACTIVE
        assert state_of(node) == expected


@pytest.mark.promise("namesakes")
def test_two_nodes_of_one_name_are_reported(graph: Graph) -> None:
    with hosted(graph, Feedforward) as first, hosted(graph, Feedforward) as second:
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: first.robot and second.robot)
        for _ in range(100):
            if graph.told.about("torque-publishers-several", count=2, topic="/feedforward/torques"):
                break
            graph.publish_state(NAMES, Q)
            count = len(graph.diagnostics)
            graph.wait_for(lambda count=count: len(graph.diagnostics) > count)
        else:
            pytest.fail(graph.told.message)
        first.trigger_deactivate()
        graph.wait_for(lambda: graph.told.about("node-name-taken", node="/feedforward"))
