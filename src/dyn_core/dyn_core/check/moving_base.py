# SPDX-License-Identifier: Apache-2.0
"""A base that moves, by the side file or the joint at the root."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dyn_core.check.subject import Subject
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.facade.moving_base_unresisted import refuse_unresisted, unresisted_on_base
from dyn_core.model.moving_base.dynamics_programs import coordinate_inertia
from dyn_core.robot.moving_base import declared_base
from dyn_core.robot.moving_base import moving_base as tree_on_base


def moving_base(subject: Subject) -> Iterator[Finding]:
    """Tell how the base moves, and find what cannot be such a base, or is moved without resistance."""
    robot = subject.robot
    declared = declared_base(robot)
    if declared is None:
        return
    by_side_file = robot.base is not None
    beside = (
        "" if by_side_file else f"; it is a chain of simple joints unless --base {declared.kind} is given"
    )
    yield Finding(Severity.NOTE, "link", (declared.link,), f"{declared.words}{beside}")
    if not by_side_file:
        return
    try:
        base = tree_on_base(robot)
        if base.kind != "given":
            loose = unresisted_on_base(base, partial(coordinate_inertia, base))
            refuse_unresisted(base, "forward_dynamics", loose["forward_dynamics"])
    except DynError as error:
        yield Finding(Severity.ERROR, "robot", (), error.message)
