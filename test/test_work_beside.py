# SPDX-License-Identifier: Apache-2.0
"""Requests and long checks are done beside the control path: torques go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.srv import GetState
from message_makers import AT_ONCE, NAMES, point, reference, trajectory
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.serialization import serialize_message
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from simulation_client import hosted, overrides
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import PlannedPoints, planned, trajectory_points
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.managed_node import MOST_ENTRIES, MOST_WITH_CLOCK, ManagedNode
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.common.torques.trajectory_following import TrajectoryFollowing
from dyn_nodes.compose import NODES as ALL
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

Q = [0.1, 0.3, 0.05]
RRP = {"description_file": str(ROBOTS["rrp"])}


class Asked(ManagedNode):
    """A node with a service that changes it."""

    def __init__(self, **options: Any) -> None:
        self.threads: list[Thread] = []
        super().__init__("asked", **options)
        self.create_service(Trigger, "~/change", self._change)

    def _change(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.threads.append(current_thread())
        response.success = True
        return response

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def asked(graph: Graph) -> Iterator[Asked]:
    """A node whose executor nothing spins, as if a callback took for ever."""
    node = Asked(context=graph.context, use_global_arguments=False)
    executor = make_executor(graph.context)
    executor.add_node(node)
    yield node
    node.destroy_node()
    executor.shutdown()


def ask(graph: Graph, kind: Any, service: str, node: str = "asked", **request: Any) -> Any:
    client = graph.node.create_client(kind, f"{node}/{service}")
    return graph.call(client, kind.Request(**request))


def double(name: str) -> Parameter:
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0)
    return Parameter(name=name, value=value)


@pytest.mark.promise("requests-beside")
def test_requests_are_answered_while_the_executor_is_busy(graph: Graph, asked: Asked) -> None:
    names = ["autostart"]
    assert len(ask(graph, GetParameters, "get_parameters", names=names).values) == 1
    assert len(ask(graph, DescribeParameters, "describe_parameters", names=names).descriptors) == 1
    assert "autostart" in ask(graph, ListParameters, "list_parameters").result.names
    assert ask(graph, GetState, "get_state").current_state.label == "unconfigured"
    parameters = [double("autostart"), double("no such")]
    results = ask(graph, SetParameters, "set_parameters", parameters=parameters).results
    assert [result.successful for result in results] == [False, False]


@pytest.mark.promise("requests-beside")
@pytest.mark.parametrize("name", ALL)
def test_an_active_node_answers_requests_while_a_callback_takes_long(name: str, graph: Graph) -> None:
    """The callback does not wait, it computes: only another thread can answer meanwhile."""
    began, may_end = Event(), Event()

    def long() -> None:
        began.set()
        while not may_end.is_set():
            pass

    node = ALL[name](context=graph.context, parameter_overrides=overrides(**RRP), use_global_arguments=False)
    executor: Any = make_executor(graph.context)
    executor.add_node(node)
    executor.create_task(node.contained(long))
    spinning = Thread(target=executor.spin, daemon=True)
    spinning.start()
    try:
        graph.wait_for(began.is_set)
        assert ask(graph, GetState, "get_state", name).current_state.label == "active"
        (file,) = ask(graph, GetParameters, "get_parameters", name, names=["description_file"]).values
        assert file.string_value == RRP["description_file"]
        described = ask(graph, DescribeParameters, "describe_parameters", name, names=["autostart"])
        assert described.descriptors[0].read_only
        assert "autostart" in ask(graph, ListParameters, "list_parameters", name).result.names
        types = ask(graph, GetParameterTypes, "get_parameter_types", name, names=["autostart"]).types
        assert list(types) == [ParameterType.PARAMETER_BOOL]
        results = ask(graph, SetParameters, "set_parameters", name, parameters=[double("autostart")]).results
        assert not results[0].successful
        assert spinning.is_alive()
    finally:
        may_end.set()
        executor.shutdown()
        spinning.join()
        node.end()
        node.destroy_node()


@pytest.mark.promise("live-tuning")
def test_parameters_are_changed_by_requests(graph: Graph) -> None:
    """Each of several by itself, or all together."""
    process = graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-p", "mode:=computed_torque")
    graph.wait_for(lambda: "feedforward" in graph.node.get_node_names())
    graph.load(urdf("rrp"))

    def given(**values: float) -> list[Parameter]:
        kind = ParameterType.PARAMETER_DOUBLE
        return [Parameter(name=n, value=ParameterValue(type=kind, double_value=v)) for n, v in values.items()]

    def present(*names: str) -> list[float]:
        found = ask(graph, GetParameters, "get_parameters", "feedforward", names=list(names)).values
        return [value.double_value for value in found]

    parameters = given(natural_frequency=3.0, timeout=1.0, damping=-1.0, blend_time=0.5)
    results = ask(graph, SetParameters, "set_parameters", "feedforward", parameters=parameters).results
    assert [result.successful for result in results] == [True, False, False, True]
    assert all(result.reason for result in results if not result.successful)
    assert present("natural_frequency", "damping", "blend_time") == [3.0, 1.0, 0.5]
    for frequency, successful in ((4.0, False), (5.0, True)):
        parameters = given(natural_frequency=frequency, damping=0.7 if successful else -1.0)
        asked = {"parameters": parameters}
        result = ask(
            graph, SetParametersAtomically, "set_parameters_atomically", "feedforward", **asked
        ).result
        assert result.successful is successful
    assert present("natural_frequency", "damping") == [5.0, 0.7]
    graph.wait_for(lambda: "changed: natural_frequency = 5.0, damping = 0.7" in process.log)


def test_what_changes_the_node_is_done_by_its_executor(graph: Graph, asked: Asked) -> None:
    client = graph.node.create_client(Trigger, "asked/change")
    graph.wait_for(client.service_is_ready)
    futures = [client.call_async(Trigger.Request()) for _ in range(3)]
    executor: Any = asked.executor

    def answered() -> bool:
        executor.spin_once(timeout_sec=0.01)
        return all(future.done() for future in futures)

    graph.wait_for(answered)
    assert asked.threads == [current_thread()] * 3


@pytest.mark.promise("requests-large")
@pytest.mark.parametrize(
    ("name", "count"), [("autostart", MOST_ENTRIES + 1), ("use_sim_time", MOST_WITH_CLOCK + 1)]
)
def test_requests_that_are_too_large_are_refused_whole(
    name: str, count: int, graph: Graph, asked: Asked
) -> None:
    parameters = [double(name)] * count
    results = ask(graph, SetParameters, "set_parameters", parameters=parameters).results
    assert len(results) == count
    assert not any(result.successful for result in results)
    assert str(count) in results[0].reason


NODES = {"feedforward": (Feedforward, {"mode": "computed_torque"}), "controller": (Controller, {"p": 100.0})}
AWAY = [0.15, 0.3, 0.05]
"""Where the trajectories of these tests go; torques for a robot at Q show it."""


class Followed:
    """An active node that follows motions, and what the test sends to it and gets from it."""

    def __init__(self, name: str, graph: Graph, node: ManagedNode) -> None:
        self.name, self.graph, self.node = name, graph, node
        self._trajectories = graph.node.create_publisher(
            JointTrajectory, f"{name}/joint_trajectory", qos.EACH_MESSAGE
        )
        self._references = graph.node.create_publisher(JointReference, f"{name}/reference", qos.COMMAND)
        self._sent: list[JointTorques] = []
        graph.node.create_subscription(JointTorques, f"{name}/torques", self._sent.append, qos.COMMAND)
        ours = (self._trajectories, self._references)
        graph.wait_for(lambda: all(one.get_subscription_count() for one in ours))
        heard = next(one for one in node.publishers if one.topic_name == f"/{name}/torques")
        graph.wait_for(heard.get_subscription_count)

    def torques(self) -> list[float]:
        """Return the torques for a joint state at rest at Q."""
        stamp = self.graph.publish_state(NAMES, Q, velocities=[0.0] * 3)
        self.graph.wait_for(lambda: self._sent and self._sent[-1].header.stamp == stamp)
        return list(self._sent[-1].total)

    def go(self, size: int) -> None:
        """Send a trajectory of so many bytes: four more than a multiple of eight."""
        made = trajectory(*(point(0.01 * k, AWAY, [0.0] * 3) for k in range(1, 1 + (size - 500) // 96)))
        made.header.frame_id = "x" * (size - len(serialize_message(made)))
        raw = serialize_message(made)
        assert len(raw) == size
        self._trajectories.publish(raw)

    def stop(self) -> None:
        self._trajectories.publish(JointTrajectory())

    def refer(self) -> None:
        self._references.publish(reference(self.graph.now(), Q, [0.0] * 3, [0.0] * 3))

    def count(self, what: str) -> int:
        return int(self.node._diagnostics._counts.get(what, 0))


@pytest.fixture(params=NODES)
def followed(request: pytest.FixtureRequest, graph: Graph) -> Iterator[Followed]:
    make_node, own = NODES[request.param]
    given = overrides(**RRP, **own, **AT_ONCE, timeout=30.0, max_age=30.0, max_reference_speed=1e3)
    with hosted(graph, make_node, use_global_arguments=False, parameter_overrides=given) as node:
        yield Followed(request.param, graph, node)


class Checks:
    """Checks of trajectories: their bytes and threads. They wait in other threads than this one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[int, Thread]] = []
        self.may_go_on = Event()
        check: Callable[..., Any] = TrajectoryFollowing.checked

        def slow(following: Any, request: Any) -> Any:
            self.done.append((len(request.raw), current_thread()))
            if current_thread() is not main_thread():
                self.may_go_on.wait()
            return check(following, request)

        monkeypatch.setattr(TrajectoryFollowing, "checked", slow)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Checks]:
    """The checks of the nodes of this test, which may go on at its end."""
    checks = Checks(monkeypatch)
    yield checks
    checks.may_go_on.set()


@pytest.mark.promise("trajectory-long")
def test_trajectories_of_more_than_4_kb_are_checked_in_a_thread(checks: Checks, followed: Followed) -> None:
    followed.torques()
    checks.may_go_on.set()
    for count, size in enumerate((3996, 4004, 4012, 400_004), start=1):
        followed.go(size)
        followed.graph.wait_for(lambda count=count: followed.count("trajectories used") == count)
    assert [size // 100 for size, _ in checks.done] == [39, 40, 40, 4000]
    assert all((thread is not main_thread()) is (size > 4000) for size, thread in checks.done)


@pytest.mark.promise("trajectory-long")
@pytest.mark.parametrize("then", ["nothing", "stop", "refer"])
def test_torques_go_on_while_a_trajectory_is_checked(then: str, checks: Checks, followed: Followed) -> None:
    """A stop or a reference that comes meanwhile counts, and not the trajectory, which came before."""
    graph, held = followed.graph, followed.torques()
    followed.go(400_004)
    graph.wait_for(lambda: checks.done)
    assert checks.done[0][1] is not main_thread()
    for _ in range(5):
        assert followed.torques() == held
    if then != "nothing":
        what = "trajectories used" if then == "stop" else "references used"
        getattr(followed, then)()
        graph.wait_for(lambda: followed.count(what) == 1)
    checks.may_go_on.set()
    if then == "nothing":
        graph.wait_for(lambda: followed.torques() != held)
        assert followed.count("trajectories used") == 1
    else:
        graph.wait_for(lambda: "request-superseded" in graph.told.codes)
        assert followed.count("trajectories refused") == 1
        for _ in range(5):
            assert followed.torques() == pytest.approx(held)


@pytest.mark.parametrize("stamp", [None, -3.5, 0.0, 2.0])
@pytest.mark.parametrize("derivatives", [0, 1, 2])
def test_planned_points_are_entered_as_they_are_planned(stamp: float | None, derivatives: int) -> None:
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.1, 1.0, 12))
    rows: list[Any] = [
        rng.uniform(-1.0, 1.0, (12, 2)).tolist() if k <= derivatives else None for k in range(3)
    ]
    points = trajectory_points("ab", "ab", times, *rows, may_end_moving=True)
    for start in (None, Motion(*rng.uniform(-1.0, 1.0, (3, 2)))):
        expected = planned(points, 10.0, None if stamp is None else 10.0 + stamp, start)
        entered, way = PlannedPoints.of(points).entered(10.0, None if stamp is None else 10.0 + stamp, start)
        at = np.linspace(expected.start - 0.1, expected.end + 0.1, 500)
        for one, other in zip(entered.sample_many(at), expected.sample_many(at), strict=True):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-8)
        assert len(way.durations) == (start is not None)
