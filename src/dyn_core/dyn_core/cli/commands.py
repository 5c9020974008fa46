# SPDX-License-Identifier: Apache-2.0
"""The subcommands of ``dyn``."""

from __future__ import annotations

from dyn_core.cli.command import Command
from dyn_core.cli.motion_commands.excite import add_arguments as excite_arguments
from dyn_core.cli.motion_commands.excite import excite
from dyn_core.cli.motion_commands.feasible import add_arguments as feasible_arguments
from dyn_core.cli.motion_commands.feasible import feasible
from dyn_core.cli.motion_commands.identify import add_arguments as identify_arguments
from dyn_core.cli.motion_commands.identify import identify
from dyn_core.cli.motion_commands.log import add_arguments as log_arguments
from dyn_core.cli.motion_commands.log import log
from dyn_core.cli.motion_commands.payload import add_arguments as payload_arguments
from dyn_core.cli.motion_commands.payload import payload
from dyn_core.cli.motion_commands.predict import add_arguments as predict_arguments
from dyn_core.cli.motion_commands.predict import predict
from dyn_core.cli.motion_commands.simulate import add_arguments as simulate_arguments
from dyn_core.cli.motion_commands.simulate import simulate
from dyn_core.cli.robot_commands.base import add_arguments as base_arguments
from dyn_core.cli.robot_commands.base import base
from dyn_core.cli.robot_commands.check import add_arguments as check_arguments
from dyn_core.cli.robot_commands.check import check
from dyn_core.cli.robot_commands.counts import add_arguments as counts_arguments
from dyn_core.cli.robot_commands.counts import counts
from dyn_core.cli.robot_commands.emit import add_arguments as emit_arguments
from dyn_core.cli.robot_commands.emit import emit
from dyn_core.cli.robot_commands.evaluate import add_arguments as evaluate_arguments
from dyn_core.cli.robot_commands.evaluate import evaluate
from dyn_core.cli.robot_commands.lagrange import add_arguments as lagrange_arguments
from dyn_core.cli.robot_commands.lagrange import lagrange
from dyn_core.cli.robot_commands.loops import add_arguments as loops_arguments
from dyn_core.cli.robot_commands.loops import loops
from dyn_core.cli.robot_commands.mdh import mdh
from dyn_core.cli.robot_commands.parallel import add_arguments as parallel_arguments
from dyn_core.cli.robot_commands.parallel import parallel

COMMANDS = (
    Command(
        name="mdh",
        help="print the modified Denavit-Hartenberg parameters",
        description="Print the modified Denavit-Hartenberg parameters of a robot (Khalil and Kleinfinger "
        "1986), a line for each joint: angles in rad, lengths in m.",
        run=mdh,
        gravity=False,
        base=None,
    ),
    Command(
        name="loops",
        help="describe the closed loops",
        description="Print what the closed loops of a robot are and do: degrees of freedom, branches, "
        "redundant constraints, where best to cut, how each passive joint follows, a closed configuration; "
        "with --q the positions of the passive joints there.",
        run=loops,
        add_arguments=loops_arguments,
        gravity=False,
    ),
    Command(
        name="parallel",
        help="describe a robot of a platform and legs, or evaluate its dynamics",
        description="Print what a parallel robot is made of: its platform, its legs, how many operations its "
        "functions take, its base parameters. With a placement or a motion of the platform print positions, "
        "velocities, accelerations and efforts of the actuated joints, with --tau the acceleration of the "
        "platform.",
        run=parallel,
        add_arguments=parallel_arguments,
        parameters=True,
        terms=True,
    ),
    Command(
        name="eval",
        help="evaluate a dynamics function in one state",
        description="Print the value of a dynamics function in one state, a line for each joint, in SI "
        "units; of the regressor a line for each entry that is not 0: joint, parameter, value. A function "
        "uses what it takes of --q, --qd and --qdd; only forward_dynamics takes --tau. Several numbers "
        "follow these options, one for each joint: --q 0.1 -0.2 or --q=0.1,-0.2.",
        run=evaluate,
        add_arguments=evaluate_arguments,
        parameters=True,
        terms=True,
        base="moving",
    ),
    Command(
        name="counts",
        help="count the operations of the dynamics functions",
        description="Print how many operations one evaluation of each dynamics function and identification "
        "model of a robot takes: "
        "multiplications, additions, divisions, sines and cosines, square roots.",
        run=counts,
        add_arguments=counts_arguments,
        parameters=True,
        terms=True,
        base="moving",
    ),
    Command(
        name="base",
        help="print the base (minimum) inertial parameters",
        description="Print the base parameters of a robot: independent combinations of inertial parameters "
        "that give all joint torques, with their values (SI units), then what was grouped in them and what "
        "has no effect on any torque.",
        run=base,
        add_arguments=base_arguments,
        parameters=True,
    ),
    Command(
        name="lagrange",
        help="print the Lagrange form in symbols",
        description="Print the matrices of the Lagrange form tau = A qdd + B [qd qd] + C [qd^2] + Q of a "
        "robot, without friction, in symbols for positions, lengths, parameters and gravity that are not 0.",
        run=lagrange,
        add_arguments=lagrange_arguments,
        parameters=True,
    ),
    Command(
        name="emit",
        help="write a dynamics function as source code",
        description="Write a dynamics function of a robot as source code with the numbers of this robot, "
        "which needs nothing else to be used.",
        run=emit,
        add_arguments=emit_arguments,
        parameters=True,
        terms=True,
        json=False,
        base="moving",
    ),
    Command(
        name="check",
        help="list what is suspicious about a robot",
        description="List what is suspicious about a robot, the worst first; exit code 1 for an error.",
        run=check,
        add_arguments=check_arguments,
        base=None,
    ),
    Command(
        name="simulate",
        help="simulate the motion that efforts give",
        description="Simulate the motion that the efforts of a CSV file give a robot, faster than in real "
        "time, and write the states to a CSV file.",
        run=simulate,
        add_arguments=simulate_arguments,
        parameters=True,
        base="moving",
    ),
    Command(
        name="excite",
        help="find a trajectory for identification",
        description="Find a trajectory that shows the dynamic parameters of a robot, within its limits: a "
        "Fourier series from rest to rest with the least condition number of the columns of its base "
        "parameters and friction. The same arguments give the same trajectory.",
        run=excite,
        add_arguments=excite_arguments,
    ),
    Command(
        name="feasible",
        help="tell whether the actuators can make a motion, and what it asks of them",
        description="Tell where and by how much a motion is beyond the limits of the actuators of a robot, "
        "how much longer it has to take, and what it asks of each motor and bearing; exit code 1 where it is "
        "not feasible.",
        run=feasible,
        add_arguments=feasible_arguments,
        parameters=True,
        terms=True,
    ),
    Command(
        name="log",
        help="tell what is in a log",
        description="Tell what is in a log of a robot: joints, rate, gaps, ranges, and what is suspicious, "
        "the worst first; exit code 1 where it cannot be used for identification.",
        run=log,
        add_arguments=log_arguments,
        robot=False,
    ),
    Command(
        name="identify",
        help="identify the dynamic parameters of a robot from a log",
        description="Identify masses, inertias, rotors and friction of a robot from a log of its motion and "
        "efforts, and write a file of parameters for dyn and the nodes, an identified URDF, a report, and "
        "data for machines; exit code 1 where signals are wrong, such as an effort with the wrong sign.",
        run=identify,
        add_arguments=identify_arguments,
    ),
    Command(
        name="predict",
        help="predict the efforts of a log by identified parameters",
        description="Compute the efforts that identified parameters give along the motion of a log, write "
        "them to a CSV file, and print how far they are from those that were measured.",
        run=predict,
        add_arguments=predict_arguments,
    ),
    Command(
        name="payload",
        help="identify what a link holds from a log with it",
        description="Identify mass, centre of mass and inertia of what a link holds, from a log with it and "
        "either a log without it or the identified parameters of the arm, and print them with deviations "
        "and as the command that tells a node of it; exit code 1 where signals are wrong, or no body is "
        "what they show.",
        run=payload,
        add_arguments=payload_arguments,
    ),
)
"""In the order in which the help has them."""
