# SPDX-License-Identifier: Apache-2.0
"""The demonstration on the arms of example-robot-data, as the table of docs/demo.md.

In a `make shell`, with the environment of `make bench` for the descriptions:

    python bench/demo_arms.py            # `make demo` for each arm, with its processes, over DDS
    python bench/demo_arms.py --seeds 20 # and 20 seeds of model errors at 500 Hz and 1 kHz, in this process

The runs of the seeds have the control law of the node `controller`, with its watch for divergence, and the
simulated robot of the node `simulation`. Torques act one period after the joint state that they are for. The
exit code is 1 where a demonstration fails, a controller gives up, or the error is not five times smaller.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dyn_core
from dyn_core import DynError, Model
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.watchdog import WatchSettings
from dyn_nodes.common.messages.motion_message import GivenMotion
from dyn_nodes.common.torques.output_stage import Smoothing
from dyn_nodes.common.torques.reference_parameters import ReferenceSettings
from dyn_nodes.controller.joint_controller import JointController
from dyn_nodes.controller.parameters import ControllerSettings
from dyn_nodes.demonstration.request import DemoRequest
from dyn_nodes.demonstration.scene import STEP_S, Scene, prepared

BAR = 5.0
RATES = (500.0, 1000.0)
_DATA = "cmeel.prefix/share/example-robot-data/robots"
_TIAGO_ARM = tuple(f"arm_{number}_joint" for number in range(1, 8))


@dataclass(frozen=True)
class Arm:
    """A description, and which of its joints move."""

    name: str
    path: str
    joints: tuple[str, ...] = ()
    locked: tuple[tuple[str, float], ...] = ()


ARMS = (
    Arm("UR3", "ur_description/urdf/ur3_robot.urdf"),
    Arm("UR5", "ur_description/urdf/ur5_robot.urdf"),
    Arm("UR10", "ur_description/urdf/ur10_robot.urdf"),
    Arm("Panda", "panda_description/urdf/panda.urdf", locked=(("panda_finger_joint1", 0.0),)),
    Arm("Panda with fingers", "panda_description/urdf/panda.urdf"),
    Arm("Kinova Jaco", "kinova_description/robots/kinova.urdf"),
    Arm("xArm 7", "xarm_description/urdf/xarm7.urdf"),
    Arm("Z1", "z1_description/urdf/z1.urdf", locked=(("jointGripper", 0.0),)),
    Arm("Talos arm", "talos_data/robots/talos_left_arm.urdf", locked=(("gripper_left_joint", 0.0),)),
    Arm("TIAGo arm", "tiago_description/robots/tiago.urdf", joints=_TIAGO_ARM),
    Arm("SO-101", "so_arm_description/urdf/so101.urdf"),
)


@dataclass(frozen=True)
class Row:
    """The result of one demonstration: errors (mrad), factors, margin (dB)."""

    errors: tuple[float, ...]
    factor: float
    least: float
    frequency: float
    margin: float


def request_of(arm: Arm, data: Path) -> DemoRequest:
    """Return the request of an arm with the defaults of `make demo`."""
    return DemoRequest(str(data / arm.path), joints=arm.joints, locked=arm.locked)


def demonstrated(request: DemoRequest) -> Row:
    """Run a demonstration in processes of its own; DynError with its last line where it fails."""
    words = [request.robot, "--joints", ",".join(request.joints)]
    words += [word for name, position in request.locked for word in ("--lock", f"{name}={position:g}")]
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "dyn_nodes.demo", "--out", out, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise DynError(f"exit code {done.returncode}: {done.stderr.strip()}")
        figures = json.loads((Path(out) / "figures.json").read_text())
    runs = figures["runs"]
    described = runs[2]
    errors = tuple(1e3 * run["overall_rms_error"]["rad"] for run in runs)
    least = min(described["factor"])
    factor = min(described["overall_factor"].values())
    return Row(errors, factor, least, figures["natural_frequency"], figures["gain_margin"])


def controller(scene: Scene) -> JointController:
    """Return the control law of the node, without ramps."""
    watch = WatchSettings(timeout=10.0, ramp_up=0.0)
    settings = ControllerSettings(
        gains=scene.gains,
        watch=watch,
        feedforward=watch,
        smoothing=Smoothing(ramp_start=0.0, max_rate=0.0),
        references=ReferenceSettings(slack=0.5, carry=10.0 / scene.request.rate),
    )
    side_file = None if scene.side_file is None else str(scene.side_file)
    request = scene.request
    moving = {"locked_joints": dict(request.locked) or None, "joints": request.joints or None}
    return JointController(dyn_core.load_robot(str(scene.path), loops=side_file, **moving), settings)


def rms_error(scene: Scene, real: dyn_core.Robot, model: Model, *, moving: bool) -> float:
    """Return the RMS error of one run with the feedforward of the motion, or of gravity (rad).

    Raises:
        DynError: the controller has given up, or the simulation has diverged.
    """
    T = 1.0 / scene.request.rate
    substeps = max(1, round(T / STEP_S))
    settings = dyn_core.SimulationSettings(step=T, substeps=substeps, integrator=scene.integrator)
    simulator = dyn_core.Simulator(real, settings, q=scene.motion.centre)
    count = round(scene.request.duration / T)
    times = T * np.arange(count)
    desired, ahead = scene.motion.at_many(times), scene.motion.at_many(times + 1.5 * T)
    rates = (ahead.qd, ahead.qdd) if moving else (0.0 * ahead.qd, 0.0 * ahead.qdd)
    fed = model.inverse_dynamics(ahead.q, *rates)
    limits = EffortLimits.of_robot(real).limits
    ours, errors, late = controller(scene), np.zeros_like(desired.q), model.gravity_torques(desired.q[0])
    for k, t in enumerate(times.tolist()):
        state = simulator.state
        errors[k] = desired.q[k] - state.q
        if k:
            ours.refer(GivenMotion(desired.q[k], desired.qd[k], desired.qdd[k]), t, t)
            ours.feed(fed[k], t)
        output = ours.measure(state.q, state.qd, t, t)
        if ours.fault is not None:
            raise DynError(ours.fault.code, **ours.fault.values)
        simulator.set_effort(np.clip(late, -limits, limits))
        late = output.total if k else late
        simulator.step()
    is_turning = [joint.position_unit == "rad" for joint in scene.robot.independent_joints]
    return float(np.sqrt(np.mean(errors[:, is_turning] ** 2)))


def seeds(request: DemoRequest, count: int) -> tuple[list[float], int]:
    """Return the factors of all seeds, and how many runs at one of the rates gave up or diverged."""
    factors: list[float] = []
    lost = 0
    for rate in RATES:
        scene = prepared(replace(request, rate=rate))
        for seed in range(1, count + 1):
            real = dyn_core.with_model_error(scene.robot, request.model_error, seed)
            try:
                motion = rms_error(scene, real, scene.model, moving=True)
                if rate == RATES[0]:  # factors are the same at both rates
                    factors.append(rms_error(scene, real, scene.model, moving=False) / motion)
            except DynError as problem:
                print(f"{scene.robot.name}, seed {seed}, {rate:g} Hz: {problem}", file=sys.stderr)
                lost += 1
    return factors, lost


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    warnings.simplefilter("ignore", dyn_core.ModelWarning)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parent.parent
    found = next(iter(root.glob(f".venv-bench/lib/python3*/site-packages/{_DATA}")), None)
    parser.add_argument("arms", nargs="*", help="names of arms (default: all)")
    parser.add_argument("--data", type=Path, default=found, help="folder `robots` of example-robot-data")
    parser.add_argument(
        "--seeds", type=int, default=0, metavar="N", help="seeds of model errors at both rates"
    )
    parser.add_argument("--duration", type=float, default=4.0, metavar="S", help="of motions of the seeds")
    parser.add_argument("--only-seeds", action="store_true", help="without the demonstration in processes")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise SystemExit("demo_arms: example-robot-data is not installed (`make bench` does): give --data")
    console, failed = Console(width=200), False
    table = Table("arm", "PD", "PD + gravity", "off by 10 %", "true", "factor", "least joint", "Hz", "dB")
    if options.seeds:
        table.add_column(f"{options.seeds} seeds: median, least")
        table.add_column("lost")
    for arm in ARMS:
        if options.arms and arm.name not in options.arms:
            continue
        request, cells = request_of(arm, options.data), [arm.name]
        if options.only_seeds:
            cells += [""] * 8
        else:
            try:
                row = demonstrated(request)
            except DynError as problem:
                print(f"{arm.name}: {problem}", file=sys.stderr)
                failed = True
                cells += ["failed", *[""] * 7]
            else:
                failed |= row.factor < BAR
                cells += [f"{error:.3f}" for error in row.errors]
                cells += [
                    f"{row.factor:.1f}",
                    f"{row.least:.1f}",
                    f"{row.frequency:.3g}",
                    f"{row.margin:.1f}",
                ]
        if options.seeds:
            factors, lost = seeds(replace(request, duration=options.duration), options.seeds)
            failed |= lost > 0
            cells += [f"{statistics.median(factors):.1f}, {min(factors):.1f}" if factors else "", str(lost)]
        table.add_row(*cells)
        print(" | ".join(cells), file=sys.stderr, flush=True)
    console.print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
