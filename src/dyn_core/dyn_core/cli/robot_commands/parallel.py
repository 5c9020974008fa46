# SPDX-License-Identifier: Apache-2.0
"""``dyn parallel``: structure and dynamics of a parallel robot."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from dyn_core.cli.console import Output, Table
from dyn_core.cli.options import Command, Numbers, add_options, joint_vector, numbers, robot_of, shown
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError, counted
from dyn_core.model.parallel.compiled_model import ParallelModel, compile_parallel, parallel_base_parameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.transform import rotation_from_rpy, rpy_from_rotation

COLUMNS = ("mul", "add", "div", "sqrt")
COUNTED = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian")
SPLIT = ("inverse_dynamics", "forward_dynamics")

OF_PLATFORM = {
    "xyz": (3, "position of the platform's link in the frame of the root, m (default: near the assembly)"),
    "rpy": (3, "its roll, pitch and yaw, rad (default: near the assembly)"),
    "V": (6, "its velocity, linear and angular, on the axes of the root, m/s and rad/s (default: zeros)"),
    "Vd": (6, "its acceleration, the rate of V, m/s^2 and rad/s^2 (default: zeros)"),
    "wrench": (6, "force and moment that it exerts on its environment, in its frame (default: zeros)"),
}
"""Options that take numbers: how many, and their help."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_options(parser, ("--platform", "LINK", "link that the legs carry (default: that of all loops)"))
    tau = "efforts of the actuators, N m or N: print the acceleration of the platform"
    options = [*((option, text) for option, (_, text) in OF_PLATFORM.items()), ("tau", tau)]
    add_options(parser, *((f"--{option}", "X ...", text) for option, text in options), action=Numbers)


def parallel(arguments: Namespace) -> Output:
    """Return the structure of the robot, or with a placement or a motion the actuator values there."""
    robot = robot_of(arguments)
    model = compile_parallel(
        robot,
        platform_of(robot) if arguments.platform is None else arguments.platform,
        backend="python",  # one evaluation takes less time in Python than a compilation
        friction=arguments.friction,
        rotor_inertia=arguments.rotor_inertia,
        base_parameters=arguments.base_parameters,
    )
    if all(getattr(arguments, option) is None for option in (*OF_PLATFORM, "tau")):
        return _described(model, arguments)
    if arguments.tau is not None and arguments.Vd is not None:
        raise DynError("acceleration-repeated")
    return _moved(model, arguments)


def platform_of(robot: Robot) -> str:
    """Return the link on which all loops end.

    Raises:
        DynError: the robot has no platform, or more than one.
    """
    ends = [{robot.link_frame(end.link).body for end in (loop.parent, loop.child)} for loop in robot.loops]
    if not ends:
        raise DynError("platform-without-loops", robot=robot.name)
    links = [robot.child_links[body - 1].name for body in sorted(set.intersection(*ends) - {0})]
    if len(links) == 1:
        return links[0]
    if links:
        raise DynError("platform-ambiguous", robot=robot.name, links=links)
    raise DynError("platform-undetermined", robot=robot.name)


def _described(model: ParallelModel, arguments: Namespace) -> Output:
    """Return the structure of the robot, and the operations of its functions."""
    structure, loops = model.structure, {loop.name: loop for loop in model.structure.robot.loops}
    base = parallel_base_parameters(
        structure.robot, structure.platform, rotor_inertia=arguments.rotor_inertia
    )
    operations = {name: model.operation_counts(name) for name in COUNTED}
    split = {name: model.critical_path(name) for name in SPLIT}
    legs = [
        {
            "name": leg.name,
            "joints": [joint.name for joint in leg.robot.joints],
            "actuated": [leg.robot.joints[k].name for k in leg.actuated],
            "cut_joint": loops[leg.name].type.value,
            "closed_form": leg.closed_form is not None,
        }
        for leg in structure.legs
    ]
    if arguments.json:
        return Output(
            {
                "robot": structure.robot.name,
                "platform": structure.platform,
                "degrees_of_freedom": len(structure.mobility),
                "mobility": model.mobility.tolist(),
                "actuated": model.joint_names,
                "legs": legs,
                "placement": {"xyz": structure.T_home.p, "rpy": rpy_from_rotation(structure.T_home.R)},
                "operations": operations,
                "critical_path": split,
                "base_parameters": {
                    "count": len(base.kept),
                    "of": len(base.standard_names),
                    **{name: getattr(base, name) for name in ("of_platform", "of_legs", "expressions")},
                },
            }
        )
    home = zip(("x", "y", "z", "roll", "pitch", "yaw"), _home(model), strict=True)
    lines: list[str | Table] = [
        f"{structure.robot.name}: platform '{structure.platform}' on {len(legs)} legs, "
        f"{counted(len(structure.mobility), 'degree of freedom', 'degrees of freedom')}",
        f"actuated: {' '.join(model.joint_names)}",
        f"near the assembly it is at {', '.join(f'{name} {shown(x):g}' for name, x in home)} (m, rad)",
        "",
        Table([_leg_row(leg) for leg in legs], left=(0, 1, 2, 3), has_head=False),
    ]
    if len(structure.mobility) < 6:
        rows = zip(("vx", "vy", "vz", "wx", "wy", "wz"), model.mobility.tolist(), strict=True)
        mobility = [(name, *(f"{shown(x):g}" for x in row)) for name, row in rows]
        lines += ["", "mobility, a column for each degree of freedom:"]
        lines.append(Table(mobility, has_head=False, indent="  "))
    processors = f", {len(legs) + 1} processors"
    counts = [
        (f"{name}{suffix}", *(str(row[column]) for column in COLUMNS))
        for suffix, table in (("", operations), (processors, split))
        for name, row in table.items()
    ]
    of_legs = " ".join(map(str, base.of_legs))
    return Output(
        [
            *lines,
            "",
            Table([("operations", *COLUMNS), *counts]),
            "",
            f"{len(base.kept)} base parameters of {len(base.standard_names)}: {base.of_platform} of the "
            f"platform, {of_legs} of the legs",
            *(f"  {expression}" for expression in base.expressions),
        ]
    )


def _leg_row(leg: dict[str, Any]) -> tuple[str, ...]:
    joints = (f"{name}*" if name in leg["actuated"] else name for name in leg["joints"])
    form = "closed form" if leg["closed_form"] else "by iteration"
    return (f"leg '{leg['name']}'", " ".join(joints), leg["cut_joint"], form)


def _home(model: ParallelModel) -> list[float]:
    """Return position (m), and roll, pitch and yaw (rad), of the platform near the assembly."""
    R, p = model.structure.T_home
    return [*p, *rpy_from_rotation(R)]


def _moved(model: ParallelModel, arguments: Namespace) -> Output:
    """Return the actuator values for a motion of the platform, or its acceleration for their efforts."""
    T, V, Vd, wrench = _motion(model, arguments)
    q, qd, qdd = model.inverse_kinematics(T, V, Vd)
    wrenches = {model.structure.platform: wrench}
    names, joints = model.joint_names, [model.structure.robot.joint(name) for name in model.joint_names]
    if arguments.tau is None:
        tau = model.inverse_dynamics(T, V, Vd, wrenches=wrenches)
    else:
        tau = np.array(joint_vector("--tau", arguments.tau, len(names)))
        Vd = model.forward_dynamics(T, V, tau, wrenches=wrenches)
        qdd = model.inverse_kinematics(T, V, Vd)[2] if np.all(np.isfinite(Vd)) else Vd
    if not all(np.all(np.isfinite(vector)) for vector in (q, qd, qdd, tau, Vd)):
        raise DynError("parallel-robot-singular")
    legs = dict(zip(model.leg_joint_names, model.leg_positions(T).tolist(), strict=True))
    if arguments.json:
        columns = {"positions": q, "velocities": qd, "accelerations": qdd, "efforts": tau}
        return Output(
            {
                "robot": model.structure.robot.name,
                "platform": model.structure.platform,
                "acceleration": Vd.tolist(),
                "joint_names": names,
                **{name: vector.tolist() for name, vector in columns.items()},
                "effort_units": [joint.effort_unit for joint in joints],
                "leg_positions": legs,
            }
        )
    rows = [("", "position", "velocity", "acceleration", "effort", "")]
    for name, joint, *values in zip(names, joints, q, qd, qdd, tau, strict=True):
        rows.append((name, *(f"{shown(float(x)):.6f}" for x in values), joint.effort_unit))
    others = [
        (name, f"{shown(x):.6f}", model.structure.robot.joint(name).position_unit)
        for name, x in legs.items()
        if name not in names
    ]
    parts: list[str | Table] = [Table(rows, left=(0, 5))]
    if arguments.tau is not None:
        words = " ".join(f"{shown(x):.6f}" for x in Vd.tolist())
        parts = [f"acceleration of '{model.structure.platform}': {words}", "", *parts]
    if others:
        parts += ["", Table(others, left=(0, 2), has_head=False)]
    return Output(parts)


def _motion(model: ParallelModel, arguments: Namespace) -> tuple[Array, Array, Array, Array]:
    """Return placement, velocity, acceleration and exerted wrench of the platform."""
    home = _home(model)
    default = {"xyz": home[:3], "rpy": home[3:]}
    given = {}
    for option, (count, _) in OF_PLATFORM.items():
        text = getattr(arguments, option)
        usual = default.get(option, [0.0] * count)
        given[option] = usual if text is None else numbers(f"--{option}", text, count)
    T = np.eye(4)
    R_home = model.structure.T_home.R
    T[:3, :3] = R_home if arguments.rpy is None else rotation_from_rpy(*given["rpy"])
    T[:3, 3] = given["xyz"]
    V, Vd, wrench = (np.array(given[option]) for option in ("V", "Vd", "wrench"))
    try:
        model.inverse_kinematics(T, V, Vd)
    except ArgumentError as problem:  # outside of the mobility of the platform
        raise DynError(problem.code, **problem.values) from problem
    return T, V, Vd, wrench


COMMAND = Command(
    description="Describe a parallel robot: its platform, its legs, the operations of its functions, its "
    "base parameters. With a placement or a motion of the platform print positions, velocities, "
    "accelerations and efforts of the actuated joints, with --tau the acceleration of the platform.",
    run=parallel,
    add_arguments=add_arguments,
    parameters=True,
    terms=True,
)
