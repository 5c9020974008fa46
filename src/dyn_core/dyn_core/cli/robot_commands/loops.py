# SPDX-License-Identifier: Apache-2.0
"""``dyn loops``: the closed loops of a robot."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from dyn_core.algorithms.loops.loop_report import LoopDescription, LoopReport, loop_report
from dyn_core.cli.console import Output, Table
from dyn_core.cli.options import Command, Numbers, add_options, joint_vector, robot_of, shown
from dyn_core.core.errors import counted
from dyn_core.model.fixed_base.compiled_model import compile_model
from dyn_core.robot.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    text = "positions of the actuated joints in tree order, rad or m: print the passive joints there"
    add_options(parser, ("--q", "X ...", text), action=Numbers)


def loops(arguments: Namespace) -> Output:
    """Return a description of the loops, or with --q the positions of the passive joints."""
    robot = robot_of(arguments)
    report = loop_report(robot)
    if arguments.q is not None:
        return _positions(robot, arguments.q, arguments.json)
    return Output(_json(report) if arguments.json else _text(robot, report))


def _positions(robot: Robot, text: str, as_json: bool) -> Output:
    """Return the positions of all joints, and the distance from a singularity."""
    q = joint_vector("--q", text, robot.dof)
    model = compile_model(robot, backend="python", open_rows="error")
    passive = model.solve_loops(q)
    condition = float(model.loop_condition(q))
    positions = dict(zip(robot.coordinate_names, q, strict=True))
    positions |= dict(zip(robot.passive_joint_names, map(float, passive), strict=True))
    if as_json:
        return Output({"robot": robot.name, "positions": positions, "condition": _finite(condition)})
    return Output([_joint_table(robot, positions), "", f"condition number: {condition:.4g}"])


def _joint_table(robot: Robot, positions: dict[str, float], indent: str = "") -> Table:
    actuated = robot.coordinate_names
    rows = [
        (
            *(name, f"{shown(positions[name]):.6f}", robot.joint(name).position_unit),
            "actuated" if name in actuated else "passive",
        )
        for name in robot.joint_names
    ]
    return Table(rows, left=(0, 2, 3), has_head=False, indent=indent)


def _text(robot: Robot, report: LoopReport) -> list[str | Table]:
    lines: list[str | Table] = [
        f"{report.robot}: {counted(report.joints, 'joint')} - "
        f"{counted(report.constraints, 'independent constraint')} = "
        f"{counted(report.dof, 'degree of freedom', 'degrees of freedom')}",
        f"actuated: {' '.join(report.actuated)}",
        f"passive: {' '.join(report.passive)}",
    ]
    for loop in report.loops:
        lines += ["", *_loop(loop)]
    lines += ["", "Passive joints (theta and r are those of dyn mdh):"]
    lines += [f"  {line}" for line in str(report.relations).splitlines()]
    apart, turned = report.residual
    lines += ["", f"Closed configuration (open by {apart:.1e} m and {turned:.1e} rad):"]
    lines.append(_joint_table(robot, dict(report.reference), indent="  "))
    return [*lines, f"condition number: {report.condition:.4g}"]


def _loop(loop: LoopDescription) -> list[str]:
    """Return the lines about one loop."""
    parent, child = loop.branches
    cut = (
        "as good as any: no other passive joint makes the branches more equal"
        if loop.better_cut is None
        else f"cutting '{loop.better_cut}' would make the branches more equal, and the model cheaper"
    )
    return [
        f"loop '{loop.name}', {loop.type.value}, from '{loop.links[0]}' to '{loop.links[1]}', "
        f"root '{loop.root}'",
        f"  branches: {' '.join(parent) or 'none'} | {' '.join(child) or 'none'}",
        f"  {counted(loop.constraints, 'constraint')}, {loop.independent} independent: "
        f"{loop.redundancy.reason}",
        f"  cut: {cut}",
    ]


def _json(report: LoopReport) -> dict[str, Any]:
    relations = report.relations
    return {
        "robot": report.robot,
        "joints": report.joints,
        "independent_constraints": report.constraints,
        "degrees_of_freedom": report.dof,
        "actuated": report.actuated,
        "passive": report.passive,
        "loops": [
            {**asdict(loop), "type": loop.type.value, "redundancy": loop.redundancy.value}
            for loop in report.loops
        ],
        "relations": [asdict(relation) for relation in relations.relations],
        "iterated": relations.iterated,
        "closed_forms": [asdict(form) for form in relations.closed_forms],
        "closed_configuration": dict(report.reference),
        "residual": {"m": report.residual[0], "rad": report.residual[1]},
        "condition": _finite(report.condition),
    }


def _finite(number: float) -> float | None:
    """Return None for infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


COMMAND = Command(
    description="Describe the closed loops of a robot: degrees of freedom, branches, redundant constraints, "
    "the best cut, the relations of the passive joints, a closed configuration; with --q the positions of "
    "the passive joints there.",
    run=loops,
    add_arguments=add_arguments,
    gravity=False,
)
