# SPDX-License-Identifier: Apache-2.0
"""``dyn parallel``: a robot of a platform and legs."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.options import Once, joint_vector, numbers, shown
from dyn_core.cli.robot_options import robot_of
from dyn_core.cli.table import table
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, counted, listed
from dyn_core.facade.compile_parallel import compile_parallel
from dyn_core.facade.parallel_base import parallel_base_parameters
from dyn_core.model.parallel.compiled_model import ParallelModel
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.transform import rotation_from_rpy, rpy_from_rotation

COLUMNS = ("mul", "add", "div", "sqrt")
COUNTED = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian")
SPLIT = ("inverse_dynamics", "forward_dynamics")

OF_PLATFORM = {
    "--xyz": (
        3,
        "place of the platform's link in the frame of the root, m (default: near the assembly)",
    ),
    "--rpy": (3, "its roll, pitch and yaw, rad (default: near the assembly)"),
    "--V": (6, "its velocity, linear and angular, on the axes of the root, m/s and rad/s (default: zeros)"),
    "--Vd": (6, "its acceleration, the rate of V, m/s^2 and rad/s^2 (default: zeros)"),
    "--wrench": (
        6,
        "force and moment that it exerts on its environment, in its frame (default: zeros)",
    ),
}
"""Options that take numbers: how many, and what they are."""


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a platform and its motion."""
    parser.add_argument(
        "--platform", metavar="LINK", help="link that the legs carry (default: that on which all loops end)"
    )
    for option, (_, what) in OF_PLATFORM.items():
        parser.add_argument(option, action=Once, metavar="X ...", help=what)
    parser.add_argument(
        "--tau",
        action=Once,
        metavar="X ...",
        help="efforts of the actuators, N m or N: print the acceleration of the platform",
    )


def parallel(arguments: Namespace) -> Answer:
    """Answer what the robot is made of, or with a placement or a motion what the actuators do there."""
    robot = robot_of(arguments)
    model = compile_parallel(
        robot,
        platform_of(robot) if arguments.platform is None else arguments.platform,
        backend="python",  # one evaluation is sooner done in Python than compiled
        friction=arguments.friction,
        rotor_inertia=arguments.rotor_inertia,
        base_parameters=arguments.base_parameters,
    )
    given = [getattr(arguments, option[2:]) for option in OF_PLATFORM]
    if arguments.tau is None and all(text is None for text in given):
        return Answer(_described(model, arguments))
    if arguments.tau is not None and arguments.Vd is not None:
        raise DynError("--tau gives an acceleration of the platform: leave out --Vd, or --tau")
    return Answer(_moved(model, arguments))


def platform_of(robot: Robot) -> str:
    """Answer the link on which all loops end.

    Raises:
        DynError: there is none, or more than one.
    """
    ends = [{robot.link_frame(end.link).body for end in (loop.parent, loop.child)} for loop in robot.loops]
    bodies = set.intersection(*ends) - {0} if ends else set()
    if len(bodies) == 1:
        return robot.child_links[bodies.pop() - 1].name
    if not ends:
        raise DynError(
            f"robot '{robot.name}' has no loops, so no platform: give a side file that connects legs to it "
            "(--loops)"
        )
    found = listed(robot.child_links[body - 1].name for body in sorted(bodies)) if bodies else "no link"
    raise DynError(
        f"robot '{robot.name}': all loops end on {found}: say which link is the platform (--platform)"
    )


def _described(model: ParallelModel, arguments: Namespace) -> str:
    """Answer what the robot is made of, and what its functions cost."""
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
        answer = {
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
                "of_platform": base.of_platform,
                "of_legs": base.of_legs,
                "expressions": base.expressions,
            },
        }
        return json.dumps(answer, indent=2)
    home = zip(("x", "y", "z", "roll", "pitch", "yaw"), _xyz_rpy(model), strict=True)
    lines = [
        f"{structure.robot.name}: platform '{structure.platform}' on {len(legs)} legs, "
        f"{counted(len(structure.mobility), 'degree of freedom', 'degrees of freedom')}",
        f"actuated: {' '.join(model.joint_names)}",
        f"near the assembly it is at {', '.join(f'{name} {shown(x):g}' for name, x in home)} (m, rad)",
        "",
        *table([_leg_row(leg) for leg in legs], left=(0, 1, 2, 3)),
    ]
    if len(structure.mobility) < 6:
        names = ("vx", "vy", "vz", "wx", "wy", "wz")
        rows = zip(names, model.mobility.tolist(), strict=True)
        lines += ["", "mobility, a column for each degree of freedom:"]
        lines += [
            f"  {row}" for row in table([(name, *(f"{shown(x):g}" for x in row)) for name, row in rows])
        ]
    whole = [(name, *(str(counts[c]) for c in COLUMNS)) for name, counts in operations.items()]
    apart = [
        (f"{name}, {len(legs) + 1} processors", *(str(counts[c]) for c in COLUMNS))
        for name, counts in split.items()
    ]
    of_legs = " ".join(map(str, base.of_legs))
    return "\n".join(
        [
            *lines,
            "",
            *table([("operations", *COLUMNS), *whole, *apart]),
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


def _xyz_rpy(model: ParallelModel) -> list[float]:
    R, p = model.structure.T_home
    return [*p, *rpy_from_rotation(R)]


def _moved(model: ParallelModel, arguments: Namespace) -> str:
    """Answer what the actuators do for a motion of the platform, or the platform for their efforts."""
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
        raise DynError("a leg or the platform is singular there: give another placement")
    legs = dict(zip(model.leg_joint_names, model.leg_positions(T).tolist(), strict=True))
    if arguments.json:
        columns = {"positions": q, "velocities": qd, "accelerations": qdd, "efforts": tau}
        answer = {
            "robot": model.structure.robot.name,
            "platform": model.structure.platform,
            "acceleration": Vd.tolist(),
            "joint_names": names,
            **{name: vector.tolist() for name, vector in columns.items()},
            "effort_units": [joint.effort_unit for joint in joints],
            "leg_positions": legs,
        }
        return json.dumps(answer, indent=2, allow_nan=False)
    rows = [("", "position", "velocity", "acceleration", "effort", "")]
    for name, joint, *values in zip(names, joints, q, qd, qdd, tau, strict=True):
        rows.append((name, *(f"{shown(float(x)):.6f}" for x in values), joint.effort_unit))
    others = [
        (name, f"{shown(x):.6f}", model.structure.robot.joint(name).position_unit)
        for name, x in legs.items()
        if name not in names
    ]
    words = " ".join(f"{shown(x):.6f}" for x in Vd.tolist())
    found = [] if arguments.tau is None else [f"acceleration of '{model.structure.platform}': {words}", ""]
    return "\n".join(
        [*found, *table(rows, left=(0, 5)), *(["", *table(others, left=(0, 2))] if others else [])]
    )


def _motion(model: ParallelModel, arguments: Namespace) -> tuple[Array, Array, Array, Array]:
    """Answer placement, velocity and acceleration of the platform, and what it exerts."""
    home = _xyz_rpy(model)
    default = {"--xyz": home[:3], "--rpy": home[3:]}
    given = {}
    for option, (count, _) in OF_PLATFORM.items():
        text = getattr(arguments, option[2:])
        given[option] = default.get(option, [0.0] * count) if text is None else numbers(option, text, count)
    T = np.eye(4)
    R_home = model.structure.T_home.R
    T[:3, :3] = R_home if arguments.rpy is None else rotation_from_rpy(*given["--rpy"])
    T[:3, 3] = given["--xyz"]
    V, Vd, wrench = (np.array(given[option]) for option in ("--V", "--Vd", "--wrench"))
    try:
        model.inverse_kinematics(T, V, Vd)
    except ValueError as problem:  # a platform of reduced mobility that cannot be there, or move like this
        raise DynError(str(problem)) from problem
    return T, V, Vd, wrench
