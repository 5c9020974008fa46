# SPDX-License-Identifier: Apache-2.0
"""What `dyn payload` writes and prints is a request that the services of the nodes take."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pytest
import yaml
from robot_files import urdf

import dyn_core
from dyn_core.results.payload_request import payload_text, service_call
from dyn_msgs.srv import SetPayload
from dyn_nodes.payload_message import payload_of


def filled(message: Any, values: dict[str, Any]) -> Any:
    """A message with these fields, as `ros2 service call` fills it: names and types have to be right."""
    for name, value in values.items():
        old = getattr(message, name)
        setattr(message, name, filled(old, value) if isinstance(value, dict) else value)
    return message


@pytest.fixture(scope="module")
def payload() -> dyn_core.Payload:
    """A small body, so that there are numbers that are written with an exponent."""
    robot = dyn_core.load_robot(urdf("rrp"))
    t, w = np.arange(8000) / 1000.0, 2.0 * np.pi * 0.2 * np.arange(1, 5)[:, None]
    motions = []
    for seed, held in ((0, robot.with_payload("slider", 0.02, (0.01, 0.0, 0.002))), (1, robot)):
        random = np.random.default_rng(seed)
        a, phase = random.normal(size=(2, 4, 3)) / w
        angle = t[:, None, None] * w + phase
        q, qd, qdd = (
            (a * np.sin(angle)).sum(1),
            (a * w * np.cos(angle)).sum(1),
            -(a * w**2 * np.sin(angle)).sum(1),
        )
        tau = dyn_core.compile_model(held, backend="python").inverse_dynamics(q, qd, qdd)
        tau += 1e-5 * random.normal(size=tau.shape)
        motions.append(dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, qdd, tau, decimate=10))
    settings = dyn_core.IdentificationSettings((dyn_core.FrictionModel(),) * 3, diagnose=False)
    return dyn_core.identify_payload(robot, "slider", *motions, settings)


def test_file_and_command_are_requests(payload: dyn_core.Payload) -> None:
    *command, text = shlex.split(service_call(payload))
    assert command == ["ros2", "service", "call", "/feedforward/set_payload", "dyn_msgs/srv/SetPayload"]
    for said in (payload_text(payload, ["By a test."]), text):
        request = filled(SetPayload.Request(), yaml.safe_load(said))
        found = payload_of(request.payload)
        assert found.link == payload.link == "slider"
        assert found.mass == pytest.approx(0.02, abs=1e-4)
        assert found.mass == pytest.approx(payload.mass, rel=1e-11)
        assert found.centre == pytest.approx(payload.centre, rel=1e-11)
        assert found.inertia == pytest.approx(payload.inertia, rel=1e-11)
        dyn_core.load_robot(urdf("rrp")).with_payload(*found)
