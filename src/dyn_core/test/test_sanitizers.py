# SPDX-License-Identifier: Apache-2.0
"""All generated C and C++ runs under the sanitizers for undefined behaviour and addresses."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from depth import each, some
from emitted_programs import every_operation, programs
from robots import example, loop_robot

import dyn_core
from dyn_core.codegen.c_compiler import find_compiler, include_flags
from dyn_core.codegen.c_source import module_source
from dyn_core.codegen.languages.file_header import cpp_namespace, linked_name
from dyn_core.codegen.languages.registry import emitted
from dyn_core.codegen.traced_program import Program, staged
from dyn_core.feasibility.step_program import Layout
from dyn_core.feasibility.step_program import source as search_source
from dyn_core.model.fixed_base.dynamics_programs import kinds, symbolic_robot, traced, traced_from
from dyn_core.model.tunable_parameters import runnables
from dyn_core.simulation.integrators import compiled_programs as simulated

SANITIZERS = ("-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all")


def run(*command: str | Path, **variables: str) -> str:
    words, env = [str(word) for word in command], {**os.environ, **variables}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cc(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    empty = tmp_path_factory.mktemp("probe") / "empty.c"
    empty.write_text("int main(void) { return 0; }")
    command = (*find_compiler().command, *SANITIZERS)
    probe = [*command, empty, "-o", empty.with_suffix("")]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip(f"{command[0]} has no sanitizers")
    return command


def all_programs(robot: dyn_core.Robot) -> list[Program]:
    symbolic = symbolic_robot(robot)
    tunables = staged([traced_from(symbolic, name) for name in kinds(robot)], symbolic.parameters)[1]
    return [*programs(robot), *tunables]


def test_loops_over_samples(cc: tuple[str, ...], tmp_path: Path) -> None:
    """One sample, and a batch that ends with an incomplete block.

    Larger robots use the same loops; their straight-line code runs in the tests of emitted C.
    """
    chosen = all_programs(example("rrp"))
    for number in each(range(len(chosen)), 0, len(chosen) - 1):
        source, binary = tmp_path / f"{number}.c", tmp_path / str(number)
        text = module_source(chosen[number])
        body = text[: text.index("#define PY_SSIZE_T_CLEAN")]
        loops = text[text.index("static const npy_intp sizes") : text.index("// Whether the arguments")]
        source.write_text(f"{body}\ntypedef long npy_intp;\n{loops}\n{LOOPS}")
        run(*cc, "-march=native", source, "-o", binary, "-lm")
        run(binary)


LOOPS = """#include <stdlib.h>
int main(void)
{
    const int samples = 3 * LANES + 1;
    const double *inputs[INPUTS];
    double one[RESULTS], *out = malloc(sizeof one * samples), *p = malloc(sizeof(double) * PREPARED);
    for (int k = 0; k < PREPARED; ++k) p[k] = 0.01 * k;
    for (int i = 0; i < INPUTS; ++i) {
        double *data = malloc(sizeof(double) * sizes[i] * samples);
        for (int k = 0; k < sizes[i] * samples; ++k) data[k] = k == 5 ? NAN : k == 7 ? 1e300 : 0.1 * k - i;
        inputs[i] = data;
    }
    compute_batch(inputs, p, out, samples);
    compute_one(inputs, p, one);
    for (int i = 0; i < INPUTS; ++i) free((void *)inputs[i]);
    free(p); free(out);
    return 0;
}
"""


@pytest.mark.parametrize("robot", some(["rrp", "two_branch"], "rrp"))
def test_emitted_c(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    """The arrays end where the address sanitizer detects an access; each file is separate."""
    sources, calls, main = [], [], tmp_path / "main.c"
    for program in programs(example(robot)):
        sources.append(tmp_path / f"{program.name}.c")
        sources[-1].write_text(emitted(program, example(robot), "c"))
        sizes = [*map(len, program.inputs.values()), math.prod(program.shape)]
        name = linked_name(example(robot).name, program.name)
        declared = "const double *, " * (len(sizes) - 1) + "double *"
        given = ", ".join(f"filled({size})" for size in sizes)
        calls.append(f"void {name}({declared}); {name}({given});")
    main.write_text(
        "#include <stdlib.h>\n"
        "static double *filled(int n)\n"
        "{ double *x = malloc(n * sizeof *x); while (n--) x[n] = 0.3 * n - 1.0; return x; }\n"
        f"int main(void) {{ {' '.join(calls)} return 0; }}\n"
    )
    run(*cc, *sources, main, "-o", tmp_path / "main", "-lm")
    run(tmp_path / "main", ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.parametrize("robot", some(["rrp", "two_branch"], "rrp"))
def test_emitted_cpp(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    includes, calls = [], []
    for program in programs(example(robot)):
        (tmp_path / f"{program.name}.hpp").write_text(emitted(program, example(robot), "cpp"))
        includes.append(f'#include "{program.name}.hpp"\n')
        sizes = map(len, program.inputs.values())
        vectors = ", ".join(f"std::array<double, {size}>{{0.5, -1.0}}" for size in sizes)
        calls.append(f"{cpp_namespace(example(robot).name)}::{program.name}({vectors})[0] == 1e99")
    main = tmp_path / "main.cpp"
    main.write_text(f"{''.join(includes)}int main() {{ return ({') + ('.join(calls)}); }}\n")
    run("c++", "-std=c++17", *SANITIZERS, main, "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_the_module_in_python(cc: tuple[str, ...], tmp_path: Path) -> None:
    robot = example("two_branch")
    symbolic = symbolic_robot(robot)
    prepared = staged([traced_from(symbolic, "inverse_dynamics")], symbolic.parameters)[1]
    chosen = [traced(robot, "inverse_dynamics"), traced(robot, "regressor"), every_operation(), *prepared]
    for number in each(range(len(chosen)), 0, 2, len(chosen) - 1):
        program = chosen[number]
        library = compiled(cc, module_source(program), tmp_path / f"{number}.c")
        shape, sizes = "x".join(map(str, program.shape)), map(len, program.inputs.values())
        words = (len(program.prepared or ()), shape, *sizes)
        assert in_python(cc, CALLS, library, *words) == "general 6, refused 6\n"


def in_python(
    cc: tuple[str, ...], code: str, library: Path, *words: object, options: str = "detect_leaks=0"
) -> str:
    """Return the output of Python code that uses a library, with the sanitizer loaded first."""
    runtime = run(*cc, "-print-file-name=libasan.so").strip()
    if not Path(runtime).is_absolute():
        pytest.skip(f"{cc[0]} has no address sanitizer that can be loaded into Python")
    variables = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": options, "PYTHONMALLOC": "malloc"}
    return run(sys.executable, "-c", LOADED + code, library, *map(str, words), **variables)


def compiled(cc: tuple[str, ...], text: str, source: Path) -> Path:
    library = source.with_suffix(".so")
    source.write_text(text)
    run(*cc, "-march=native", "-fPIC", "-shared", "-w", *include_flags(), source, "-o", library, "-lm")
    return library


@pytest.mark.parametrize("robot", some(["rrp", "five_bar"], "five_bar"))
def test_whole_steps_in_python(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    loaded = loop_robot(robot) if robot == "five_bar" else example(robot)
    with patch.object(
        simulated, "runnable_programs", side_effect=lambda _, made, __: runnables(made, "python")
    ) as made:
        prepared = simulated.compiled_programs(loaded, "c").prepared(loaded)
    _, steps, *_ = made.call_args.args[1]  # after the program that prepares values
    library = compiled(cc, module_source(steps), tmp_path / "steps.c")
    simulator = dyn_core.Simulator(loaded)
    known = simulator._programs.passive.known(simulator.state.q, simulator.state.qd)
    n, passive = loaded.dof, len(simulator.passive_joint_names)
    bounds = [1.0] * n + [-9.0] * n + [9.0] * n + [-9.0] * passive + [9.0] * passive
    vectors = [[*bounds, 1e3, 1e-3, 0.1], prepared.tolist(), simulator.state.q.tolist(), known.tolist()]
    assert in_python(cc, STEPS, library, json.dumps(vectors)) == "made 40\n"


def test_the_search_for_torques_in_python(cc: tuple[str, ...], tmp_path: Path) -> None:
    """The work memory is NaN before it is written, and input that is not finite has no result."""
    library = compiled(cc, search_source(), tmp_path / "search.c")
    words = (len(Layout.NAMES), *(Layout.NAMES.index(name) for name in ("wished_qdd", *LIMITED)))
    filled = "detect_leaks=0:max_malloc_fill_size=1000000:malloc_fill_byte=255"
    assert in_python(cc, SEARCHES, library, *words, options=filled) == "found 80\n"


LOADED = """import importlib.machinery, importlib.util, json, sys
import numpy as np
loader = importlib.machinery.ExtensionFileLoader("dyn_program", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dyn_program", loader))
loader.exec_module(module)
"""
LIMITED = ("least_torques", "greatest_torques", "least_qdd", "greatest_qdd")
SEARCHES = """random, found = np.random.default_rng(1), 0
vectors, wish, *limits = map(int, sys.argv[2:])
for n in (1, 2, 7, 30):
    for _ in range(20):
        values = np.zeros((vectors + n) * n + 4)
        rows = values[: vectors * n].reshape(vectors, n)
        root = random.normal(size=(n, n))
        A = root @ root.T + 0.1 * np.eye(n)
        values[vectors * n : -4] = A.ravel()
        rows[wish], a = random.normal(size=(2, n))
        for k, vector in zip(limits, (A @ a - 0.3, A @ a + 0.3, a - 0.3, a + 0.3)):
            rows[k] = vector
        answer = module.nearest_torques(values, n, 1e-3)
        found += answer is not None and abs(answer[2] - a).max() <= 0.3 + 1e-9
        values[-5] = np.nan
        assert module.nearest_torques(values, n, 1e-3) is None
print(f"found {found}")
"""
STEPS = """bounds, prepared, q, known = (np.array(vector) for vector in json.loads(sys.argv[2]))
qd, tau, made = np.full(q.shape, 0.1), np.zeros(q.shape), 0
for implicit in (False, True):
    at = (q, qd, known)
    for k in range(20):
        assert len(module.present(bounds, prepared, *at[:2], tau)) == 3
        found = module.step(bounds, prepared, implicit, *at[:2], tau, 1e-6, at[2])
        made += found is not None
        at = found or at
print(f"made {made}")
"""
CALLS = """shape = tuple(map(int, sys.argv[3].split("x")))
sizes = list(map(int, sys.argv[4:]))
p = [np.ones(int(sys.argv[2]))] if int(sys.argv[2]) else []
general = []
function = module.bind(lambda *a, **k: general.append(a), p)
for samples in (None, 0, 1, 7, 8, 9, 33):
    head = () if samples is None else (samples,)
    given = [np.full((*head, size), 0.5) for size in sizes]
    out = np.full((*head, *shape), np.nan)
    module.into(*given, *p, out)
    assert function(*given).shape == out.shape and not np.isnan(out).any()
given, out = [np.full(size, 0.5) for size in sizes], np.empty(shape)
odd = [given[0].tolist(), given[0][:-1].copy(), given[0].astype(np.float32), given[0][None, None]]
for wrong in (*odd, np.repeat(given[0], 2)[::2]):
    assert function(wrong, *given[1:]) is None
function(*given, out)
refused = 0
outs = [out[:-1].copy(), out.astype(np.float32), out.copy()]
outs[2].flags.writeable = False
short = [odd[1], *given[1:], *p, out]
for arguments in ([*given, *p], *([*given, *p, wrong] for wrong in outs), short, []):
    try:
        module.into(*arguments)
    except TypeError:
        refused += 1
print(f"general {len(general)}, refused {refused}")
"""
