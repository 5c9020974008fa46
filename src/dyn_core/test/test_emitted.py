# SPDX-License-Identifier: Apache-2.0
"""Emitted files compile without a warning in strict compilers, and compute what the model computes."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from emitted_programs import NAMES, ROBOTS, answer, every_operation, inputs, load, programs

import dyn_core
from dyn_core.cli.function_arguments import EMITTED, EVALUATED, OF_ELASTIC, OF_LINK, OF_MOTORS
from dyn_core.cli.link_options import link_program
from dyn_core.codegen.identifier import cpp_namespace, fortran_name, linked_name
from dyn_core.codegen.languages.file_header import header
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.facade.closed import NEWTON_STEP
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.identification.programs import MODELS
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.fixed_base.link_functions import OF_LINKS

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-shared", "-fPIC")
GOLDEN = Path(__file__).parent / "golden"
Call = Callable[[Program, list[np.ndarray]], np.ndarray]


def tool(*names: str) -> str:
    """The path of the first of these programs that is installed."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"{' or '.join(names)} is not installed")
    return found


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder: Path, program: Program, robot: dyn_core.Robot, language: str) -> Path:
    path = folder / f"{program.name}{LANGUAGES[language][1]}"
    path.write_text(emitted(program, robot, language))
    return path


def called(library: Path, symbol: str, vectors: list[np.ndarray], out: np.ndarray) -> None:
    function = ctypes.CDLL(str(library))[symbol]
    function.restype = None
    function(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*vectors, out)))


def c_call(robot: dyn_core.Robot, folder: Path) -> Call:
    library = folder / "c.so"
    sources = [write(folder, program, robot, "c") for program in programs(robot)]
    run(tool("cc"), "-std=c99", *STRICT, *sources, "-o", library, "-lm")

    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(program.shape)
        called(library, linked_name(robot.name, program.name), vectors, out)
        return out

    return call


def cpp_call(robot: dyn_core.Robot, folder: Path) -> Call:
    library, source = folder / "cpp.so", folder / "all.cpp"
    lines = []
    for program in programs(robot):
        write(folder, program, robot, "cpp")
        arrays = [f"std::array<double, {len(vector)}>" for vector in program.inputs.values()]
        parameters = ", ".join(f"const void* a{k}" for k in range(len(arrays)))
        values = ", ".join(f"*static_cast<const {array}*>(a{k})" for k, array in enumerate(arrays))
        result = f"std::array<double, {math.prod(program.shape)}>"
        call = f"{cpp_namespace(robot.name)}::{program.name}({values})"
        lines += [
            f'#include "{program.name}.hpp"',
            f'extern "C" void {program.name}({parameters}, void* out)',
            f"{{ static_assert(noexcept({call})); *static_cast<{result}*>(out) = {call}; }}",
        ]
    source.write_text("\n".join(lines) + "\n")
    run(tool("c++"), "-std=c++17", "-fno-exceptions", *STRICT, source, "-o", library)

    def call_one(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(program.shape)
        called(library, program.name, vectors, out)
        return out

    return call_one


def fortran_call(robot: dyn_core.Robot, folder: Path) -> Call:
    library = folder / "fortran.so"
    sources = [write(folder, program, robot, "fortran") for program in programs(robot)]
    flags = ("-std=f2008", "-Wno-unused-dummy-argument", *STRICT)
    run(tool("gfortran"), *flags, *sources, "-o", library)

    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(program.shape, order="F")
        called(library, f"{fortran_name(robot.name, program.name)}_", vectors, out)
        return out

    return call


def python_call(robot: dyn_core.Robot, folder: Path) -> Call:
    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        return python_function(program, robot)(*(vector.tolist() for vector in vectors))

    return call


def python_function(program: Program, robot: dyn_core.Robot) -> Callable[..., np.ndarray]:
    namespace: dict[str, Callable[..., np.ndarray]] = {}
    exec(emitted(program, robot, "python"), namespace)
    return namespace[program.name]


def maple_call(robot: dyn_core.Robot, folder: Path) -> Call:
    """The statements of the procedure, read as Python."""

    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        text = emitted(program, robot, "maple")
        text = re.sub(r"piecewise\((\S+) > 0, .*\)", r"sign(\1)", text).replace(" := ", " = ")
        text = re.sub(r"piecewise\((.+?) > (.+?), (.+?), (.+)\);", r"\3 if \1 > \2 else \4;", text)
        return interpreted(
            text, re.search(r"(?:Vector|Matrix)\((.*)\);\nend proc", text, re.S), program, vectors
        )

    return call


def mathematica_call(robot: dyn_core.Robot, folder: Path) -> Call:
    """The statements of the Module, read as Python."""

    def call(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
        text = emitted(program, robot, "mathematica").replace("`*^", "e").replace("`", "")
        text = re.sub(
            r"(Sin|Cos|Sqrt|Abs|Sign)\[((?:[^\[\]]|\[\[\d+\]\])*)\]",
            lambda m: f"{m[1].lower()}({m[2]})",
            text,
        )
        text = re.sub(r"If\[(.+?) > (.+?), (.+?), (.+)\];", r"\3 if \1 > \2 else \4;", text)
        text = text.replace("[[", "[").replace("]]", "]")
        result = re.search(r"[;,]\n    (\{\n.*\})\n\]", text, re.S)
        return interpreted(text, result, program, vectors, braces=True)

    return call


def interpreted(text, result, program: Program, vectors, braces: bool = False) -> np.ndarray:
    names = {name: [None, *vector.tolist()] for name, vector in zip(program.inputs, vectors, strict=True)}
    names |= {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "sign": np.sign, "abs": abs}
    for name, expression in re.findall(r"^    (t\d+) = (.*);$", text, re.M):
        names[name] = eval(expression, {}, names)
    assert result is not None
    literal = result[1].replace("{", "[").replace("}", "]") if braces else result[1]
    return np.array(eval(literal, names))


CALLS = {
    "c": c_call,
    "cpp": cpp_call,
    "fortran": fortran_call,
    "python": python_call,
    "maple": maple_call,
    "mathematica": mathematica_call,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", CALLS)
def test_emitted_programs_are_the_model(language: str, name: str, tmp_path: Path) -> None:
    robot = load(name)
    call = CALLS[language](robot, tmp_path)
    for program in programs(robot):
        vectors = inputs(program)
        expected = answer(program, vectors)
        value = call(program, vectors)
        assert value.shape == expected.shape, program.name
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            value, expected, rtol=1e-12, atol=1e-13 * min(scale, 1e3), err_msg=program.name
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["c", "cpp", "python"])
def test_wrenches_are_those_of_links(language: str, name: str, tmp_path: Path) -> None:
    """Component by component, in the frames of the URDF, as `Model.inverse_dynamics` takes them."""
    robot = load(name)
    program = traced(robot, "external_torques")
    call = CALLS[language](robot, tmp_path)
    model = dyn_core.compile_model(robot, backend="python")
    random = np.random.default_rng(3)
    q, rest = random.uniform(-3.0, 3.0, robot.dof), np.zeros(robot.dof)
    without = model.inverse_dynamics(q, rest, rest)
    total, wrenches = np.zeros(6 * len(robot.joints)), {}
    for k, joint in enumerate(robot.joints):
        link = child_link(name, joint.name)
        wrenches[link] = random.uniform(-3.0, 3.0, 6)
        w = np.zeros_like(total)
        w[6 * k : 6 * k + 6] = wrenches[link]
        total += w
        expected = model.inverse_dynamics(q, rest, rest, {link: wrenches[link]}) - without
        np.testing.assert_allclose(call(program, [q, w]), expected, atol=1e-12, err_msg=link)
    expected = model.inverse_dynamics(q, rest, rest, wrenches) - without
    np.testing.assert_allclose(call(program, [q, total]), expected, atol=1e-12)


def child_link(robot: str, joint: str) -> str:
    """The child link of a joint, as the file says."""
    tree = ElementTree.parse(ROBOTS / f"{robot}.urdf")
    return next(e.find("child").attrib["link"] for e in tree.iter("joint") if e.get("name") == joint)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_says_whose_wrenches_it_takes(language: str) -> None:
    robot = load("two_branch")
    text = emitted(traced(robot, "external_torques"), robot, language)[:3000]
    head = " ".join(word for word in text.split() if word not in ("//", "#", "!", "%"))
    assert "exerts on its environment, in the frame of that link and about its origin" in head
    for k, joint in enumerate(robot.joints, start=1):
        assert f"{k} {child_link('two_branch', joint.name)} (w {6 * k - 5} to {6 * k})" in head


@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "python"])
def test_sign_of_zero_and_of_no_number(language: str, tmp_path: Path) -> None:
    call = CALLS[language](load("rrp"), tmp_path)
    rest = np.zeros(3)
    for a, expected in ((0.0, 0.0), (-0.0, 0.0), (2.0, 1.0), (-2.0, -1.0), (math.nan, math.nan)):
        value = call(every_operation(), [np.array([a, 1.0, 1.0]), rest])
        np.testing.assert_array_equal(value[0, 0], expected)


@pytest.mark.parametrize("name", NAMES)
def test_batches_in_python(name: str) -> None:
    """The samples are the last axis; one sample of an input is that of all samples."""
    robot = load(name)
    model = dyn_core.compile_model(robot, backend="python")
    random = np.random.default_rng(5)
    for function, taken in EVALUATED.items():
        call = python_function(traced(robot, function), robot)
        batch = {vector: random.uniform(-3.0, 3.0, (7, robot.dof)) for vector in taken}
        expected = getattr(model, function)(**batch)
        value = call(*(array.T for array in batch.values()))
        assert isinstance(value, np.ndarray)
        assert value.dtype == float
        close = {"rtol": 1e-12, "atol": 1e-12 * np.abs(expected).max(), "err_msg": function}
        np.testing.assert_allclose(np.moveaxis(value, -1, 0), expected, **close)
        one = call(*(array[2].tolist() for array in batch.values()))
        np.testing.assert_allclose(one, expected[2], **close)
        first, *others = batch.values()
        value = call(first.T, *(array[2].tolist() for array in others))
        expected = getattr(model, function)(first, *(np.tile(array[2], (7, 1)) for array in others))
        np.testing.assert_allclose(np.moveaxis(value, -1, 0), expected, **close)


def test_results_in_python_that_no_input_changes() -> None:
    """A batch is a batch even where its results are numbers."""
    call = python_function(trace("odd", lambda q: [0.0, 2.5], {"q": 3}, (2,)), load("rrp"))
    np.testing.assert_array_equal(call(np.ones((3, 4))), [[0.0] * 4, [2.5] * 4])
    np.testing.assert_array_equal(call([1, 2, 3]), [0.0, 2.5])


@pytest.mark.parametrize("shape", [(4, 3), (), (2,), (3, 4, 1)])
def test_python_refuses_arrays_of_another_shape(shape: tuple[int, ...]) -> None:
    robot = load("rrp")
    call = python_function(traced(robot, "gravity_torques"), robot)
    sentence = f"q: expected the shape (3,) or (3, N), but it has {shape}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call(np.zeros(shape))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", OF_LINK)
def test_functions_of_links(function: str, name: str) -> None:
    """In Python, of the last link on the axes of each other; the other languages compute the same program."""
    robot = load(name)
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
    robot = load("rx90")
    program = link_program(robot, "jacobian", "tool0", "hand")
    text = emitted(program, robot, language)
    name = {"mathematica": "jacobianTool0InHand"}.get(language, "jacobian_tool0_in_hand")
    assert f"{name}{'[' if language == 'mathematica' else ''}" in text.replace(" := proc", "(")
    assert "Jacobian of the frame of link 'tool0', [linear; angular] = J qd, on the axes of" in text
    assert link_program(robot, "link_velocity", "tool0", "base_link").name == "link_velocity_tool0"


def test_octave(tmp_path: Path) -> None:
    octave = tool("octave-cli", "octave")
    robot = load("two_branch")
    expected, lines = [], []
    for program in programs(robot):
        write(tmp_path, program, robot, "matlab")
        vectors = inputs(program)
        expected.append(answer(program, vectors))
        listed = ", ".join(f"[{' '.join(map(repr, vector.tolist()))}]" for vector in vectors)
        lines.append(
            f"x = {program.name}({listed}); printf('%d %d', size(x)); printf(' %.17g', x'); disp('');"
        )
    lines.append("x = every_operation([NaN 1 1], [0 0 0]); y = every_operation([0 1 1], [0 0 0]);")
    lines.append("printf('%g %g', x(1), y(1)); disp('');")
    script = tmp_path / "all_of_them.m"
    script.write_text("\n".join(lines) + "\n")
    *answers, signs = run(octave, "--norc", "--path", tmp_path, script).splitlines()
    assert signs.split() == ["NaN", "0"]
    for line, value in zip(answers, expected, strict=True):
        rows, columns, *numbers = map(float, line.split())
        assert (rows, columns) == (value.shape if value.ndim == 2 else (len(value), 1))
        np.testing.assert_allclose(np.reshape(numbers, value.shape), value, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("function", ["inverse_dynamics", "inertia_matrix"])
@pytest.mark.parametrize("language", ["mathematica", "maple"])
def test_golden_files(language: str, function: str) -> None:
    robot = load("rrp")
    golden = GOLDEN / f"rrp_{function}{LANGUAGES[language][1]}"
    assert emitted(traced(robot, function), robot, language) == golden.read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_says_what_it_is(language: str) -> None:
    robot = load("rrp")
    head = emitted(traced(robot, "inverse_dynamics"), robot, language)[:800]
    for words in ("generated by dyn_core", "'rrp'", "inverse_dynamics", "41 mul, 31 add, 0 div, 2 trig"):
        assert words in head
    assert re.search(r"1 turn +\(rad, .*N m\)\n.*2 lift .*\n.*3 stretch +\(m, m/s, m/s\^2, N\)", head)


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_cannot_leave_the_comment(language: str) -> None:
    text, odd = (ROBOTS / "rrp.urdf").read_text(), "a*/ *) b&#10;c??/\\"
    for name in ("rrp", "arm", "turn"):
        text = text.replace(f'"{name}"', f'"{name}{odd}"')
    robot, plain = dyn_core.load_robot(text), load("rrp")
    for function in ("gravity_torques", "external_torques"):
        lines = emitted(traced(robot, function), robot, language).splitlines()
        assert len(lines) == len(emitted(traced(plain, function), plain, language).splitlines())
    link, root = robot.link_names[2], robot.link_names[0]
    for program in (traced(robot, "external_torques"), link_program(robot, "jacobian", link, root)):
        emitted(program, robot, language)
        head = "\n".join(header(program, robot))
        assert not any(sign in head for sign in ("*", "\\", "??", "&"))
        assert not any(line.startswith("c") for line in head.splitlines())


def test_names_for_namespaces_and_linkers() -> None:
    names = ("rx90", "my arm-2", "3R", "double", "__", "é")
    assert [cpp_namespace(name) for name in names] == [
        *("robot_rx90", "robot_my_arm_2", "robot_3R", "robot_double", "robot", "robot"),
    ]
    assert [linked_name(name, "f") for name in names] == [
        *("rx90_f", "my_arm_2_f", "robot_3R_f", "double_f", "robot_f", "robot_f"),
    ]
    assert fortran_name("rx90", "inertia_matrix") == "rx90_inertia_matrix"
    assert fortran_name("a" * 70, "inertia_matrix") == "a" * 48 + "_inertia_matrix"
    assert fortran_name("3" * 70, "f") == "robot_" + "3" * 55 + "_f"
    assert len(fortran_name("rx90", "f" * 70)) == 63


AWKWARD = (
    *("gamma", "random", "system", "div", "sin", "NAN", "M_PI", "HUGE_VAL", "INFINITY", "int8_t", "double"),
    *(
        "std",
        "linux",
        "array",
        "errno",
        "3R",
        "_Bool",
        "assert",
        "signbit",
        "q",
        "out",
        "__cplusplus",
        "a",
        "A",
        "",
    ),
)


def test_robots_can_have_any_name(tmp_path: Path) -> None:
    """Their files compile, C as C and as C++, and go into one program together."""
    robot = load("rrp")
    headers = (
        "#include <cassert>\n#include <cerrno>\n#include <cmath>\n#include <cstdlib>\n#include <cstdint>\n"
    )
    main, c_sources, fortran_sources = [headers], [], []
    for k, name in enumerate(AWKWARD):
        program, other = traced(robot, "gravity_torques"), replace(robot, name=name)
        for language, ending in (("cpp", "hpp"), ("c", "c"), ("c-header", "h"), ("fortran", "f90")):
            (tmp_path / f"{k}.{ending}").write_text(emitted(program, other, language))
        c_sources.append(tmp_path / f"{k}.c")
        if name != "A":  # Fortran takes it for a
            fortran_sources.append(tmp_path / f"{k}.f90")
        main.append(f'#include "{k}.hpp"\n#include "{k}.h"\n#include "{k}.h"\n')
    main.append("int main() {\nconst std::array<double, 3> q{0.3, -0.2, 0.1};\ndouble out[3];\n")
    for name in AWKWARD:
        main.append(f"{linked_name(name, 'gravity_torques')}(q.data(), out);\n")
        main.append(f"if ({cpp_namespace(name)}::gravity_torques(q)[1] != out[1]) return 1;\n")
    main.append("return out[1] == 0.0;\n}\n")
    (tmp_path / "main.cpp").write_text("".join(main))
    strict = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-ffp-contract=off")
    for k, source in enumerate(c_sources):
        run(tool("cc"), "-std=c99", *strict, "-c", source, "-o", tmp_path / f"{k}.o")
        run(tool("c++"), "-x", "c++", "-std=c++17", *strict, "-c", source, "-o", tmp_path / f"{k}.cpp.o")
    run(tool("c++"), "-std=c++17", *strict, "-c", tmp_path / "main.cpp", "-o", tmp_path / "main.o")
    for ending in ("o", "cpp.o"):
        objects = [tmp_path / f"{k}.{ending}" for k in range(len(AWKWARD))]
        run(tool("c++"), tmp_path / "main.o", *objects, "-o", tmp_path / "main")
        run(tmp_path / "main")
    run(tool("gfortran"), *STRICT, *fortran_sources, "-o", tmp_path / "all.so")


def test_lines_of_fortran_are_short_enough() -> None:
    robot = load("rx90")
    for program in programs(robot):
        assert max(map(len, emitted(program, robot, "fortran").splitlines())) <= 132


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_what_is_not_finite_is_not_written(number: float) -> None:
    program = trace("odd", lambda q: [number, q[0]], {"q": 2}, (2,))
    with pytest.raises(dyn_core.DynError, match="odd of robot 'rrp' is not finite"):
        emitted(program, load("rrp"), "c")


def test_the_command_knows_the_functions() -> None:
    known = kinds(load("rrp"))
    assert set(EMITTED) == {*known, *OF_ELASTIC, *OF_MOTORS, *OF_LINKS, *OF_LAGRANGE, *MODELS, NEWTON_STEP}
    assert {name: tuple(OF_LINKS[name](load("rrp"), "arm", "base").inputs) for name in OF_LINKS} == OF_LINK
    assert all(tuple(known[name].sizes) == taken for name, taken in EVALUATED.items())
    elastic = kinds(dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=ROBOTS / "rx90_elastic.yaml"))
    assert all(tuple(elastic[name].sizes) == taken for name, taken in (OF_ELASTIC | OF_MOTORS).items())
