# SPDX-License-Identifier: Apache-2.0
"""Emitted functions of robots on a moving base compute what the model computes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import test_emitted
from emitted_programs import ROBOTS
from moving_base_cases import free_state
from test_emitted import CALLS, python_function
from test_moving_base_model import ARM

import dyn_core
from dyn_core.cli.function_arguments import EMITTED_ON_BASE, ON_BASE
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.facade.moving_base_sources import base_link_source, base_source
from dyn_core.model.moving_base.dynamics_programs import base_kinds, base_program, input_sizes
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK, base_link_program
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.moving_base import moving_base

CASES = {
    "free": (ARM, "free"),
    "given": (ARM, "given"),
    "planar": ((ROBOTS / "planar_base.urdf").read_text(), "planar"),
}


@pytest.fixture(params=CASES)
def model(request: pytest.FixtureRequest) -> dyn_core.MovingBaseModel:
    urdf, kind = CASES[request.param]
    return dyn_core.compile_moving_base(dyn_core.load_robot(urdf), kind, backend="python")


def sources(base: MovingBase) -> dict[str, Program]:
    """All functions, and those of the last link, by name."""
    link = base.robot.link_names[-1]
    found = {name: base_source(base, name) for name in base_kinds(base)}
    return found | {name: base_link_source(base, name, link) for name in OF_BASE_LINK}


def state(base: MovingBase) -> dict[str, np.ndarray]:
    """A value for each input."""
    random = np.random.default_rng(7)
    values = {name: random.uniform(-2.0, 2.0, size) for name, size in input_sizes(base).items()}
    if base.kind != "planar":
        values["pose"] = free_state(random, 1).pose
    return values


def expected(model: dyn_core.MovingBaseModel, name: str, values: dict[str, np.ndarray]) -> np.ndarray:
    base = model.base
    if name == "external_forces":
        links = (base.link, *base.robot.child_links)
        wrenches = dict(zip((link.name for link in links), values["w"].reshape((-1, 6)), strict=True))
        rest = [np.zeros(base.pose_size), *(np.zeros(size) for size in (base.freedom,) * 2)]
        if base.kind != "planar":
            rest[0][6] = 1.0
        still = (*rest, values["q"], *(np.zeros(base.robot.dof),) * 2)
        forces = model.inverse_dynamics_given_base
        return forces(*still, wrenches=wrenches) - forces(*still)
    function = name.removeprefix("pushed_")
    taken = [values[key] for key in (ON_BASE | OF_BASE_LINK)[function]]
    if name in OF_BASE_LINK:
        return getattr(model, name)(*taken, base.robot.link_names[-1])
    push = {"F": values["F"]} if name != function else {}
    return getattr(model, function)(*taken, **push)


@pytest.mark.parametrize("language", CALLS)
def test_emitted_functions_are_those_of_the_model(
    language: str, model: dyn_core.MovingBaseModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = model.base
    found = sources(base)
    monkeypatch.setattr(test_emitted, "programs", lambda _: list(found.values()))
    call = CALLS[language](base.robot, tmp_path)
    values = state(base)
    for name, program in found.items():
        wanted = expected(model, name, values)
        value = call(program, [values[key] for key in program.inputs])
        assert value.shape == wanted.shape, name
        close = {"rtol": 1e-11, "atol": 1e-12 * np.abs(wanted).max(), "err_msg": name}
        np.testing.assert_allclose(value, wanted, **close)


@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "python"])
def test_a_quaternion_of_another_length(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first result is not finite, as the file says."""
    base = moving_base(dyn_core.load_robot(ARM), "free")
    found = sources(base)
    monkeypatch.setattr(test_emitted, "programs", lambda _: list(found.values()))
    call = CALLS[language](base.robot, tmp_path)
    values = state(base)
    values["pose"] = values["pose"] * np.array([1, 1, 1, 1.1, 1.1, 1.1, 1.1])
    for program in found.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            value = call(program, [values[key] for key in program.inputs])
        assert np.isfinite(value.flat[0]) == ("pose" not in program.inputs), program.name


def test_batches_in_python() -> None:
    """The samples are the last axis."""
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend="python")
    values = state(model.base)
    many = {name: np.tile(value, (4, 1)) for name, value in values.items()}
    many["q"] = many["q"] + np.linspace(0.0, 1.0, 8).reshape((4, 2))
    call = python_function(base_source(model.base, "forward_dynamics"), model.base.robot)
    taken = [many[name] for name in ON_BASE["forward_dynamics"]]
    wanted = model.forward_dynamics(*taken)
    np.testing.assert_allclose(call(*(array.T for array in taken)).T, wanted, rtol=1e-11)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_file_says(language: str) -> None:
    """Which base, what each number is, and whose wrenches are taken."""
    base = moving_base(dyn_core.load_robot(ARM), "free")
    text = emitted(base_source(base, "external_forces"), base.robot, language)[:3000]
    head = " ".join(word for word in text.split() if word not in ("//", "#", "!", "%"))
    assert "free base 'hull': what wrenches that links exert add to forces on the base and torques" in head
    for k, link in enumerate(("hull", "upper", "slide")):
        assert f"{k + 1} {link} (w {6 * k + 1} to {6 * k + 6})" in head
    text = emitted(base_source(base, "inverse_dynamics"), base.robot, language)[:3000]
    head = " ".join(word for word in text.split() if word not in ("//", "#", "!", "%"))
    assert "pose (7): position (m) of link 'hull' in the world, and its orientation, a quaternion" in head
    assert "columns (8): base:linear:x base:linear:y base:linear:z base:angular:x" in head
    look = (
        "not finite where the quaternion is not of length 1 within 0.001, which takes 2 add and 1 div of the"
    )
    assert f"{look} operations" in head


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_the_head_has_the_operations_of_the_model_and_those_of_the_look_at_the_quaternion(kind: str) -> None:
    """Those of the model are what `dyn counts` prints."""
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


def test_names_are_not_those_of_a_base_that_stands() -> None:
    """Functions of both can be linked together."""
    base = moving_base(dyn_core.load_robot(ARM), "free")
    names = [program.name for program in sources(base).values()]
    assert all(re.fullmatch(r"free_base_\w+", name) for name in names)
    assert "free_base_jacobian_slide" in names


def test_the_command_knows_the_functions() -> None:
    base = moving_base(dyn_core.load_robot(ARM), "free")
    known = base_kinds(base)
    assert set(known) == {*ON_BASE, *EMITTED_ON_BASE}
    assert all(known[name].inputs == taken for name, taken in ON_BASE.items())
    for name, taken in OF_BASE_LINK.items():
        assert tuple(base_link_source(base, name, "hull").inputs) == taken
