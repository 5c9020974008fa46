# SPDX-License-Identifier: Apache-2.0
"""The demonstration from the request to the report."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier, try_shutdown

from dyn_core import DynError
from dyn_nodes.common.lifecycle.managed_node import RCLError
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.demonstration import output_files as files
from dyn_nodes.demonstration.control_runs import BASELINE, Performance, controls
from dyn_nodes.demonstration.isolation import isolated_environment
from dyn_nodes.demonstration.nodes import parameters, running_nodes
from dyn_nodes.demonstration.recording import (
    PassiveMotion,
    Recording,
    greatest,
    passive_joints,
    passive_motions,
)
from dyn_nodes.demonstration.report import Facts, about_joints, centre_gains, gain_margin_words, report
from dyn_nodes.demonstration.request import DemoRequest, Progress, Stop
from dyn_nodes.demonstration.scene import DAMPING, Scene, prepared
from dyn_nodes.demonstration.tracking_errors import as_data, error_table, headline, results


def show(request: DemoRequest, out: Path, ros_arguments: Sequence[str] | None, stop: Stop) -> None:
    """Run the demonstration and write its files.

    Args:
        request: the request.
        out: directory of the files.
        ros_arguments: arguments of ROS to find running nodes; None to start nodes here, in their own domain.
        stop: detects that the user stops the program.

    Raises:
        DynError: the robot cannot be used, a file cannot be written, or the demonstration cannot go on.
        Stopped: the user stops the program.
    """
    files.writable(out)
    progress = Progress()
    with stop.at_once():
        scene = prepared(request, progress)
    side_file = {} if scene.side_text is None else {files.SIDE_FILE: scene.side_text}
    files.write(out, {files.PARAMETERS: parameters(scene, out / files.SIDE_FILE), **side_file})
    alone = ros_arguments is None
    with isolated_environment(os.environ) if alone else nullcontext({**os.environ}) as environment:
        print(_head(scene, environment), flush=True)
        nodes = running_nodes(out, environment) if alone else nullcontext(None)
        with nodes as running, _node(environment, ros_arguments or ()) as (node, spin_once):
            check = (lambda: None) if running is None else running.check  # nodes of the user are not watched
            progress("waiting for the nodes, which load and compile the robot")
            performance = Performance(node, spin_once, scene, check, stop, progress)
            recordings, factor = _performed(scene, performance)
    with stop.at_once():
        progress("computing the errors and the report")
        found = results(scene.robot, recordings, BASELINE)
        print(f"\n{error_table(scene.robot, found, BASELINE)}", flush=True)
        print(f"\n{headline(found, BASELINE)}", flush=True)
        passive = passive_motions(scene.model, recordings)
        facts = Facts(f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}", factor, _versions())
        figures = {**_figures(scene, facts), **_passive(scene, passive), **as_data(scene.robot, found)}
        texts = {
            files.DATA: files.data_text(scene.model, recordings, passive),
            files.FIGURES: files.figures_text(figures),
            files.REPORT: report(scene, recordings, passive, found, facts),
        }
    files.write(out, texts)
    stop.check()
    print(f"\nReport: {(out / files.REPORT).resolve()}")


def _performed(scene: Scene, performance: Performance) -> tuple[list[Recording], float]:
    """Run all controls; return the recordings, and the simulated time per second."""
    performance.connect()
    began, simulated = time.monotonic(), performance.time
    recordings, planned = [], controls(scene.request.model_error)
    for number, control in enumerate(planned, start=1):
        print(f"  run {number} of {len(planned)}: {control.title}", flush=True)
        recordings.append(performance.run(control))
    return recordings, (performance.time - simulated) / (time.monotonic() - began)


@contextmanager
def _node(
    environment: Mapping[str, str], ros_arguments: Sequence[str]
) -> Iterator[tuple[Node, Callable[[float], None]]]:
    """Yield the node of this process, in the domain of `environment`, and the handler of its messages."""
    os.environ.update(environment)
    try:
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        raise DynError("ros-not-started", reason=str(error).splitlines()[0]) from error
    try:
        node = rclpy.create_node("demo")
        executor = make_executor()
        executor.add_node(node)
        yield node, lambda seconds: executor.spin_once(timeout_sec=seconds)
        node.destroy_node()
    finally:
        try_shutdown()


def _head(scene: Scene, environment: Mapping[str, str]) -> str:
    robot, request = scene.robot, scene.request
    error = (
        "masses, inertias and friction of the simulated robot are off by up to "
        f"{100 * request.model_error:g} % from its description (seed {request.seed})"
        if request.model_error
        else "the simulated robot is as its description says"
    )
    lines = [
        f"Robot '{robot.name}' with {about_joints(scene)} and joint friction; ROS_DOMAIN_ID="
        f"{environment.get('ROS_DOMAIN_ID', '0')}.",
        f"Model error: {error}.",
        f"PD gains for {scene.frequency:.3g} Hz, damping ratio {DAMPING:g}, weighted by the inertia matrix; "
        f"{gain_margin_words(scene)}.",
        f"A motion of {request.duration:g} s at {request.rate:g} Hz in each run.",
        *(f"Note: {remark}" for remark in scene.remarks),
    ]
    return "\n".join(lines)


def _figures(scene: Scene, facts: Facts) -> dict[str, Any]:
    kp, kd, inertia = (values.tolist() for values in centre_gains(scene))
    margin = scene.feedback.margin
    assert margin is not None, "the rate is known"
    request = scene.request
    return {
        "robot": scene.robot.name,
        **{name: getattr(request, name) for name in ("model_error", "seed", "duration")},
        "rate": request.rate,
        "armature": dict(scene.armature),
        "gain_margin": margin.decibel,
        "gain_margin_joint": scene.robot.coordinate_names[margin.joint],
        "natural_frequency": scene.frequency,
        "damping": DAMPING,
        "kp": kp,
        "kd": kd,
        "inertia": inertia,
        **{name: getattr(facts, name) for name in ("real_time_factor", "date", "versions")},
    }


def _passive(scene: Scene, motions: Sequence[PassiveMotion]) -> dict[str, Any]:
    joints = passive_joints(scene.model)
    return {
        "passive_joint_names": [joint.name for joint in joints],
        "passive_position_units": [joint.position_unit for joint in joints],
        "passive_largest_from_loops": greatest(motions).tolist(),
    }


def _versions() -> dict[str, str]:
    try:
        ours = version("dyn_core")
    except PackageNotFoundError:
        ours = "from sources"
    return {
        "dyn_core": ours,
        "ROS 2": os.environ.get("ROS_DISTRO", "unknown"),
        "middleware": get_rmw_implementation_identifier(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
