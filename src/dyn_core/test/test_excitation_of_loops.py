# SPDX-License-Identifier: Apache-2.0
"""Exciting trajectories of robots with loops and of random robots, and identification along them."""

from __future__ import annotations

import numpy as np
import pytest
import simulated_truth
from depth import some
from excitation_robots import QUICK
from properties import examples, given, st
from random_urdf import random_driven_urdf
from robots import loop_robot

import dyn_core
from dyn_core import DynError, ExcitationSettings, excite
from dyn_core.excitation.condition_number import HIDDEN, parameter_columns
from dyn_core.excitation.excitation_settings import ForbiddenBox
from dyn_core.excitation.motion_limits import loop_limits, motion_limits, within_loops
from dyn_core.identification.regressor.base_columns import base_columns

SHORT = ExcitationSettings(tries=1, iterations=12)
UNSHOWN = {"akr3000": {"MX9", "MX10", "Fv2", "Fs2"}, "delta": set(), "five_bar": set()}
UNSHOWN |= {"gough_stewart": set(), "palletizer": {"MY7"}, "sr400": set()}
"""Some parameters that these robots cannot show.

The jacks of akr3000 tilt by some degrees only, so their weight looks like an offset of their force.
"""


@pytest.mark.parametrize("name", some(UNSHOWN, "five_bar", "palletizer"))
def test_a_short_search_finds_a_finite_condition_number(name: str) -> None:
    robot = loop_robot(name)
    excitation = excite(robot, SHORT)
    assert excitation.condition < min(1e6, excitation.initial_condition)
    assert UNSHOWN[name] <= set(excitation.unshown)
    assert bool(UNSHOWN[name]) == bool(excitation.unshown)
    names = [*excitation.parameter_names, *excitation.unshown, *excitation.left_out]
    friction = [f"{kind}{j}" for j in robot.coordinates for kind in ("Fv", "Fs", "Fo")]
    assert sorted(names) == sorted([*base_columns(robot).names, *friction])


def test_left_out_columns_depend_on_the_others_in_all_states() -> None:
    """In independent states: each left-out column is a combination of the others to a thousandth."""
    robot, settings = loop_robot("akr3000"), ExcitationSettings()
    loops = loop_limits(robot, settings)
    assert loops is not None
    limits = within_loops(motion_limits(robot, settings), loops)
    columns = parameter_columns(robot, limits, loops)
    part = np.random.default_rng(5).uniform(size=(3, 400, robot.dof))
    q = loops.drawn_in(limits.lower + (limits.upper - limits.lower) * part[0])
    qd, qdd = limits.velocity * (2.0 * part[1] - 1.0), limits.acceleration * (2.0 * part[2] - 1.0)
    W = columns.at(q, qd, qdd).reshape(-1, len(columns.names))
    W /= np.linalg.norm(W, axis=0)
    base = base_columns(robot)
    of_bodies = base.columns(q, qd, qdd)
    for name in columns.unshown:
        if name in base.names:
            column = of_bodies[:, :, base.names.index(name)].ravel()
        else:
            assert name == "Fo10"
            column = np.tile(np.arange(robot.dof) == list(robot.coordinates).index(10), len(q)).astype(float)
        rest = column - W @ np.linalg.lstsq(W, column, rcond=None)[0]
        assert np.linalg.norm(rest) < 1.5 * HIDDEN * np.linalg.norm(column), name
    assert np.linalg.cond(W) < 1e5


# From a description to a trajectory, a log of another, simulated robot, and its true parameters.

STEP_S = 2e-3
GAINS = 1e4, 200.0
"""Gains of positions and velocities, as accelerations (1/s^2, 1/s)."""


def log_along(
    excitation: dyn_core.Excitation, real: dyn_core.Robot, sensors: dyn_core.SensorSettings
) -> dyn_core.Log:
    """Return sensor signals of a robot that follows the trajectory by computed torque."""
    model = dyn_core.compile_model(excitation.robot)
    settings = dyn_core.SimulationSettings(step=STEP_S, integrator="rk4")
    times = np.arange(0.0, excitation.duration, STEP_S)
    wanted = excitation.trajectory.at_many(times)
    simulator = dyn_core.Simulator(real, settings, sensors, q=wanted.q[0])
    q, tau = np.empty_like(wanted.q), np.empty_like(wanted.q)
    state = simulator.state
    for k, (q_d, qd_d, qdd_d) in enumerate(zip(*wanted, strict=True)):
        acceleration = qdd_d + GAINS[0] * (q_d - state.q) + GAINS[1] * (qd_d - state.qd)
        simulator.set_effort(model.inverse_dynamics(state.q, state.qd, acceleration))
        measured = simulator.measure()
        q[k], tau[k] = measured.q, measured.effort
        state = simulator.step()
    return dyn_core.log_of_arrays(real.joint_names, times, q, tau)


def test_a_log_along_the_trajectory_gives_all_base_parameters() -> None:
    """The true robot has other masses than the description, and has rotors and friction."""
    description = simulated_truth.arm(simulated_truth.SIX)
    real = simulated_truth.with_drives(description)
    settings = ExcitationSettings(duration=16.0, blend=1.5, tries=1, iterations=40, velocity_scale=0.6)
    excitation = excite(description, settings)
    sensors = dyn_core.SensorSettings(position_noise=1e-5, effort_noise=0.05, seed=1)
    signals = dyn_core.condition(log_along(excitation, real, sensors), dyn_core.Protocol(cutoff=15.0))
    # An effort acts from its sample to the next, so it is half a step late; the diagnosis would report this.
    found = dyn_core.identify(description, signals, dyn_core.IdentificationSettings(diagnose=False))
    parameters = [*found.base, *(one for joint in found.friction for one in joint.parameters[:3])]
    assert all(one.identifiable for one in parameters)
    truth = simulated_truth.true_values(real, base_columns(description))[: len(found.base)]
    values, deviations = np.array([(one.value, one.deviation) for one in found.base]).T
    off = np.abs(values - truth)
    assert (off < 5.0 * deviations).all(), "five deviations, of 40 parameters in one run"
    assert (off < 0.1 * np.abs(truth).max()).all()
    assert found.errors.held_out.relative < 0.02


# Random robots: a trajectory that keeps all limits, or an error with the reason.


@examples(3)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_random_robots_get_a_trajectory_within_limits_or_an_error(
    seed: int, joints: int, boxed: bool
) -> None:
    """Trees with branches, prismatic and mimic joints, friction, rotors, and low effort limits."""
    random = np.random.default_rng(seed)
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=0)
    names = robot.joint_names
    boxes = ()
    if boxed and len(names) > 1:
        ranges = (sorted(random.uniform(0.1, 3.0, 2) * random.choice([-1, 1])) for _ in range(2))
        boxes = (ForbiddenBox("corner", dict(zip(names, map(tuple, ranges), strict=False))),)
    try:
        excitation = excite(robot, ExcitationSettings(boxes=boxes, **{**QUICK, "iterations": 6}))
    except DynError as error:
        if error.code in ("robot-without-moving-joint", "rest-position-not-found"):
            return
        raise
    limits = excitation.limits
    q, qd, qdd = excitation.trajectory.at_many(np.linspace(0.0, excitation.duration, 5003))
    assert ((q >= limits.lower) & (q <= limits.upper)).all()
    assert (np.abs(qd) <= limits.velocity).all()
    assert (np.abs(qdd) <= limits.acceleration).all()
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    assert (np.abs(tau) <= limits.effort).all()
    for box in boxes:
        at = q[:, [names.index(name) for name in box.ranges]]
        lower, upper = np.array([*box.ranges.values()]).T
        assert not ((at >= lower) & (at <= upper)).all(axis=1).any()
    assert excitation.condition >= 1.0
