# SPDX-License-Identifier: Apache-2.0
"""Side files that declare a moving base, and functions that need a fixed base."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal, refused
from robots import ROBOTS, example
from test_moving_base_model import ARM, root
from test_side_file import urdf

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator
from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.robot.moving_base import declared_base

SETTINGS = MovingBaseSettings(backend="python")
STANDING, FREE = dyn_core.load_robot(ARM), dyn_core.load_robot(ARM, loops={"base": "free"})
USES: dict[str, tuple[Callable[[dyn_core.Robot], object], str]] = {
    "compile_model": (dyn_core.compile_model, "compile_moving_base"),
    "Simulator": (dyn_core.Simulator, "MovingBaseSimulator"),
    "excitation": (dyn_core.excite, ""),
    "identification": (dyn_core.base_columns, ""),
    "the Lagrange form": (dyn_core.expanded_lagrange, ""),
    "the mount 'fixed'": (dyn_core.base_parameters, "mount='moving'"),
    "grouping of parameters, which keeps no forces on a base,": (dyn_core.with_base_parameters, ""),
    "what actuators can do": (lambda robot: Feasibility(robot, dyn_core.actuator_limits(STANDING)), ""),
}


@pytest.mark.parametrize("what", USES)
def test_functions_for_fixed_bases_refuse_a_moving_base(what: str) -> None:
    use, instead = USES[what]
    code, values = ("misplaced", {"alternative": instead}) if instead else ("unsupported", {})
    with refused(f"moving-base-{code}", operation=what, robot="arm", base="free", **values):
        use(FREE)


def test_with_fixed_base_removes_the_declaration() -> None:
    """Parameters for a moving base are still available."""
    held = FREE.with_fixed_base()
    assert held == STANDING
    assert held.with_fixed_base() == held
    model = dyn_core.compile_model(held, backend="python")
    assert model.joint_names == ("j1", "j2")
    moving = dyn_core.base_parameters(FREE, mount="moving")
    assert moving.names == dyn_core.base_parameters(held, mount="moving").names
    of_moving = dyn_core.compile_moving_base(FREE, backend="python")
    assert of_moving.base.kind == "free"
    assert dyn_core.compile_model(of_moving.base.robot, backend="python").joint_names == ("j1", "j2")


def test_declarations_of_the_base() -> None:
    floating, given = dyn_core.load_robot(root("floating")), {"base": "given"}
    rubbing = {"friction": {"root/x": {"viscous": 1.0}}}
    for robot, expected in (
        (STANDING, None),
        (FREE, ("free", "hull", "side file")),
        (floating, ("free", "hull", "floating joint 'root'")),
        (dyn_core.load_robot(root("planar"), loops=given), ("given", "hull", "side file")),
        (dyn_core.load_robot(root("planar"), loops=rubbing), None),
    ):
        found = declared_base(robot)
        assert (None if found is None else tuple(found)) == expected
    # Without a declaration, a joint at the root belongs to the chain.
    assert floating.base is None
    assert dyn_core.compile_model(floating, backend="python").joint_names[0] == "root/trans_x"
    assert dyn_core.Simulator(floating).joint_names[0] == "root/trans_x"


SHOWN = ((3, "3"), (-2, "-2"), (3.5, "3.5"), (True, "true"), ("Free", "Free"), (10**400, "inf"))


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        *(({"base": given}, f"unknown at base: {shown}, ") for given, shown in SHOWN),
        *(({"base": given}, "empty at base: ") for given in (None, "")),
        *(({"base": given}, "not-word at base: ") for given in (["free"], {"kind": "free"})),
        ("# a base\nbase:\n", "empty at base (line 2): "),
        ("# a base\nbase: true\n", "unknown at base (line 2): true, "),
        ("# a base\nbase: 3", "unknown at base (line 2): 3, "),
    ],
)
def test_unknown_kinds_of_base_are_refused(side: object, expected: str) -> None:
    assert refusal(dyn_core.load_robot, ARM, loops=side) == f"base-kind-{expected}[free, planar, given]"


def test_wrong_values_in_the_data_are_refused() -> None:
    for given, shown in ((True, "true"), (10**400, "inf")):
        said = refusal(dyn_core.load_robot, ARM, loops={"rotor_inertia": {"j1": given}})
        assert said == f"node-not-finite at rotor_inertia of joint 'j1': a finite number, {shown}"
    assert dyn_core.load_robot(ARM, loops={"rotor_inertia": {"j1": np.int64(2)}}).joints[0].Ia == 2.0


def test_springs_and_loops_with_a_moving_base_are_refused(tmp_path: Path) -> None:
    """Loading fails with the names of both, and the file."""
    path = tmp_path / "side.yaml"
    path.write_text("base: free\nelastic: {j1: {stiffness: 100}}\n")
    for side, file in ((path, str(path)), (path.read_text(), None)):
        with refused("springs-beside-moving-base", base="free", joints=["j1"], robot="arm") as caught:
            dyn_core.load_robot(ARM, loops=side)
        assert caught.value.file == file
    five_bar = (ROBOTS / "five_bar.yaml").read_text() + "\nbase: planar\n"
    with refused("loops-beside-moving-base", base="planar", robot="five_bar"):
        example("five_bar", loops=five_bar)
    constraint = (
        '<constraint name="c" type="revolute"><parent link="l0"/><parent_axis xyz="0 0 1"/>'
        '<child link="tip"/></constraint>'
    )
    with refused("loops-beside-moving-base", loops=["c"]):
        dyn_core.load_robot(urdf(constraint), loops={"base": "free"})


def test_properties_of_a_root_joint_that_is_the_base_are_refused() -> None:
    friction, rotor = {"friction": {"root/x": {"coulomb": 1.0}}}, {"rotor_inertia": {"root/x": 1.0}}
    for side, what in ((friction, "friction"), (rotor, "a rotor inertia")):
        said = refusal(dyn_core.compile_moving_base, dyn_core.load_robot(root("planar"), loops=side))
        assert said == f"base-joint-property: root, planar, root/x, {what}, arm"


def test_values_by_name_default_to_zero() -> None:
    """Joint values as for `Simulator`."""
    named = MovingBaseSimulator(STANDING, "free", SETTINGS, q={"j2": 0.2}, qd={"j1": 1.0})
    plain = MovingBaseSimulator(STANDING, "free", SETTINGS, q=[0.0, 0.2], qd=[1.0, 0.0])
    named.set_effort({"j1": 0.7})
    plain.set_effort([0.7, 0.0])
    for _ in range(3):
        a, b = named.step(), plain.step()
    assert [x.tolist() for x in (a.pose, a.V, a.q, a.qd)] == [x.tolist() for x in (b.pose, b.V, b.q, b.qd)]
    named.set_state(a.pose, a.V, {"j1": 0.4}, {"j2": -0.1})
    assert (named.state.q.tolist(), named.state.qd.tolist()) == ([0.4, 0.0], [0.0, -0.1])
    with refused(
        "argument-joint-unknown", argument="effort", robot="arm", known=["j1", "j2"], unknown=["elbow"]
    ):
        named.set_effort({"elbow": 1.0})
    with refused("argument-value-not-finite", argument="effort", joint="j2"):
        named.set_effort({"j2": np.nan})


def test_efforts_of_passive_joints_and_efforts_and_states_beyond_limits_are_reported() -> None:
    robot = dyn_core.load_robot(ARM, loops={"passive": ["j1"]})
    simulator = MovingBaseSimulator(robot, "free", SETTINGS)
    with refused("effort-on-passive-joint", joint="j1", effort=5.0, unit="N m"):
        simulator.set_effort([5.0, 20.0])
    np.testing.assert_array_equal(simulator.effort, [0.0, 0.0])
    simulator.set_effort([0.0, 20.0])
    np.testing.assert_array_equal(simulator.effort, [0.0, 9.0])
    np.testing.assert_array_equal(simulator.command, [0.0, 20.0])
    assert simulator.at_effort_limit == ("j2",)
    simulator.set_effort([0.0, -9.0])
    assert simulator.at_effort_limit == ()
    simulator.reset()
    np.testing.assert_array_equal(simulator.command, [0.0, 0.0])

    # Limits that are not enforced
    simulator = MovingBaseSimulator(STANDING, "free", SETTINGS, q=[7.0, 1.5], qd=[20.0, -10.0])
    assert (simulator.beyond_limits, simulator.too_fast) == (("j2",), ("j2",))
    simulator.set_state(simulator.state.pose, simulator.state.V, [0.0, -1.0], [0.0, 9.0])
    assert (simulator.beyond_limits, simulator.too_fast) == ((), ())


def test_wrong_simulator_arguments_are_refused() -> None:
    with refused("robot-type", given="str"):
        MovingBaseSimulator("arm.urdf", "free")  # type: ignore[arg-type]
    with refused("argument-type", argument="settings", expected="MovingBaseSettings"):
        MovingBaseSimulator(STANDING, "free", dyn_core.SimulationSettings())  # type: ignore[arg-type]
    with refused("argument-choice-unknown", argument="base", known="'free', 'planar', 'given' or None"):
        MovingBaseSimulator(STANDING, np.array(["free", "free"]))  # type: ignore[arg-type]
    simulator = MovingBaseSimulator(STANDING, "free", SETTINGS)
    names = "a mapping from names of links"
    with refused("argument-type", argument="wrenches", expected=names, given="list"):
        simulator.set_wrenches([1.0] * 6)  # type: ignore[arg-type]
    with refused("argument-range", argument="duration", expected="a finite number of seconds > 0", given="1"):
        simulator.step("1")  # type: ignore[arg-type]
    simulator.step(np.float32(0.5))  # type: ignore[arg-type]
    with refused("duration-below-resolution", duration=1e-20, time=0.5):
        simulator.step(1e-20)
    with refused("argument-not-numbers", argument="pose"):
        simulator.set_state({"x": 1.0}, np.zeros(6), [0.0, 0.0], [0.0, 0.0])  # type: ignore[arg-type]
    for kind, speed, n in (
        ("free", 1e200, 6),
        ("free", 1e308, 6),
        ("planar", 1e200, 3),
        ("planar", 1e308, 3),
    ):
        with refused("moving-base-simulation-diverged", robot="arm", time=0.0):
            MovingBaseSimulator(STANDING, kind, SETTINGS, V=[speed] * n, qd=[1e3, 0.0]).step()


def test_wrong_driven_base_arguments_are_refused() -> None:
    model = dyn_core.compile_moving_base(FREE, backend="python")
    with refused("model-type", given="MovingBaseModel"):
        dyn_core.DrivenBase(model)  # type: ignore[arg-type]
    driven = dyn_core.DrivenBase(dyn_core.compile_model(FREE.with_fixed_base(), backend="python"))
    driven.feel([0.0, 0.0, 9.81, *[0.0] * 6])
    upright = dyn_core.compile_model(STANDING, backend="python").gravity_torques([0.3, 0.1])
    np.testing.assert_allclose(driven.gravity_torques(np.array([0.3, 0.1])), upright, atol=1e-12)
    with refused("argument-numbers", argument="motion", count=9):
        driven.feel([1.0, 2.0])
