# SPDX-License-Identifier: Apache-2.0
"""Thousands of malformed messages, requests and transitions among good ones, for each node and mode.

The output stays complete, finite and within the effort limits of the description, no callback fails, no
node leaves its state, and good data gets the right torques again. `fuzz/README.md` says how to try more.
"""

from __future__ import annotations

from collections.abc import Mapping

import message_run
import numpy as np
import pytest
from loose_node import LooseNode
from message_run import Outcome, stormed, throw
from node_cases import CASES, KP
from random_seed import drawn, sizes
from rnea import Pinocchio, by_name, frictionless
from std_msgs.msg import Float64MultiArray

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload

RECOVERING = (
    *("gravity", "gravity that scales", "inverse dynamics", "inverse dynamics withheld", "computed torque"),
    *("stiff computed torque", "controller", "integrating controller", "simulation"),
    "governor",
)
"""Cases with known right torques for good data."""


@pytest.mark.usefixtures("ros_environment")
def test_a_message_that_takes_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has to take too long in each of several runs of the same sequence."""
    monkeypatch.setattr(message_run, "PERIODS", 0.0)
    wrong = message_run.run_case("controller", 7, 5).wrong
    assert len(wrong) == 5
    assert all("of the processor" in problem for problem in wrong)
    runs = [
        Outcome(costly={1: "once", 3: "always"}),
        Outcome(costly={3: "always"}),
        Outcome(costly={3: "again"}),
    ]
    monkeypatch.setattr(message_run, "_sequence_of", lambda *_: runs.pop(0))
    assert message_run.run_case("controller", 7, 5).wrong == ["again"]


def good_for(
    loose: LooseNode, seconds: float, q: Mapping[str, float], reference: JointReference | None = None
) -> None:
    """Send good data at 100 Hz."""
    for _ in range(round(100 * seconds)):
        loose.measure(list(q.values()), [0.0] * len(q), list(q))
        if reference is not None:
            reference.header.stamp = loose.stamp
            loose.send("reference", reference)
        loose.pass_time(0.01)


@pytest.mark.promise("outputs-finite", "outputs-within-limits", "messages-harmless")
@sizes(150, 3000, [1, 2])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("ros_environment")
def test_a_storm_of_bad_messages_is_harmless(
    case: str, count: int, seed: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng([drawn(seed), *case.encode()])
    outcome = Outcome()
    with stormed(CASES[case], rng, outcome) as nodes:
        throw(nodes, rng, count, outcome, events=0.01)
        assert outcome.wrong == []
        told = capfd.readouterr().err.splitlines()
        ours = [line for line in told if line.startswith(("[WARN]", "[ERROR]")) and "[rcl]" not in line]
        # The storm lasts less than a minute on the steady clock of the problem log.
        assert len(ours) < 200 * len(nodes)
        assert max(map(len, ours), default=0) < 600
        if case in RECOVERING:
            loose = nodes[0].loose
            loose.tap = None
            check_recovery(case, loose, nodes[0].fuzzed.loaded, rng)
    assert outcome.wrong == []
    assert outcome.messages == count
    assert sum(outcome.checked.values()) > 100 or seed is None or case == "identification"


def check_recovery(case: str, loose: LooseNode, robot: dyn_core.Robot, rng: np.random.Generator) -> None:
    """Good data give the torques of Pinocchio, or of the control law written by hand."""
    oracle = Pinocchio(frictionless("rrp"))
    q = {name: float(rng.uniform(-0.02, 0.02)) for name in oracle.names}
    if case == "simulation":
        assert loose.call("reset", loose.service_request("reset")).success
        loose.call("pause", loose.service_request("pause"))
        loose.send("commands", Float64MultiArray(data=[1.0, 2.0, 3.0]))
        loose.pass_time(0.1)
        assert list(loose.published["joint_states"][-1].effort) == [1.0, 2.0, 3.0]
        return
    wanted = JointReference(name=list(q), position=list(q.values()))
    if case == "governor":
        loose.pass_time(5.0)  # the rest of the path is sent
        good_for(loose, 0.02, q, wanted)
        assert loose.published["feasible_reference"][-1] == wanted
        return
    if case.endswith("controller"):
        good_for(loose, 1.0, q)
        if case == "integrating controller":  # the integral is unknown
            return
        wanted.position = [value + 0.01 for value in q.values()]
        wanted.velocity = [0.0] * len(q)
        good_for(loose, 1.0, q, wanted)
        assert by_name(loose.published["torques"][-1]) == pytest.approx(dict.fromkeys(q, 0.01 * KP))
        return
    # Undo the valid payloads and parameters.
    for link in robot.link_names:
        loose.send("payload", Payload(link_name=link))
    loose.send("dynamic_parameters", DynamicParameters(name=robot.parameter_names, value=robot.parameters))
    if case.startswith("inverse"):
        wanted.velocity = [0.1] * len(q)
        wanted.acceleration = [0.5] * len(q)
        good_for(loose, 3.0, q, wanted)
        expected = oracle.torques(q, dict.fromkeys(q, 0.1), dict.fromkeys(q, 0.5))
    else:
        wanted.velocity = wanted.acceleration = [0.0] * len(q)
        good_for(loose, 3.0, q, wanted)
        expected = oracle.held(q)
    torques = loose.published["torques"][-1]
    assert torques.status == JointTorques.STATUS_OK
    assert by_name(torques) == pytest.approx(expected, rel=1e-9, abs=1e-9)
