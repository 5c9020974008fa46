# SPDX-License-Identifier: Apache-2.0
"""The three nodes of the demonstration: parameters, remappings, and processes with their logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import yaml

from dyn_core import DynError
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.demonstration.isolation import node_process
from dyn_nodes.demonstration.output_files import PARAMETERS
from dyn_nodes.demonstration.scene import STEP_S, Scene

TIMEOUT_S = 10.0
"""Timeout of the nodes (s): a loaded machine may pause for a while."""

_AT_ONCE = {"ramp_start": 0.0, "max_torque_rate": 0.0}
"""No ramps: they run on a steady clock, not in simulated time, and nothing can break here."""

REMAPPINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "simulation": (("simulation/torques", "controller/torques"),),
    "controller": (("controller/feedforward", "feedforward/torques"),),
    "feedforward": (),
}
"""Names of topics and their new names, by node."""


def parameters(scene: Scene, side_file: Path) -> str:
    """Return the text of the parameter file; `side_file` is that of the scene, where it has one."""
    nodes = {
        f"/**/{node}": {"ros__parameters": values} for node, values in _by_node(scene, side_file).items()
    }
    # A list that stands several times would be an alias, which rcl does not read.
    return str(yaml.safe_dump(json.loads(json.dumps(nodes)), sort_keys=False, allow_unicode=True))


def _by_node(scene: Scene, written: Path) -> dict[str, dict[str, Any]]:
    # Full names of parameters: rcl splits nested names wrongly where the name of a joint has a dot.
    names = scene.robot.coordinate_names
    given = {} if scene.side_file is None else {"side_file": str(scene.side_file.resolve())}
    side_file = given if scene.side_text is None else {"side_file": str(written.resolve())}
    request = scene.request
    moving: dict[str, Any] = {f"locked_joints.{name}": position for name, position in request.locked}
    if request.joints:
        moving["joints"] = list(request.joints)
    listening = {
        **moving,
        "use_sim_time": True,
        "timeout": TIMEOUT_S,
        "max_age": TIMEOUT_S,
        "reference_slack": 0.5,
        "reference_carry": 10.0 / request.rate,
    }
    gains = ("natural_frequency", "damping", "armature", "joint_state_rate")
    centre = zip(names, scene.motion.centre.tolist(), strict=True)
    return {
        "simulation": {
            "description_file": str(scene.path.resolve()),
            **side_file,
            **moving,
            "rate": request.rate,
            "step": STEP_S,
            "integrator": scene.integrator,
            "publish_clock": True,
            # The demonstration makes the steps, after all responses: the motion is the same on any machine.
            "paused": True,
            # The state is repeated ten times a second meanwhile.
            "real_time_factor": 10.0 / request.rate,
            "brakes": True,
            "model_error": float(request.model_error),
            "seed": request.seed,
            **{f"initial.{name}.position": q for name, q in centre},
        },
        "controller": {
            # It assumes the rotor inertias itself, as on a real robot.
            **given,
            **listening,
            **{name: float(getattr(scene.gains, name)) for name in gains},
            **_AT_ONCE,
            "feedforward.timeout": TIMEOUT_S,
            "feedforward.ramp_up": 0.0,
        },
        # The feedforward is activated in the runs that use it.
        "feedforward": {**side_file, **listening, **_AT_ONCE, "autostart": False, "mode": "inverse_dynamics"},
    }


class Nodes:
    """Running processes of nodes."""

    def __init__(self, processes: Mapping[str, Popen[str]], directory: Path) -> None:
        """Watch processes by the name of their node, with their log files in `directory`."""
        self._processes, self._directory = processes, directory

    def check(self) -> None:
        """Raise DynError where a node has ended."""
        for name, process in self._processes.items():
            status, log = process.poll(), _log(self._directory, name)
            if status is not None:
                raise DynError("node-ended", node=name, status=status, path=log, last_line=_last_line(log))


@contextmanager
def running_nodes(directory: Path, environment: Mapping[str, str]) -> Iterator[Nodes]:
    """Run the nodes until the context ends, with parameter file and logs in `directory`."""
    parameters = directory / PARAMETERS
    with ExitStack() as resources:
        processes = {}
        for name, remappings in REMAPPINGS.items():
            wiring = [word for source, target in remappings for word in ("-r", f"{source}:={target}")]
            log = _log(directory, name)
            try:
                stderr = resources.enter_context(log.open("w"))
            except OSError as error:
                raise DynError("file-unwritable", path=log, reason=error.strerror) from error
            arguments = ["-m", f"dyn_nodes.{name}", "--ros-args", "--params-file", str(parameters), *wiring]
            processes[name] = resources.enter_context(node_process(arguments, environment, stderr))
        yield Nodes(processes, directory)


def _log(directory: Path, name: str) -> Path:
    return directory / f"{name}.log"


def _last_line(log: Path) -> str | Notice:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return Notice("log-unreadable", reason=error.strerror)
    return next((line.strip() for line in reversed(lines) if line.strip()), Notice("log-empty"))
