# SPDX-License-Identifier: Apache-2.0
"""Dynamics functions, one sample and batches, called from Python with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from alternate import Comparison, compare
from bars import PINOCCHIO, Bars
from calls import TOLERANCE, Call, Peer, State, disagreement, our_calls
from mujoco_peer import MuJoCo
from peer_robots import ROBOTS, description, loaded
from pinocchio_peer import Pinocchio

import dyn_core

SAMPLES = 10_000
LOOP = 200
"""Number of samples in the loops over the peers, with which one sample of a batch is compared."""

BATCHES = {"inverse dynamics": "inverse_dynamics", "direct dynamics": "forward_dynamics"}


def print_functions(bars: Bars) -> None:
    """Print a line for each robot and function."""
    print(f"Calls from Python, one core; a batch has {SAMPLES} samples, times are for one sample.")
    print(
        f"{'robot':16}{'joints':>6}  {'function':38}{'dyn_core':>10}"
        f"{'/Pinocchio':>12}  {'bar':14}{'/MuJoCo':>9}"
    )
    for name in ROBOTS:
        _print_robot(name, bars)


def _print_robot(name: str, bars: Bars) -> None:
    path = description(name)
    robot = loaded(path)
    model = dyn_core.compile_model(robot, friction=False, rotor_inertia=False, backend="c")
    peers: list[Peer] = [Pinocchio(path, robot.coordinate_names), MuJoCo(path, robot.coordinate_names)]
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, SAMPLES, robot.dof))
    samples = [_state(states, k) for k in range(LOOP)]
    ours = our_calls(model, samples[0])
    theirs = [peer.calls(samples[0]) for peer in peers]

    def line(what: str, comparison: Comparison, columns: Sequence[int]) -> None:
        ratios = {column: comparison.ratio(1 + k) for k, column in enumerate(columns)}
        bar = PINOCCHIO.get((name, what))
        mark = bars.mark(f"{name}, {what}", ratios[0], bar)
        other = f"{ratios[1]:>9.4f}" if 1 in ratios else f"{'-':>9}"
        time = f"{1e9 * comparison.seconds(0):.0f} ns"
        print(f"{name:16}{robot.dof:>6}  {what:38}{time:>10}{ratios[0]:>12.4f}  {mark:14}{other}", flush=True)

    for what, call in ours.items():
        columns = [k for k in range(len(peers)) if what in theirs[k]]
        columns = [k for k in columns if _comparable(name, what, call, theirs[k][what], peers[k])]
        line(what, compare([call, *(theirs[k][what] for k in columns)]), columns)
    tunable = dyn_core.compile_model(robot, "runtime", friction=False, rotor_inertia=False, backend="c")
    for what, call in our_calls(tunable, samples[0]).items():
        if what in BATCHES:
            line(f"{what}, runtime parameters", compare([call, theirs[0][what]]), [0])
    for what, method in BATCHES.items():
        loops = [_loop([peer.calls(sample)[what] for sample in samples]) for peer in peers]
        batch = partial(getattr(model, method), *states)
        line(f"{what}, batch", compare([batch, *loops], [SAMPLES, *[LOOP] * len(loops)]), range(len(peers)))
    if (name, "inverse dynamics, Python backend") in PINOCCHIO:
        slow = dyn_core.compile_model(robot, friction=False, rotor_inertia=False, backend="python")
        what = "inverse dynamics"
        functions = [our_calls(slow, samples[0])[what], *(calls[what] for calls in theirs)]
        line(f"{what}, Python backend", compare(functions), range(len(peers)))


def _comparable(name: str, what: str, ours: Call, theirs: Call, peer: Peer) -> bool:
    """Whether a peer computes the same quantity; regressors have other parameters and only equal sizes."""
    if what == "regressor":
        return True
    difference = disagreement(ours(), theirs(), peer.order)
    if difference > TOLERANCE:
        print(f"{name}, {what}: {peer.name} is not comparable, its result differs by {difference:.1e}")
    return difference <= TOLERANCE


def _state(states: np.ndarray, k: int) -> State:
    q, v, x = (np.ascontiguousarray(vector[k]) for vector in states)
    return q, v, x


def _loop(calls: Sequence[Call]) -> Callable[[], object]:
    return lambda: [call() for call in calls]
