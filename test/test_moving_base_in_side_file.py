# SPDX-License-Identifier: Apache-2.0
"""Nodes with a robot whose side file declares a moving base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loose_node import loose_node
from refusals import refused
from robot_files import ROBOTS, urdf
from test_base_motion import ARM, DRIVING, NAMES, expected, imu, state, torques

from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.identification.node import Identification
from dyn_nodes.simulation.node import Simulation


@pytest.fixture
def side(ros_environment: dict[str, str], tmp_path: Path) -> Path:
    return tmp_path / "side.yaml"


@pytest.mark.promise("side-file-base")
@pytest.mark.parametrize(
    ("make", "parameters", "base", "values"),
    [
        (Feedforward, {}, "free", {"operation": "base.source 'none'"}),
        (Simulation, {}, "free", {"operation": "the simulation"}),
        (Governor, {}, "free", {"operation": "the governor"}),
        (Identification, {}, "free", {"operation": "identification"}),
        (Controller, {"natural_frequency": 3.0}, "free", {"alternative": "give p and d in its place"}),
        (Controller, {"natural_frequency": 3.0}, "planar", {"operation": "natural_frequency"}),
    ],
)
def test_nodes_that_need_a_fixed_base_refuse_a_moving_one(
    make: type[ManagedNode], parameters: dict[str, Any], base: str, values: dict[str, str], side: Path
) -> None:
    side.write_text(f"base: {base}\n")
    code = "side-file-base-misplaced" if make in (Feedforward, Controller) else "side-file-base-moves"
    given = {"description_file": str(ROBOTS["rrp"]), "side_file": str(side), **parameters}
    with refused(code, robot="rrp", base=base, **values), loose_node(make, **given):
        pass


@pytest.mark.parametrize("text", ["base: free\n", "base: given\n", "{}\n"])
def test_a_source_of_base_motion_overrides_the_side_file(text: str, side: Path) -> None:
    """Torques are those of the arm on the vehicle, as without the declaration."""
    side.write_text(text)
    parameters = {"base.source": "imu", "base.derivative_cutoff": 0.0, "ramp_start": 0.0, "ramp_up": 0.0}
    with loose_node(Feedforward, robot_description=ARM, side_file=str(side), **parameters) as loose:
        loose.send("base_imu", imu(loose, DRIVING))
        loose.send("/joint_states", state(loose))
        (message,) = torques(loose)
        assert list(message.total) == pytest.approx(expected(DRIVING), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("base", "gains"), [("given", {"natural_frequency": 3.0}), ("free", {"p": 10.0})])
def test_the_controller_accepts_a_moving_base(base: str, gains: dict[str, float], side: Path) -> None:
    """Joints on a base of given motion have the same inertia as on a fixed one."""
    side.write_text(f"base: {base}\n")
    with loose_node(Controller, robot_description=urdf("rrp"), side_file=str(side), **gains) as loose:
        assert loose.node.robot.coordinate_names == tuple(NAMES)
