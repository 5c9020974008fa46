# SPDX-License-Identifier: Apache-2.0
"""The parameters of the three nodes, as the YAML file that they are started with, and how they are wired."""

from __future__ import annotations

from typing import Any

import yaml

from dyn_nodes.demonstration.scene import RATE_HZ, STEP_S, Scene

TIMEOUT_S = 10.0
"""Patience of the nodes: a loaded machine may stand still for a while."""

REMAPPINGS = {
    "simulation": (("simulation/torques", "controller/torques"),),
    "controller": (("controller/reference", "reference"), ("controller/feedforward", "feedforward/torques")),
    "feedforward": (("feedforward/reference", "reference"),),
}
"""Names of topics and what they become, by node."""


def parameters(scene: Scene) -> str:
    """Answer the text of the parameter file."""
    nodes = {f"/**/{node}": {"ros__parameters": values} for node, values in _by_node(scene).items()}
    return str(yaml.safe_dump(nodes, sort_keys=False, allow_unicode=True))


def _by_node(scene: Scene) -> dict[str, dict[str, Any]]:
    # Names of parameters are whole: rcl takes nested names apart wrongly where a joint has a dot in its own.
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
    gains = {
        "p": zip(names, scene.gains.kp.tolist(), strict=True),
        "d": zip(names, scene.gains.kd.tolist(), strict=True),
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
            # The demonstration steps, when all have answered: the motion is the same on any machine.
            "paused": True,
            # What makes the state be repeated ten times a second meanwhile.
            "real_time_factor": 10.0 / RATE_HZ,
            "brakes": True,
            "model_error": float(scene.wish.model_error),
            "seed": scene.wish.seed,
            **{f"initial.{name}.position": q for name, q in centre},
        },
        "controller": {
            **listening,
            **{f"gains.{name}.{kind}": gain for kind, by_name in gains.items() for name, gain in by_name},
            # Ramps take time on a steady clock, and simulated time has another pace. Nothing breaks here.
            "ramp_start": 0.0,
            "feedforward.timeout": TIMEOUT_S,
            "feedforward.ramp_up": 0.0,
        },
        "feedforward": {
            **listening,
            # It is activated for the runs that use it.
            "autostart": False,
            "mode": "inverse_dynamics",
        },
    }
