# SPDX-License-Identifier: Apache-2.0
"""Emitted files compile without warnings in strict compilers and give the values of the model."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np
import pytest
from depth import some
from emitted_programs import NAMES, answer, every_operation, inputs, programs
from refusals import refused
from robots import ROBOTS, example

import dyn_core
from dyn_core.cli.function_arguments import EMITTED, EVALUATED, OF_ELASTIC, OF_LINK, OF_MOTORS, link_program
from dyn_core.codegen.languages.file_header import cpp_namespace, fortran_name, header, linked_name
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.identification.regressor.momentum_energy import MODELS
from dyn_core.model.fixed_base.closed_loops import NEWTON_STEP
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.fixed_base.lagrange_functions import OF_LAGRANGE
from dyn_core.model.fixed_base.link_functions import OF_LINKS

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O0")
STRICT = (*WARNINGS, "-shared", "-fPIC")
GOLDEN = Path(__file__).parent / "golden"
Call = Callable[[Program, list[np.ndarray]], np.ndarray]
Caller = Callable[[dyn_core.Robot, Path, Sequence[Program]], Call]


def tool(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    return found or pytest.skip(f"{' or '.join(names)} is not installed")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder: Path, program: Program, robot: dyn_core.Robot, language: str) -> Path:
    path = folder / f"{program.name}{LANGUAGES[language][1]}"
    path.write_text(emitted(program, robot, language))
    return path


def library_call(library: Path, symbol: Callable[[str], str], order: Literal["C", "F"] = "C") -> Call:
    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(program.shape, order=order)
        function = ctypes.CDLL(str(library))[symbol(program.name)]
        function.restype = None
        function(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*vectors, out)))
        return out

    return call


def c_call(robot: dyn_core.Robot, folder: Path, programs: Sequence[Program]) -> Call:
    library = folder / "c.so"
    sources = [write(folder, program, robot, "c") for program in programs]
    run(tool("cc"), "-std=c99", *STRICT, *sources, "-o", library, "-lm")
    return library_call(library, partial(linked_name, robot.name))


def cpp_call(robot: dyn_core.Robot, folder: Path, programs: Sequence[Program]) -> Call:
    library, source = folder / "cpp.so", folder / "all.cpp"
    lines = []
    for program in programs:
        write(folder, program, robot, "cpp")
        sizes = [*enumerate(map(len, program.inputs.values()))]
        parameters = ", ".join(f"const void* a{k}" for k, _ in sizes)
        values = ", ".join(f"*static_cast<const std::array<double, {n}>*>(a{k})" for k, n in sizes)
        result = f"std::array<double, {math.prod(program.shape)}>"
        call = f"{cpp_namespace(robot.name)}::{program.name}({values})"
        lines += [
            f'#include "{program.name}.hpp"',
            f'extern "C" void {program.name}({parameters}, void* out)',
            f"{{ static_assert(noexcept({call})); *static_cast<{result}*>(out) = {call}; }}",
        ]
    source.write_text("\n".join([*lines, ""]))
    run(tool("c++"), "-std=c++17", "-fno-exceptions", *STRICT, source, "-o", library)
    return library_call(library, str)


def fortran_call(robot: dyn_core.Robot, folder: Path, programs: Sequence[Program]) -> Call:
    library = folder / "fortran.so"
    sources = [write(folder, program, robot, "fortran") for program in programs]
    run(tool("gfortran"), "-std=f2008", "-Wno-unused-dummy-argument", *STRICT, *sources, "-o", library)
    return library_call(library, lambda name: f"{fortran_name(robot.name, name)}_", "F")


def python_call(robot: dyn_core.Robot, *_: object) -> Call:
    return lambda program, vectors: python_function(program, robot)(*(v.tolist() for v in vectors))


def python_function(program: Program, robot: dyn_core.Robot) -> Callable[..., np.ndarray]:
    namespace: dict[str, Callable[..., np.ndarray]] = {}
    exec(emitted(program, robot, "python"), namespace)
    return namespace[program.name]


def maple(text: str) -> tuple[str, str]:
    """The statements of a procedure and its result as Python."""
    text = re.sub(r"piecewise\((\S+) > 0, .*\)", r"sign(\1)", text).replace(" := ", " = ")
    text = re.sub(r"piecewise\((.+?) > (.+?), (.+?), (.+)\);", r"\3 if \1 > \2 else \4;", text)
    return text, re.findall(r"(?:Vector|Matrix)\((.*)\);\nend proc", text, re.S)[0]


def mathematica(text: str) -> tuple[str, str]:
    """The statements of a Module and its result as Python."""
    functions = r"(Sin|Cos|Sqrt|Abs|Sign)\[((?:[^\[\]]|\[\[\d+\]\])*)\]"
    text = text.replace("`*^", "e").replace("`", "")
    text = re.sub(functions, lambda m: f"{m[1].lower()}({m[2]})", text)
    text = re.sub(r"If\[(.+?) > (.+?), (.+?), (.+)\];", r"\3 if \1 > \2 else \4;", text)
    text = text.replace("[[", "[").replace("]]", "]")
    result = re.findall(r"[;,]\n    (\{\n.*\})\n\]", text, re.S)[0]
    return text, result.replace("{", "[").replace("}", "]")


def interpreted_call(read: Callable[[str], tuple[str, str]], robot: dyn_core.Robot, *_: object) -> Call:
    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        text, result = read(emitted(program, robot, read.__name__))
        names = {name: [None, *vector.tolist()] for name, vector in zip(program.inputs, vectors, strict=True)}
        names |= {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "sign": np.sign, "abs": abs}
        for name, expression in re.findall(r"^    (t\d+) = (.*);$", text, re.M):
            names[name] = eval(expression, {}, names)
        return np.array(eval(result, names))

    return call


EXECUTED = {"c": c_call, "cpp": cpp_call, "fortran": fortran_call, "python": python_call}
CALLS: dict[str, Caller] = EXECUTED | {
    read.__name__: partial(interpreted_call, read) for read in (maple, mathematica)
}


@pytest.mark.parametrize("name", some(NAMES, "rrp", "rx90"))
@pytest.mark.parametrize("language", CALLS)
def test_emitted_programs_agree_with_the_model(language: str, name: str, tmp_path: Path) -> None:
    robot = example(name)
    call = CALLS[language](robot, tmp_path, programs(robot))
    for program in programs(robot):
        expected, value = answer(program, inputs(program)), call(program, inputs(program))
        assert value.shape == expected.shape, program.name
        close = {"rtol": 1e-12, "atol": 1e-13 * min(np.abs(expected).max(), 1e3), "err_msg": program.name}
        np.testing.assert_allclose(value, expected, **close)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["c", "cpp", "python"])
def test_wrenches_belong_to_their_links(language: str, name: str, tmp_path: Path) -> None:
    """Component by component, in the frames of the URDF, as in `Model.inverse_dynamics`."""
    robot = example(name)
    program = traced(robot, "external_torques")
    call = CALLS[language](robot, tmp_path, [program])
    model = dyn_core.compile_model(robot, backend="python")
    random = np.random.default_rng(3)
    q, rest = random.uniform(-3.0, 3.0, robot.dof), np.zeros(robot.dof)
    rows = random.uniform(-3.0, 3.0, (len(robot.joints), 6))
    links = [child_link(name, joint.name) for joint in robot.joints]
    for chosen in (*([k] for k in range(len(links))), range(len(links))):
        w = np.zeros_like(rows)
        w[chosen] = rows[chosen]
        expected = model.inverse_dynamics(q, rest, rest, {links[k]: rows[k] for k in chosen})
        expected -= model.inverse_dynamics(q, rest, rest)
        np.testing.assert_allclose(call(program, [q, w.ravel()]), expected, atol=1e-12)


def child_link(robot: str, joint: str) -> str:
    tree = ElementTree.parse(ROBOTS / f"{robot}.urdf")
    return next(e.find("child").attrib["link"] for e in tree.iter("joint") if e.get("name") == joint)


def head_of(program: Program, robot: dyn_core.Robot, language: str) -> str:
    words = emitted(program, robot, language)[:3000].split()
    return " ".join(word for word in words if word not in ("//", "#", "!", "%"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_head_describes_the_function_and_its_wrenches(language: str) -> None:
    robot = example("rrp")
    head = emitted(traced(robot, "inverse_dynamics"), robot, language)[:800]
    for words in ("generated by dyn_core", "'rrp'", "inverse_dynamics", "41 mul, 31 add, 0 div, 2 trig"):
        assert words in head
    assert re.search(r"1 turn +\(rad, .*N m\)\n.*2 lift .*\n.*3 stretch +\(m, m/s, m/s\^2, N\)", head)
    robot = example("two_branch")
    head = head_of(traced(robot, "external_torques"), robot, language)
    assert "exerts on its environment, in the frame of that link and about its origin" in head
    for k, joint in enumerate(robot.joints, start=1):
        assert f"{k} {child_link('two_branch', joint.name)} (w {6 * k - 5} to {6 * k})" in head


@pytest.mark.parametrize("language", EXECUTED)
def test_the_sign_of_zero_and_of_nan(language: str, tmp_path: Path) -> None:
    call = CALLS[language](example("rrp"), tmp_path, [every_operation()])
    for a, expected in ((0.0, 0.0), (-0.0, 0.0), (2.0, 1.0), (-2.0, -1.0), (math.nan, math.nan)):
        value = call(every_operation(), [np.array([a, 1.0, 1.0]), np.zeros(3)])
        np.testing.assert_array_equal(value[0, 0], expected)


@pytest.mark.parametrize("name", NAMES)
def test_batches_in_python(name: str) -> None:
    """Samples are on the last axis; an input with one sample is used for all samples."""
    robot = example(name)
    model = dyn_core.compile_model(robot, backend="python")
    random = np.random.default_rng(5)
    for function, taken in EVALUATED.items():
        call = python_function(traced(robot, function), robot)
        batch = {vector: random.uniform(-3.0, 3.0, (7, robot.dof)) for vector in taken}
        expected = getattr(model, function)(**batch)
        value = call(*(array.T for array in batch.values()))
        assert (type(value), value.dtype) == (np.ndarray, float)
        close = {"rtol": 1e-12, "atol": 1e-12 * np.abs(expected).max(), "err_msg": function}
        np.testing.assert_allclose(np.moveaxis(value, -1, 0), expected, **close)
        one = call(*(array[2].tolist() for array in batch.values()))
        np.testing.assert_allclose(one, expected[2], **close)
        first, *others = batch.values()
        value = call(first.T, *(array[2].tolist() for array in others))
        expected = getattr(model, function)(first, *(np.tile(array[2], (7, 1)) for array in others))
        np.testing.assert_allclose(np.moveaxis(value, -1, 0), expected, **close)


def test_python_refuses_wrong_shapes_and_results_do_not_share_memory_with_inputs() -> None:
    robot = example("rrp")
    call = python_function(trace("odd", lambda q: [0.0, 2.5], {"q": 3}, (2,)), robot)
    np.testing.assert_array_equal(call(np.ones((3, 4))), [[0.0] * 4, [2.5] * 4])
    np.testing.assert_array_equal(call([1, 2, 3]), [0.0, 2.5])
    call = python_function(traced(robot, "gravity_torques"), robot)
    for shape in ((4, 3), (), (2,), (3, 4, 1)):
        with pytest.raises(ValueError, match=rf"^q: .*{re.escape(str(shape))}$"):
            call(np.zeros(shape))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", OF_LINK)
def test_functions_of_links(function: str, name: str) -> None:
    robot = example(name)
    model = dyn_core.compile_model(robot, backend="python")
    link = robot.link_names[-1]
    states = list(np.random.default_rng(7).uniform(-3.0, 3.0, (len(OF_LINK[function]), 5, robot.dof)))
    for axes in robot.link_names:
        call = python_function(link_program(robot, function, link, axes), robot)
        value = np.moveaxis(call(*(state.T for state in states)), -1, 0)
        expected = getattr(model, function)(*states, link, axes)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_of_links_are_named_after_them(language: str) -> None:
    robot = example("rx90")
    text = emitted(link_program(robot, "jacobian", "tool0", "hand"), robot, language)
    name = {"mathematica": "jacobianTool0InHand"}.get(language, "jacobian_tool0_in_hand")
    assert f"{name}{'[' if language == 'mathematica' else ''}" in text.replace(" := proc", "(")
    assert "Jacobian of the frame of link 'tool0', [linear; angular] = J qd, on the axes of" in text
    assert link_program(robot, "link_velocity", "tool0", "base_link").name == "link_velocity_tool0"


def test_names_of_matlab_are_short_and_differ() -> None:
    urdf, long = (ROBOTS / "rrp.urdf").read_text(), "very_long_name_of_a_link_" * 4
    names = re.findall('<link name="([^"]+)"', urdf)
    for k, name in enumerate(names):
        urdf = urdf.replace(f'"{name}"', f'"{long}{k}"')
    robot, found = dyn_core.load_robot(urdf), set()
    for link in robot.link_names:
        for axes in robot.link_names:
            text = emitted(link_program(robot, "jacobian", link, axes), robot, "matlab")
            found.add(re.findall(r"^function out = (\w+)\(q\)$", text, re.MULTILINE)[0])
            assert max(map(len, re.findall(r"\w+", re.sub("%.*", "", text)))) <= 63
    assert len(found) == len(robot.link_names) ** 2


def test_octave(tmp_path: Path) -> None:
    octave = tool("octave-cli", "octave")
    robot = example("two_branch")
    expected, lines = [], []
    for program in programs(robot):
        write(tmp_path, program, robot, "matlab")
        vectors = inputs(program)
        expected.append(answer(program, vectors))
        listed = ", ".join(f"[{' '.join(map(repr, vector.tolist()))}]" for vector in vectors)
        shown = "printf('%d %d', size(x)); printf(' %.17g', x'); disp('');"
        lines.append(f"x = {program.name}({listed}); {shown}")
    lines.append("x = every_operation([NaN 1 1], [0 0 0]); y = every_operation([0 1 1], [0 0 0]);")
    script = tmp_path / "all_of_them.m"
    script.write_text("\n".join([*lines, "printf('%g %g', x(1), y(1)); disp('');\n"]))
    *answers, signs = run(octave, "--norc", "--path", tmp_path, script).splitlines()
    assert signs.split() == ["NaN", "0"]
    for line, value in zip(answers, expected, strict=True):
        rows, columns, *numbers = map(float, line.split())
        assert (rows, columns) == (value.shape if value.ndim == 2 else (len(value), 1))
        np.testing.assert_allclose(np.reshape(numbers, value.shape), value, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("function", ["inverse_dynamics", "inertia_matrix"])
@pytest.mark.parametrize("language", ["mathematica", "maple"])
def test_golden_files(language: str, function: str) -> None:
    golden = GOLDEN / f"rrp_{function}{LANGUAGES[language][1]}"
    assert emitted(traced(example("rrp"), function), example("rrp"), language) == golden.read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_cannot_end_the_comment(language: str) -> None:
    text, odd = (ROBOTS / "rrp.urdf").read_text(), "a*/ *) b&#10;c??/\\"
    for name in ("rrp", "arm", "turn"):
        text = text.replace(f'"{name}"', f'"{name}{odd}"')
    robot, plain = dyn_core.load_robot(text), example("rrp")
    for function in ("gravity_torques", "external_torques"):
        lines = emitted(traced(robot, function), robot, language).splitlines()
        assert len(lines) == len(emitted(traced(plain, function), plain, language).splitlines())
    root, _, link, *_ = robot.link_names
    for program in (traced(robot, "external_torques"), link_program(robot, "jacobian", link, root)):
        emitted(program, robot, language)
        head = "\n".join(header(program, robot))
        assert not any(sign in head for sign in ("*", "\\", "??", "&"))
        assert not any(line.startswith("c") for line in head.splitlines())


def test_names_are_valid_for_namespaces_and_linkers() -> None:
    for name, namespace, symbol in (
        ("rx90", "robot_rx90", "rx90_f"),
        ("my arm-2", "robot_my_arm_2", "my_arm_2_f"),
        ("3R", "robot_3R", "robot_3R_f"),
        ("double", "robot_double", "double_f"),
        ("__", "robot", "robot_f"),
        ("é", "robot", "robot_f"),
    ):
        assert cpp_namespace(name) == namespace
        assert linked_name(name, "f") == fortran_name(name, "f") == symbol
    # Names that are too long for Fortran.
    assert fortran_name("a" * 70, "inertia_matrix") == "a" * 48 + "_inertia_matrix"
    assert fortran_name("3" * 70, "f") == "robot_" + "3" * 55 + "_f"
    assert len(fortran_name("rx90", "f" * 70)) == 63
    assert fortran_name("r", "f" * 70 + "1") != fortran_name("r", "f" * 70 + "2")
    robot = example("rx90")
    for program in programs(robot):
        assert max(map(len, emitted(program, robot, "fortran").splitlines())) <= 132


AWKWARD = (
    *("gamma", "random", "system", "div", "sin", "NAN", "M_PI", "HUGE_VAL", "INFINITY", "int8_t", "double"),
    *("std", "linux", "array", "errno", "3R", "_Bool", "assert", "signbit", "q", "out", "__cplusplus"),
    *("a", "A", ""),
)


def test_robots_can_have_any_name(tmp_path: Path) -> None:
    robot = example("rrp")
    headers = "".join(f"#include <c{name}>\n" for name in ("assert", "errno", "math", "stdlib", "stdint"))
    main, numbers = [headers], range(len(AWKWARD))
    for k, name in enumerate(AWKWARD):
        program, other = traced(robot, "gravity_torques"), replace(robot, name=name)
        for language, ending in (("cpp", "hpp"), ("c", "c"), ("c-header", "h"), ("fortran", "f90")):
            (tmp_path / f"{k}.{ending}").write_text(emitted(program, other, language))
        main.append(f'#include "{k}.hpp"\n#include "{k}.h"\n#include "{k}.h"\n')
    main.append("int main() {\nconst std::array<double, 3> q{0.3, -0.2, 0.1};\ndouble out[3];\n")
    for name in AWKWARD:
        main.append(f"{linked_name(name, 'gravity_torques')}(q.data(), out);\n")
        main.append(f"if ({cpp_namespace(name)}::gravity_torques(q)[1] != out[1]) return 1;\n")
    (tmp_path / "main.cpp").write_text("".join([*main, "return out[1] == 0.0;\n}\n"]))
    strict = (*WARNINGS, "-ffp-contract=off")
    for k in numbers:
        source = tmp_path / f"{k}.c"
        run(tool("cc"), "-std=c99", *strict, "-c", source, "-o", tmp_path / f"{k}.o")
        run(tool("c++"), "-x", "c++", "-std=c++17", *strict, "-c", source, "-o", tmp_path / f"{k}.cpp.o")
    run(tool("c++"), "-std=c++17", *strict, "-c", tmp_path / "main.cpp", "-o", tmp_path / "main.o")
    for ending in ("o", "cpp.o"):
        objects = [tmp_path / f"{k}.{ending}" for k in numbers]
        run(tool("c++"), tmp_path / "main.o", *objects, "-o", tmp_path / "main")
        run(tmp_path / "main")
    # Fortran does not distinguish A and a.
    sources = [tmp_path / f"{k}.f90" for k in numbers if AWKWARD[k] != "A"]
    run(tool("gfortran"), *STRICT, *sources, "-o", tmp_path / "all.so")


def test_values_that_are_not_finite_are_not_written() -> None:
    for results in (lambda q: [math.inf, q[0]], lambda q: [math.nan, q[0]]):
        with refused("program-not-finite", program="odd", robot="rrp"):
            emitted(trace("odd", results, {"q": 2}, (2,)), example("rrp"), "c")


def test_the_command_offers_all_functions() -> None:
    known, elastic = kinds(example("rrp")), kinds(example("rx90", loops=ROBOTS / "rx90_elastic.yaml"))
    assert set(EMITTED) == {*known, *OF_ELASTIC, *OF_MOTORS, *OF_LINKS, *OF_LAGRANGE, *MODELS, NEWTON_STEP}
    assert {name: tuple(OF_LINKS[name](example("rrp"), "arm", "base").inputs) for name in OF_LINKS} == OF_LINK
    for inputs_of, functions in ((known, EVALUATED), (elastic, OF_ELASTIC | OF_MOTORS)):
        assert {name: tuple(inputs_of[name].sizes) for name in functions} == functions
