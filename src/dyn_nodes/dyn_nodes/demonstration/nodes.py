# SPDX-License-Identifier: Apache-2.0
"""The three nodes of the demonstration: parameters, remappings, and processes with their logs."""

from __future__ import annotations

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
from dyn_nodes.demonstration.scene import RATE_HZ, STEP_S, Scene

TIMEOUT_S = 10.0
"""Timeout of the nodes (s): a loaded machine may pause for a while."""

_AT_ONCE = {"ramp_start": 0.0, "max_torque_rate": 0.0}
"""No ramps: they run on a steady clock, not in simulated time, and nothing can break here."""

REMAPPINGS = {
    "simulation": (("simulation/torques", "controller/torques"),),
    "controller": (("controller/reference", "reference"), ("controller/feedforward", "feedforward/torques")),
    "feedforward": (("feedforward/reference", "reference"),),
}
"""Names of topics and their new names, by node."""


def parameters(scene: Scene) -> str:
    """Return the text of the parameter file."""
    nodes = {f"/**/{node}": {"ros__parameters": values} for node, values in _by_node(scene).items()}
    return str(yaml.safe_dump(nodes, sort_keys=False, allow_unicode=True))


def _by_node(scene: Scene) -> dict[str, dict[str, Any]]:
    # Full names of parameters: rcl splits nested names wrongly where the name of a joint has a dot.
    names = scene.robot.coordinate_names
    side_file = {} if scene.side_file is None else {"side_file": str(scene.side_file.resolve())}
    listening = {
        **side_file,
        "use_sim_time": True,
        "timeout": TIMEOUT_S,
        "max_age": TIMEOUT_S,
        "reference_slack": 0.5,
        "reference_carry": 10.0 / RATE_HZ,
    }
    columns = {"p": scene.gains.kp.tolist(), "d": scene.gains.kd.tolist()}
    gains = {
        f"gains.{name}.{kind}": gain
        for kind, values in columns.items()
        for name, gain in zip(names, values, strict=True)
    }
    centre = zip(names, scene.motion.centre.tolist(), strict=True)
    return {
        "simulation": {
            "description_file": str(scene.path.resolve()),
            **side_file,
            "rate": RATE_HZ,
            "step": STEP_S,
            "integrator": scene.integrator,
            "publish_clock": True,
            # The demonstration makes the steps, after all responses: the motion is the same on any machine.
            "paused": True,
            # The state is repeated ten times a second meanwhile.
            "real_time_factor": 10.0 / RATE_HZ,
            "brakes": True,
            "model_error": float(scene.request.model_error),
            "seed": scene.request.seed,
            **{f"initial.{name}.position": q for name, q in centre},
        },
        "controller": {
            **listening,
            **gains,
            **_AT_ONCE,
            "feedforward.timeout": TIMEOUT_S,
            "feedforward.ramp_up": 0.0,
        },
        # The feedforward is activated in the runs that use it.
        "feedforward": {**listening, **_AT_ONCE, "autostart": False, "mode": "inverse_dynamics"},
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
