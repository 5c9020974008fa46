# SPDX-License-Identifier: Apache-2.0
"""All C and C++ that is written runs under the sanitizers for undefined behaviour and addresses."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emitted_programs import ROBOTS, every_operation, load, programs

import dyn_core
from dyn_core.codegen.c_backend import module_source
from dyn_core.codegen.compiler import find_compiler, include_flags
from dyn_core.codegen.identifier import cpp_namespace, linked_name
from dyn_core.codegen.languages.registry import emitted
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.feasibility.nearest_torques import source as search_source
from dyn_core.feasibility.step_program import Layout
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced, tunable
from dyn_core.simulation.integrators import compiled_programs as simulated

SANITIZERS = ("-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all")


def run(*command: str | Path, **variables: str) -> str:
    """What a program that must succeed prints."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cc(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The C compiler, with the sanitizers."""
    folder = tmp_path_factory.mktemp("probe")
    empty = folder / "empty.c"
    empty.write_text("int main(void) { return 0; }")
    command = (*find_compiler().command, *SANITIZERS)
    if subprocess.run([*command, empty, "-o", folder / "empty"], capture_output=True, check=False).returncode:
        pytest.skip(f"{command[0]} has no sanitizers")
    return command


def all_programs(robot: dyn_core.Robot) -> list[Program]:
    """The programs with numbers and with vectors for parameters."""
    symbolic = symbolic_robot(robot)
    tunables = staged([tunable(symbolic, name) for name in kinds(robot)], symbolic.parameters)[1]
    return [*programs(robot), *tunables]


def test_the_loops_over_samples(cc: tuple[str, ...], tmp_path: Path) -> None:
    """One sample, and a batch that ends with a block that is not full.

    The loops are those of larger robots, whose straight lines of code run in the tests of emitted C.
    """
    for number, program in enumerate(all_programs(load("rrp"))):
        source, binary = tmp_path / f"{number}.c", tmp_path / str(number)
        text = module_source(program)
        body = text[: text.index("#define PY_SSIZE_T_CLEAN")]
        loops = text[text.index("static const npy_intp sizes") : text.index("// Whether the arguments")]
        source.write_text(f"{body}\ntypedef long npy_intp;\n{loops}\n{LOOPS}")
        run(*cc, "-march=native", source, "-o", binary, "-lm")
        run(binary)


LOOPS = """
#include <stdlib.h>
#include <stdio.h>
int main(void)
{
    const int samples = 3 * LANES + 1;
    const double *inputs[INPUTS];
    double *out = malloc(sizeof(double) * RESULTS * samples), one[RESULTS];
    double *p = malloc(sizeof(double) * PREPARED);
    for (int k = 0; k < PREPARED; ++k) p[k] = 0.01 * k;
    for (int i = 0; i < INPUTS; ++i) {
        double *data = malloc(sizeof(double) * sizes[i] * samples);
        for (int k = 0; k < sizes[i] * samples; ++k) data[k] = k == 5 ? NAN : k == 7 ? 1e300 : 0.1 * k - i;
        inputs[i] = data;
    }
    compute_batch(inputs, p, out, samples);
    compute_one(inputs, p, one);
    free(p);
    for (int i = 0; i < INPUTS; ++i) free((void *)inputs[i]);
    free(out);
    return 0;
}
"""


@pytest.mark.parametrize("robot", ["rrp", "two_branch"])
def test_emitted_c(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    """Called with arrays that end where the address sanitizer sees it; each is a file of its own."""
    sources, calls, main = [], [], tmp_path / "main.c"
    for program in programs(load(robot)):
        sources.append(tmp_path / f"{program.name}.c")
        sources[-1].write_text(emitted(program, load(robot), "c"))
        sizes = [len(vector) for vector in program.inputs.values()]
        name = linked_name(load(robot).name, program.name)
        declared = ", ".join(["const double *"] * len(sizes) + ["double *"])
        given = ", ".join(f"filled({size})" for size in (*sizes, math.prod(program.shape)))
        calls.append(f"void {name}({declared}); {name}({given});")
    main.write_text(
        "#include <stdlib.h>\n"
        "static double *filled(int n)\n"
        "{ double *x = malloc(n * sizeof *x); while (n--) x[n] = 0.3 * n - 1.0; return x; }\n"
        f"int main(void) {{ {' '.join(calls)} return 0; }}\n"
    )
    run(*cc, *sources, main, "-o", tmp_path / "main", "-lm")
    run(tmp_path / "main", ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.parametrize("robot", ["rrp", "two_branch"])
def test_emitted_cpp(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    """All in one program, as a user includes them."""
    includes, calls = [], []
    for program in programs(load(robot)):
        (tmp_path / f"{program.name}.hpp").write_text(emitted(program, load(robot), "cpp"))
        includes.append(f'#include "{program.name}.hpp"\n')
        vectors = ", ".join(
            f"std::array<double, {len(vector)}>{{0.5, -1.0}}" for vector in program.inputs.values()
        )
        calls.append(f"{cpp_namespace(load(robot).name)}::{program.name}({vectors})[0] == 1e99")
    main = tmp_path / "main.cpp"
    main.write_text(f"{''.join(includes)}int main() {{ return ({') + ('.join(calls)}); }}\n")
    run("c++", "-std=c++17", *SANITIZERS, main, "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_the_module_in_python(cc: tuple[str, ...], tmp_path: Path) -> None:
    """Arguments that fit and that do not, in an interpreter into which the sanitizer is loaded first."""
    robot = dyn_core.load_robot(ROBOTS / "two_branch.urdf")
    symbolic = symbolic_robot(robot)
    prepared = staged([tunable(symbolic, "inverse_dynamics")], symbolic.parameters)[1]
    chosen = [traced(robot, "inverse_dynamics"), traced(robot, "regressor"), every_operation(), *prepared]
    runtime = _runtime(cc)
    for number, program in enumerate(chosen):
        library = _library(cc, program, tmp_path / f"{number}.c")
        sizes = [str(len(vector)) for vector in program.inputs.values()]
        words = (str(len(program.prepared or ())), "x".join(map(str, program.shape)), *sizes)
        said = run(
            *(sys.executable, "-c", CALLS, library, *words),
            LD_PRELOAD=runtime,
            ASAN_OPTIONS="detect_leaks=0",
            PYTHONMALLOC="malloc",
        )
        assert said == "general 6, refused 6\n"


def _runtime(cc: tuple[str, ...]) -> str:
    """The library that an interpreter has to load first."""
    runtime = run(*cc, "-print-file-name=libasan.so").strip()
    if not Path(runtime).is_absolute():
        pytest.skip(f"{cc[0]} has no address sanitizer that can be loaded into Python")
    return runtime


def _library(cc: tuple[str, ...], program: Program, source: Path) -> Path:
    """The module of a program, compiled with the sanitizers."""
    library = source.with_suffix(".so")
    source.write_text(module_source(program))
    run(*cc, "-march=native", "-fPIC", "-shared", "-w", *include_flags(), source, "-o", library, "-lm")
    return library


@pytest.mark.parametrize("robot", ["rrp", "five_bar"])
def test_whole_steps_in_python(cc: tuple[str, ...], robot: str, tmp_path: Path) -> None:
    """Steps of a simulation, by both methods, with arrays that end where the sanitizer sees it."""
    side = ROBOTS / f"{robot}.yaml"
    loaded = dyn_core.load_robot(ROBOTS / f"{robot}.urdf", loops=side if robot == "five_bar" else None)
    made: list[Program] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "compiled_or_none", lambda _robot, programs, _backend: made.extend(programs))
        prepared = simulated.compiled_programs(loaded, "c").prepared(loaded)
    library = _library(cc, made[0], tmp_path / "steps.c")
    simulator = dyn_core.Simulator(loaded)
    known = simulator._programs.passive.known(simulator.state.q, simulator.state.qd)
    bounds = [1.0] * loaded.dof + [-9.0] * loaded.dof + [9.0] * loaded.dof
    bounds += [-9.0] * len(simulator.passive_joint_names) + [9.0] * len(simulator.passive_joint_names)
    vectors = [[*bounds, 1e3, 1e-3, 0.1], prepared.tolist(), simulator.state.q.tolist(), known.tolist()]
    said = run(
        *(sys.executable, "-c", STEPS, library, json.dumps(vectors)),
        LD_PRELOAD=_runtime(cc),
        ASAN_OPTIONS="detect_leaks=0",
        PYTHONMALLOC="malloc",
    )
    assert said == "made 40\n"


def test_the_search_for_torques_in_python(cc: tuple[str, ...], tmp_path: Path) -> None:
    """With memory that is NaN before it is written to: what is not finite has no answer."""
    source, library = tmp_path / "search.c", tmp_path / "search.so"
    source.write_text(search_source())
    run(*cc, "-march=native", "-fPIC", "-shared", "-w", *include_flags(), source, "-o", library, "-lm")
    said = run(
        *(sys.executable, "-c", SEARCHES, library, str(len(Layout.NAMES))),
        *map(str, (Layout.NAMES.index(name) for name in ("wished_qdd", *LIMITED))),
        LD_PRELOAD=_runtime(cc),
        ASAN_OPTIONS="detect_leaks=0:max_malloc_fill_size=1000000:malloc_fill_byte=255",
        PYTHONMALLOC="malloc",
    )
    assert said == "found 80\n"


LIMITED = ("least_torques", "greatest_torques", "least_qdd", "greatest_qdd")
SEARCHES = """
import importlib.machinery, importlib.util, sys
import numpy as np
loader = importlib.machinery.ExtensionFileLoader("dyn_program", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dyn_program", loader))
loader.exec_module(module)
random, found = np.random.default_rng(1), 0
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


STEPS = """
import importlib.machinery, importlib.util, json, sys
import numpy as np
loader = importlib.machinery.ExtensionFileLoader("dyn_program", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dyn_program", loader))
loader.exec_module(module)
bounds, prepared, q, known = (np.array(vector) for vector in json.loads(sys.argv[2]))
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


CALLS = """
import importlib.machinery, importlib.util, sys
import numpy as np
loader = importlib.machinery.ExtensionFileLoader("dyn_program", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dyn_program", loader))
loader.exec_module(module)
shape = tuple(map(int, sys.argv[3].split("x")))
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
