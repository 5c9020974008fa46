# SPDX-License-Identifier: Apache-2.0
"""Results of slow work from another process: models without tracing, which compute the same."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyn_core
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.core.arrays import Array
from dyn_core.core.handover import handed_over, recorded, replayed
from dyn_core.model import builder

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
TERMS = ("gravity_torques", "inertial_torques", "coriolis_torques", "friction_torques")


def loaded(name: str) -> dyn_core.Robot:
    side = ROBOTS / f"{name}.yaml"
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=side if side.exists() else None)


def made_twice(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Return what a function makes, and what it makes of the pickled results, for which nothing is traced."""
    kept: list[bytes] = []
    with recorded(lambda result: kept.append(pickle.dumps(result))):
        first = make()
    with monkeypatch.context() as patch:
        patch.setattr(builder.Tracing, "programs", None)
        patch.setattr(builder, "compiled_or_none", None)
        with replayed(map(pickle.loads, kept)):
            return first, make()


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
@pytest.mark.parametrize("name", ["rrp", "two_branch", "five_bar"])
def test_a_model_of_results_computes_the_same(
    name: str, parameters: Any, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = loaded(name)

    def make() -> dyn_core.Model:
        return dyn_core.compile_model(robot, parameters, backend, functions=TERMS, detours=False)

    first, second = made_twice(make, monkeypatch)
    q = np.full(robot.dof, 0.1)
    if parameters == "runtime":
        values = 1.1 * first.parameters
        first.set_parameters(values)
        second.set_parameters(values)
    # Loops are closed by linear algebra whose rounding depends on where in memory arrays lie.
    rounding = 1e-13 if robot.loops else 0.0

    def agree(function: str, *vectors: Array) -> None:
        ours, theirs = getattr(second, function)(*vectors), getattr(first, function)(*vectors)
        np.testing.assert_allclose(ours, theirs, rtol=rounding, atol=0.0)

    agree("gravity_torques", q)
    assert second.backend == backend
    # Another function continues the vector of prepared values, for which all are traced again.
    agree("inverse_dynamics", q, q, q)
    agree("coriolis_torques", q, q)


def test_a_simulator_of_results_moves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    first, second = made_twice(lambda: dyn_core.Simulator(robot), monkeypatch)
    for simulator in (first, second):
        for _ in range(10):
            simulator.step()
    assert second.state.q.tolist() == first.state.q.tolist()


def test_loops_are_searched_for_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = loaded("five_bar")
    guards = made_twice(lambda: LoopGuard(robot, ConditionLimits()), monkeypatch)
    q = np.array([dict(robot.assembly)[name] for name in robot.coordinate_names]) + 0.3
    found = [guard._matrix.search([q]).tolist() for guard in guards]
    assert found[0] == found[1]
    for guard in guards:
        guard.check(q)
    assert guards[0].condition == guards[1].condition


def test_slow_work_within_slow_work_is_one_result() -> None:
    kept: list[int] = []
    with recorded(kept.append):
        assert handed_over(lambda: 1 + handed_over(lambda: 1)) == 2
        assert handed_over(lambda: 3) == 3
    assert kept == [2, 3]
    with replayed(kept):
        assert [handed_over(int), handed_over(int)] == kept
    assert handed_over(int) == 0


def test_results_have_to_be_those_that_are_asked_for() -> None:
    with pytest.raises(LookupError), replayed([]):
        handed_over(int)
    with pytest.raises(LookupError), replayed([1]):
        pass
