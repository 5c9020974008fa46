# SPDX-License-Identifier: Apache-2.0
"""The identification models of a robot as programs, to be emitted and counted: base parameters and friction.

With K the base parameters and the friction that the columns are named after, F a filter of both sides:

    base_regressor   torques = D(q, qd, qdd) K
    filtered_model   F torques = (s F D1(q, qd) + F D2(q, qd)) K    (SYMORO+ 2003, eq. (3.117))
    energy_model     energy = h(q, qd) K, without friction          (eq. (3.112))
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.facade.closed import closed
from dyn_core.identification.passive_friction import passive_friction
from dyn_core.identification.regressor.base_columns import regressor_columns
from dyn_core.identification.regressor.momentum_energy import energy_program, filtered_program
from dyn_core.robot.robot import Robot

_K = "K the parameters that the columns are named after (see dyn base)"
MODELS = {
    "base_regressor": f"D of torques = D K, with {_K}",
    "filtered_model": f"the rows D1 of all joints, then D2: torques = d/dt (D1 K) plus D2 K, with {_K}",
    "energy_model": f"the row h of energy = h K (J), with {_K}",
}
"""By name, what they say of themselves."""
OF_FRICTION = ("Fv", "Fs", "Fo")


def identification_program(
    robot: Robot, name: str, *, friction: bool = True, rotor_inertia: bool = True
) -> Program:
    """Answer an identification model of a robot as a program, its columns named.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        name: one of `MODELS`.
        friction: whether there are columns of viscous and Coulomb friction and offset of each joint, and of
            what shows of the friction of passive joints.
        rotor_inertia: whether the rotors of the joints are among the parameters.
    """
    found = base_parameters(robot, rotor_inertia=rotor_inertia)
    kept, columns = found.kept, found.names
    own = [f"{letters}{j}" for j in robot.coordinates for letters in OF_FRICTION] if friction else []
    passive = passive_friction(robot)
    n = robot.dof
    if name == "energy_model":
        program = energy_program(robot, kept)
        return replace(program, columns=columns, documentation=MODELS[name])
    if friction:
        kept, columns = (*kept, *passive.kept), (*columns, *passive.names)
    wanted = [*kept, *own]
    if name == "filtered_model":
        program = replace(filtered_program(robot, wanted), shape=(2 * n, len(wanted)))
    else:
        places = [robot.parameter_names.index(parameter) for parameter in wanted]
        algorithm = partial(regressor_columns, robot, places)
        program = closed(robot, trace(name, algorithm, {"q": n, "qd": n, "qdd": n}, (n, len(wanted))))
    return replace(program, columns=(*columns, *own), documentation=MODELS[name])
