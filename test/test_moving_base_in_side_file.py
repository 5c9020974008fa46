# SPDX-License-Identifier: Apache-2.0
"""Nodes with a robot whose side file says that its base moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS, urdf
from test_base_motion import ARM, DRIVING, NAMES, expected, imu, state, torques

import dyn_core
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.identification.node import Identification
from dyn_nodes.simulation.node import Simulation

SAYS = "parameter side_file: it says that the base of robot 'rrp' moves (base: {}), but "
"""How all sentences begin."""


@pytest.fixture
def side(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "side.yaml"
    path.write_text(f"base: {getattr(request, 'param', 'free')}\n")
    return path


REFUSED = {
    "feedforward": (
        Feedforward,
        "base.source 'none' takes it as standing still: set base.source to imu or odometry to be told of its "
        "motion, or leave 'base' out of it",
    ),
    "simulation": (Simulation, "the simulation takes it as standing still: leave 'base' out of it"),
    "governor": (Governor, "the governor takes it as standing still: leave 'base' out of it"),
    "identification": (Identification, "identification takes it as standing still: leave 'base' out of it"),
}


@pytest.mark.parametrize("node", REFUSED)
def test_nodes_that_take_the_base_as_standing_still(
    node: str, side: Path, ros_environment: dict[str, str]
) -> None:
    """They refuse the robot by one sentence."""
    make, sentence = REFUSED[node]
    with (
        pytest.raises(dyn_core.DynError) as caught,
        loose_node(make, description_file=str(ROBOTS["rrp"]), side_file=str(side)),
    ):
        pass
    assert str(caught.value) == SAYS.format("free") + sentence


@pytest.fixture
def vehicle(ros_environment: dict[str, str], side: Path) -> Iterator[LooseNode]:
    parameters = {"base.source": "imu", "base.derivative_cutoff": 0.0, "ramp_start": 0.0, "ramp_up": 0.0}
    with loose_node(Feedforward, robot_description=ARM, side_file=str(side), **parameters) as loose:
        yield loose


@pytest.mark.parametrize("side", ["free", "given", "fixed"], indirect=True)
def test_a_source_of_the_motion_is_believed_whatever_the_side_file_says(
    side: Path, request: pytest.FixtureRequest
) -> None:
    """Torques are those of the arm on the vehicle, as without the word."""
    if "fixed" in side.read_text():
        side.write_text("{}\n")
    loose: LooseNode = request.getfixturevalue("vehicle")
    loose.send("base_imu", imu(loose, DRIVING))
    loose.send("/joint_states", state(loose))
    (message,) = torques(loose)
    assert list(message.total) == pytest.approx(expected(DRIVING), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("side", "frequency"), [("given", 3.0), ("free", 0.0)], indirect=["side"])
def test_the_controller_works(side: Path, frequency: float, ros_environment: dict[str, str]) -> None:
    """Joints on a base of given motion feel the inertia that they feel on one that stands."""
    gains = {"natural_frequency": frequency} if frequency else {"p": 10.0}
    with loose_node(Controller, robot_description=urdf("rrp"), side_file=str(side), **gains) as loose:
        assert loose.node.robot.coordinate_names == tuple(NAMES)


@pytest.mark.parametrize("side", ["free", "planar"], indirect=True)
def test_gains_by_inertia_on_a_base_that_is_free(side: Path, ros_environment: dict[str, str]) -> None:
    kind = "free" if "free" in side.read_text() else "planar"
    parameters = {"description_file": str(ROBOTS["rrp"]), "side_file": str(side), "natural_frequency": 3.0}
    make: type[ManagedNode] = Controller
    with pytest.raises(dyn_core.DynError) as caught, loose_node(make, **parameters):
        pass
    assert str(caught.value) == SAYS.format(kind) + (
        "natural_frequency takes it as standing still: give p and d in its place, or leave 'base' out of it"
    )
