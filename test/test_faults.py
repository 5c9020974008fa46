# SPDX-License-Identifier: Apache-2.0
"""Faults in the program itself: a callback, a model, a publisher or a thread that raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import State
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from torque_steps import NAMES, Q, send_state

from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.rcl_error import RCLError
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
MAKERS: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "feedforward": (Feedforward, {"on_shutdown": "hold"}),
    "controller": (Controller, {"p": 100.0, "ramp_start": 0.0}),
}


def broken(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("of the test")


@pytest.fixture(params=MAKERS)
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    make_node, parameters = MAKERS[request.param]
    with loose_node(make_node, **RRP, **parameters) as made:
        yield made


def state_of(node: ManagedNode) -> int:
    return int(node._state_machine.current_state[0])


def test_a_model_that_raises_deactivates_the_node_with_torques_of_zero(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where the last torques should be those that hold: they need the model, too."""
    send_state(loose)
    maker = loose.node.active.maker
    for method in ("measure", "idle", "_held"):
        monkeypatch.setattr(maker, method, broken, raising=False)
    send_state(loose)
    assert state_of(loose.node) == State.PRIMARY_STATE_INACTIVE
    last = loose.published["torques"][-1]
    assert (list(last.total), last.status) == ([0.0] * 3, JointTorques.STATUS_ZERO)
    assert list(loose.published["commands"][-1].data) == [0.0] * 3
    told = loose.published["diagnostics"][-1].status[0]
    loose.tick()
    told = loose.published["diagnostics"][-1].status[0]
    assert told.level == DiagnosticStatus.ERROR
    assert "unexpected error, ZeroDivisionError: of the test" in told.message
    count = len(loose.published["torques"])
    send_state(loose)
    loose.pass_time(1.0)
    assert len(loose.published["torques"]) == count
    assert capfd.readouterr().err.count("Traceback") == 1


def test_after_a_fault_the_node_can_be_activated_again(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_state(loose)
    with monkeypatch.context() as patch:
        patch.setattr(loose.node.active.maker, "measure", broken)
        send_state(loose)
    assert state_of(loose.node) == State.PRIMARY_STATE_INACTIVE
    loose.node.trigger_activate()
    for _ in range(200):
        send_state(loose)
    loose.tick()
    assert loose.published["torques"][-1].status == JointTorques.STATUS_OK
    assert loose.published["diagnostics"][-1].status[0].message == "in order"


def test_a_publisher_that_is_gone_at_the_end_harms_nothing(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def gone(_: object) -> None:
        raise RCLError("publisher is invalid")

    send_state(loose)
    monkeypatch.setattr(loose.node._commands, "publish", gone)
    loose.node.end()
    assert state_of(loose.node) in (State.PRIMARY_STATE_FINALIZED, State.PRIMARY_STATE_UNCONFIGURED)


def test_an_error_in_what_tells_of_errors_does_not_end_the_process(
    loose: LooseNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_state(loose)
    monkeypatch.setattr(loose.node, "problem", broken)
    loose.tick()
    loose.tick()
    assert state_of(loose.node) == State.PRIMARY_STATE_INACTIVE


@pytest.mark.parametrize("make_node", [Feedforward, Controller, Simulation])
@pytest.mark.parametrize("method", ["prepare", "use"])
def test_a_description_that_brings_the_program_down_leaves_the_process_alive(
    method: str,
    make_node: Callable[..., ManagedNode],
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the thread the present robot stays in use; in the executor the node deactivates itself."""
    node = make_node(context=graph.context, use_global_arguments=False)
    graph.executor.add_node(node)
    try:
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: node.robot)
        monkeypatch.setattr(node, method, broken)
        if method == "prepare":
            monkeypatch.setattr(node._reload, "_prepare", broken)
        graph.describe(urdf("two_branch"))
        graph.wait_for(
            lambda: any("ZeroDivisionError: of the test" in told.message for told in graph.diagnostics)
        )
        assert node.robot.name == "rrp"
        expected = State.PRIMARY_STATE_ACTIVE if method == "prepare" else State.PRIMARY_STATE_INACTIVE
        assert state_of(node) == expected
    finally:
        graph.executor.remove_node(node)
        node.end()
        node.destroy_node()


def test_two_nodes_of_one_name_are_told(graph: Graph) -> None:
    nodes = [
        Feedforward(context=graph.context, use_global_arguments=False, parameter_overrides=[])
        for _ in range(2)
    ]
    try:
        for node in nodes:
            graph.executor.add_node(node)
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: all(node.robot for node in nodes))

        def told() -> bool:
            return any("2 publishers send on /feedforward/torques" in d.message for d in graph.diagnostics)

        while not told():
            graph.publish_state(NAMES, Q)
            count = len(graph.diagnostics)
            graph.wait_for(lambda count=count: len(graph.diagnostics) > count)
        nodes[0].trigger_deactivate()
        graph.wait_for(
            lambda: any("another node is named /feedforward, too" in d.message for d in graph.diagnostics)
        )
    finally:
        for node in nodes:
            graph.executor.remove_node(node)
            node.end()
            node.destroy_node()
