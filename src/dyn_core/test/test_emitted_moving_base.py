# SPDX-License-Identifier: Apache-2.0
"""Emitted functions of robots on a moving base give the values of the model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from moving_base_cases import free_state
from robots import example
from test_emitted import CALLS, head_of
from test_moving_base_model import ARM

import dyn_core
from dyn_core import MovingBaseModel as Model
from dyn_core.cli.function_arguments import EMITTED_ON_BASE, ON_BASE
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.model.moving_base.dynamics_programs import base_kinds, base_program, input_sizes
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK, base_link_program
from dyn_core.model.moving_base.named_entries import base_link_source, base_source
from dyn_core.robot.moving_base import MovingBase, moving_base


@pytest.fixture(params=["free", "given", "planar"])
def model(request: pytest.FixtureRequest) -> Model:
    robot = example("planar_base") if request.param == "planar" else dyn_core.load_robot(ARM)
    return dyn_core.compile_moving_base(robot, request.param, backend="python")


def sources(base: MovingBase) -> dict[str, Program]:
    link = base.robot.link_names[-1]
    found = {name: base_source(base, name) for name in base_kinds(base)}
    return found | {name: base_link_source(base, name, link) for name in OF_BASE_LINK}


FREE = moving_base(dyn_core.load_robot(ARM), "free")


def state(base: MovingBase) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    values = {name: random.uniform(-2.0, 2.0, size) for name, size in input_sizes(base).items()}
    if base.kind != "planar":
        values["pose"] = free_state(random, 1).pose
    return values


def expected(model: Model, name: str, values: dict[str, np.ndarray]) -> np.ndarray:
    base = model.base
    if name == "external_forces":
        links = (base.link, *base.robot.child_links)
        wrenches = dict(zip((link.name for link in links), values["w"].reshape((-1, 6)), strict=True))
        pose = np.zeros(3) if base.kind == "planar" else np.eye(7)[6]
        still = (pose, *np.zeros((2, base.freedom)), values["q"], *np.zeros((2, base.robot.dof)))
        forces = model.inverse_dynamics_given_base
        return forces(*still, wrenches=wrenches) - forces(*still)
    function = name.removeprefix("pushed_")
    taken = [values[key] for key in (ON_BASE | OF_BASE_LINK)[function]]
    taken += [base.robot.link_names[-1]] if name in OF_BASE_LINK else []
    return getattr(model, function)(*taken, **({"F": values["F"]} if name != function else {}))


@pytest.mark.parametrize("language", CALLS)
def test_emitted_functions_agree_with_the_model(language: str, model: Model, tmp_path: Path) -> None:
    base, found, values = model.base, sources(model.base), state(model.base)
    call = CALLS[language](base.robot, tmp_path, list(found.values()))
    for name, program in found.items():
        wanted = expected(model, name, values)
        value = call(program, [values[key] for key in program.inputs])
        assert value.shape == wanted.shape, name
        np.testing.assert_allclose(value, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max(), err_msg=name)


@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "python"])
def test_a_quaternion_that_is_not_of_length_1(language: str, tmp_path: Path) -> None:
    found, values = sources(FREE), state(FREE)
    call = CALLS[language](FREE.robot, tmp_path, list(found.values()))
    values["pose"] = values["pose"] * np.array([1, 1, 1, 1.1, 1.1, 1.1, 1.1])
    for program in found.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            value = call(program, [values[key] for key in program.inputs])
        assert np.isfinite(value.flat[0]) == ("pose" not in program.inputs), program.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_head(language: str) -> None:
    added = "free base 'hull': what wrenches that links exert add to forces on the base and torques"
    wrenches = ("1 hull (w 1 to 6)", "2 upper (w 7 to 12)", "3 slide (w 13 to 18)")
    pose = "pose (7): position (m) of link 'hull' in the world, and its orientation, a quaternion"
    columns = "columns (8): base:linear:x base:linear:y base:linear:z base:angular:x"
    length = "not finite where the quaternion is not of length 1 within 0.001"
    length += ", which takes 2 add and 1 div of the operations"
    expected = {"external_forces": (added, *wrenches), "inverse_dynamics": (pose, columns, length)}
    for function, parts in expected.items():
        head = head_of(base_source(FREE, function), FREE.robot, language)
        assert [part for part in parts if part not in head] == []


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_the_head_has_the_operation_counts_of_the_model_and_of_the_quaternion_check(kind: str) -> None:
    base = moving_base(dyn_core.load_robot(ARM), kind)
    plain = {name: base_program(base, name) for name in base_kinds(base)}
    plain |= {name: base_link_program(base, name, "slide") for name in OF_BASE_LINK}
    for name, program in plain.items():
        source = base_link_source(base, name, "slide") if name in OF_BASE_LINK else base_source(base, name)
        head = " ".join(emitted(source, base.robot, "c")[:3000].split())
        taken = re.search(r"within 0\.001, which takes ((?:\d+ \w+(?: and )?)+) of the operations", head)
        assert (taken is not None) == (kind != "planar" and "pose" in program.inputs)
        counts = dict(program.operation_counts)
        for count, operation in re.findall(r"(\d+) (\w+)", taken[1] if taken else ""):
            counts[operation] += int(count)
        words = ", ".join(f"{count} {operation}" for operation, count in counts.items())
        assert f"operations: {words} */" in head, name


def test_names_and_arguments() -> None:
    """Names differ from those for a fixed base; the command knows the arguments of each function."""
    names = [program.name for program in sources(FREE).values()]
    assert all(re.fullmatch(r"free_base_\w+", name) for name in names)
    assert "free_base_jacobian_slide" in names
    known = base_kinds(FREE)
    assert set(known) == {*ON_BASE, *EMITTED_ON_BASE}
    assert all(tuple(known[name].sizes) == taken for name, taken in ON_BASE.items())
    assert all(tuple(base_link_source(FREE, name, "hull").inputs) == x for name, x in OF_BASE_LINK.items())
