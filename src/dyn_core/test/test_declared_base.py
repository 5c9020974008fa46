# SPDX-License-Identifier: Apache-2.0
"""A side file that says that the base moves, and all that takes a base as standing still."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_moving_base_model import ARM, root
from test_side_file import urdf

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator
from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.robot.moving_base import declared_base

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
SETTINGS = MovingBaseSettings(backend="python")
HELD = "give it robot.with_fixed_base()"


def free() -> dyn_core.Robot:
    return dyn_core.load_robot(ARM, loops={"base": "free"})


USES: dict[str, tuple[Callable[[dyn_core.Robot], object], str]] = {
    "compile_model": (dyn_core.compile_model, "use compile_moving_base, or"),
    "Simulator": (dyn_core.Simulator, "use MovingBaseSimulator, or"),
    "excitation": (dyn_core.excite, "for a base that is held,"),
    "identification": (dyn_core.base_columns, "for a base that is held,"),
    "the Lagrange form": (dyn_core.expanded_lagrange, "for a base that is held,"),
    "the mount 'fixed'": (dyn_core.base_parameters, "use mount='moving', or"),
    "grouping of parameters, which keeps no forces on a base,": (dyn_core.with_base_parameters, "for a base"),
}


@pytest.mark.parametrize("what", USES)
def test_what_takes_a_base_as_standing_still_refuses_one_that_moves(what: str) -> None:
    use, instead = USES[what]
    with pytest.raises(dyn_core.DynError) as caught:
        use(free())
    sentence = str(caught.value)
    assert sentence.startswith(
        f"{what} takes the base of a robot as standing still, but the side file of robot"
    )
    assert "'arm' says that it moves (base: free): " + instead in sentence
    assert sentence.endswith(HELD)


def test_feasibility_refuses_a_base_that_moves() -> None:
    limits = dyn_core.actuator_limits(dyn_core.load_robot(ARM))
    with pytest.raises(
        dyn_core.DynError, match=r"^what actuators can do takes the base of a robot as standing"
    ):
        Feasibility(free(), limits)


def test_a_base_that_is_held() -> None:
    """It is that of the robot without the word, for all uses, and its parameters on a moving base are had."""
    held = free().with_fixed_base()
    assert held == dyn_core.load_robot(ARM)
    assert held.with_fixed_base() == held
    model = dyn_core.compile_model(held, backend="python")
    assert model.joint_names == ("j1", "j2")
    moving = dyn_core.base_parameters(free(), mount="moving")
    assert moving.names == dyn_core.base_parameters(held, mount="moving").names


def test_a_joint_at_the_root_stays_a_chain() -> None:
    robot = dyn_core.load_robot(root("floating"))
    assert robot.base is None
    assert dyn_core.compile_model(robot, backend="python").joint_names[0] == "root/trans_x"
    assert dyn_core.Simulator(robot).joint_names[0] == "root/trans_x"


def test_how_the_base_is_declared() -> None:
    def declared(robot: dyn_core.Robot) -> tuple[str, ...] | None:
        found = declared_base(robot)
        return None if found is None else tuple(found)

    assert declared(dyn_core.load_robot(ARM)) is None
    assert declared(free()) == ("free", "hull", "side file")
    assert declared(dyn_core.load_robot(root("floating"))) == ("free", "hull", "floating joint 'root'")
    by_file = dyn_core.load_robot(root("planar"), loops={"base": "given"})
    assert declared(by_file) == ("given", "hull", "side file")
    rubbing = {"friction": {"root/x": {"viscous": 1.0}}}
    assert declared(dyn_core.load_robot(root("planar"), loops=rubbing)) is None


def test_a_model_on_a_moving_base_has_a_tree_that_stands() -> None:
    model = dyn_core.compile_moving_base(free(), backend="python")
    assert model.base.kind == "free"
    assert dyn_core.compile_model(model.base.robot, backend="python").joint_names == ("j1", "j2")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (3, "'3'"),
        (-2, "'-2'"),
        (3.5, "'3.5'"),
        (True, "'true'"),
        (None, "empty"),
        ("", "empty"),
        (["free"], "no word"),
        ({"kind": "free"}, "no word"),
        ("Free", "'Free'"),
        (10**400, "'inf'"),
    ],
)
def test_what_is_no_kind_of_base(given: object, shown: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(ARM, loops={"base": given})
    assert str(caught.value) == f"base: it is {shown}: use one of 'free', 'planar', 'given', or leave it out"


@pytest.mark.parametrize(
    ("text", "shown"), [("base:\n", "empty"), ("base: true\n", "'true'"), ("base: 3", "'3'")]
)
def test_what_is_no_kind_of_base_in_a_file(text: str, shown: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(ARM, loops=f"# a base\n{text}")
    assert f"base (line 2): it is {shown}: use one of 'free', 'planar', 'given'" in str(caught.value)


def test_other_numbers_and_words_in_the_data() -> None:
    with pytest.raises(dyn_core.DynError, match=r"rotor_inertia of joint 'j1': it is 'true': write a"):
        dyn_core.load_robot(ARM, loops={"rotor_inertia": {"j1": True}})
    with pytest.raises(dyn_core.DynError, match=r"rotor_inertia of joint 'j1': it is 'inf': write a"):
        dyn_core.load_robot(ARM, loops={"rotor_inertia": {"j1": 10**400}})
    assert dyn_core.load_robot(ARM, loops={"rotor_inertia": {"j1": np.int64(2)}}).joints[0].Ia == 2.0


def test_springs_and_loops_beside_a_moving_base(tmp_path: Path) -> None:
    """They are refused when the robot is loaded, by a sentence that names both, and the file."""
    springs = "base: free\nelastic: {j1: {stiffness: 100}}\n"
    sentence = (
        "base: it says that the base moves (free), but robot 'arm' has the elastic joint 'j1', and the two "
        "are not modelled together: leave out one of them"
    )
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(ARM, loops=springs)
    assert str(caught.value) == sentence
    path = tmp_path / "side.yaml"
    path.write_text(springs)
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(ARM, loops=path)
    assert str(caught.value) == f"{path}: {sentence}"
    five_bar = (ROBOTS / "five_bar.yaml").read_text() + "\nbase: planar\n"
    with pytest.raises(
        dyn_core.DynError, match=r"base: .* moves \(planar\), but robot 'five_bar' closes loop '"
    ):
        dyn_core.load_robot(ROBOTS / "five_bar.urdf", loops=five_bar)
    constraint = (
        '<constraint name="c" type="revolute"><parent link="l0"/><parent_axis xyz="0 0 1"/>'
        '<child link="tip"/></constraint>'
    )
    with pytest.raises(dyn_core.DynError, match="closes loop 'c', and the two"):
        dyn_core.load_robot(urdf(constraint), loops={"base": "free"})


def test_what_a_root_joint_of_a_base_does_not_have() -> None:
    for side, what in (
        ({"friction": {"root/x": {"coulomb": 1.0}}}, "friction"),
        ({"rotor_inertia": {"root/x": 1.0}}, "a rotor inertia"),
    ):
        robot = dyn_core.load_robot(root("planar"), loops=side)
        with pytest.raises(dyn_core.DynError) as caught:
            dyn_core.compile_moving_base(robot)
        assert str(caught.value) == (
            f"robot 'arm': joint 'root/x' of the planar joint 'root' has {what}, which a base that moves "
            "does not have: leave it out, in the side file or wherever it is given"
        )


def test_values_by_name() -> None:
    """Of joints, as `Simulator` takes them: those that are not named are 0."""
    named = MovingBaseSimulator(dyn_core.load_robot(ARM), "free", SETTINGS, q={"j2": 0.2}, qd={"j1": 1.0})
    plain = MovingBaseSimulator(dyn_core.load_robot(ARM), "free", SETTINGS, q=[0.0, 0.2], qd=[1.0, 0.0])
    named.set_effort({"j1": 0.7})
    plain.set_effort([0.7, 0.0])
    for _ in range(3):
        a, b = named.step(), plain.step()
    np.testing.assert_array_equal(
        np.concatenate([a.pose, a.V, a.q, a.qd]), np.concatenate([b.pose, b.V, b.q, b.qd])
    )
    named.set_state(a.pose, a.V, {"j1": 0.4}, {"j2": -0.1})
    assert (named.state.q.tolist(), named.state.qd.tolist()) == ([0.4, 0.0], [0.0, -0.1])
    with pytest.raises(dyn_core.DynError) as caught:
        named.set_effort({"elbow": 1.0})
    assert str(caught.value) == (
        "effort: robot 'arm' has no joint 'elbow' that moves by itself: its joints are 'j1', 'j2'"
    )
    with pytest.raises(ValueError, match="effort: that of joint 'j2' is nan: give a finite number"):
        named.set_effort({"j2": np.nan})


def test_what_has_no_actuator_takes_no_effort_and_what_was_cut_is_told_of() -> None:
    robot = dyn_core.load_robot(ARM, loops={"passive": ["j1"]})
    simulator = MovingBaseSimulator(robot, "free", SETTINGS)
    with pytest.raises(dyn_core.DynError, match="joint 'j1' is given 5 N m, but the joint is passive"):
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


def test_limits_that_nothing_enforces() -> None:
    robot = dyn_core.load_robot(ARM)
    simulator = MovingBaseSimulator(robot, "free", SETTINGS, q=[7.0, 1.5], qd=[20.0, -10.0])
    assert (simulator.beyond_limits, simulator.too_fast) == (("j2",), ("j2",))
    simulator.set_state(simulator.state.pose, simulator.state.V, [0.0, -1.0], [0.0, 9.0])
    assert (simulator.beyond_limits, simulator.too_fast) == ((), ())


def test_what_a_simulator_refuses() -> None:
    robot = dyn_core.load_robot(ARM)
    with pytest.raises(ValueError, match="robot: expected what load_robot answers, but it is str"):
        MovingBaseSimulator("arm.urdf", "free")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="settings: expected MovingBaseSettings, but it is Simul"):
        MovingBaseSimulator(robot, "free", dyn_core.SimulationSettings())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="base: expected 'free', 'planar', 'given' or None, but it is array"):
        MovingBaseSimulator(robot, np.array(["free", "free"]))  # type: ignore[arg-type]
    simulator = MovingBaseSimulator(robot, "free", SETTINGS)
    with pytest.raises(ValueError, match="wrenches: expected a mapping from names of links, but it is list"):
        simulator.set_wrenches([1.0] * 6)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="duration: expected a finite number of seconds > 0, but it is '1'"):
        simulator.step("1")  # type: ignore[arg-type]
    simulator.step(np.float32(0.5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"duration: 1e-20 s after 0\.5 s are no time at all"):
        simulator.step(1e-20)
    with pytest.raises(ValueError, match="pose: expected numbers"):
        simulator.set_state({"x": 1.0}, np.zeros(6), [0.0, 0.0], [0.0, 0.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_what_is_too_fast_for_numbers_diverges(kind: str) -> None:
    for speed in (1e200, 1e308):
        V = [speed] * (6 if kind == "free" else 3)
        with pytest.raises(dyn_core.DynError, match="the simulation of robot 'arm' diverges near 0 s"):
            MovingBaseSimulator(dyn_core.load_robot(ARM), kind, SETTINGS, V=V, qd=[1e3, 0.0]).step()


def test_what_a_driven_base_refuses() -> None:
    model = dyn_core.compile_moving_base(free(), backend="python")
    with pytest.raises(
        ValueError, match="model: expected what compile_model answers, but it is MovingBaseModel"
    ):
        dyn_core.DrivenBase(model)  # type: ignore[arg-type]
    driven = dyn_core.DrivenBase(dyn_core.compile_model(free().with_fixed_base(), backend="python"))
    driven.feel([0.0, 0.0, 9.81, *[0.0] * 6])
    upright = dyn_core.compile_model(dyn_core.load_robot(ARM), backend="python").gravity_torques([0.3, 0.1])
    np.testing.assert_allclose(driven.gravity_torques(np.array([0.3, 0.1])), upright, atol=1e-12)
    with pytest.raises(ValueError, match="motion: expected 9 finite numbers, but it is"):
        driven.feel([1.0, 2.0])
