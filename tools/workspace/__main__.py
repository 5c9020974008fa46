# SPDX-License-Identifier: Apache-2.0
"""Set-up, build, test and demonstration of the workspace: the targets of the Makefile.

It uses only the standard library, and runs with the interpreter of tools/find-python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import environment
import layout
import lock
import packages
import process
import testing
import wheels
from failure import Failure
from layout import BUILD, REQUIREMENTS, ROOT, ROS_VENV, STATE

BENCH_VENV = ROOT / ".venv-bench"
DOCS_VENV = ROOT / ".venv-docs"
FUZZ_VENV = ROOT / ".venv-fuzz"


def _ready() -> tuple[environment.Environment, dict[str, str]]:
    ros = environment.prepare()
    print(f"workspace: {ros.description}", flush=True)
    return ros, packages.build(ros)


def _call(command: Sequence[str | Path], variables: Mapping[str, str]) -> int:
    return process.call(command, variables)


def build(_: Sequence[str]) -> int:
    """Set up and build."""
    _ready()
    print(f"workspace: ready in {layout.INSTALL}")
    return 0


def test(arguments: Sequence[str]) -> int:
    """Build and run the tests; with `--all` also the exhaustive ones."""
    ros, variables = _ready()
    testing.run(ros, variables, exhaustive="--all" in arguments)
    return 0


def demo(arguments: Sequence[str]) -> int:
    """Build and run the demonstration."""
    ros, variables = _ready()
    demonstrate = (ros.python, "-m", "dyn_nodes.demo", "--out", layout.BUILD / "demo")
    return _call([*demonstrate, *arguments], variables)


def lint(arguments: Sequence[str]) -> int:
    """Format, lint, types, spelling."""
    ros = environment.prepare()
    return _call([ros.python, ROOT / "tools" / "lint.py", *arguments], ros.variables)


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks in their own environment, then those of the nodes where ROS 2 is available."""
    python = wheels.prepare_tools(BENCH_VENV, REQUIREMENTS / "bench.txt")
    package = layout.SOURCES / "dyn_core"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(package / "test")))}
    code = _call([python, ROOT / "bench" / "run.py", *arguments], variables)
    try:
        ros, variables = _ready()
    except Failure as problem:
        print(f"workspace: the nodes are not measured: {problem}")
        return code
    return _measure_nodes(ros, variables, arguments) or code


def soak(arguments: Sequence[str]) -> int:
    """Run the nodes for a long time; the first argument is the duration (s)."""
    ros, variables = _ready()
    return _measure_nodes(ros, variables, ["--strict", "--only", "soak", "--soak", *arguments])


def fuzz(arguments: Sequence[str]) -> int:
    """Fuzz the readers and the nodes; the arguments are those of the folder `fuzz`."""
    ros, variables = _ready()
    sources = [layout.SOURCES / name for name in ("dyn_core", "dyn_nodes", "dyn_core/test")]
    path = [*map(str, (*sources, ROOT / "test", ROOT / "fuzz")), variables.get("PYTHONPATH", "")]
    try:
        wheels.prepare_tools(FUZZ_VENV, REQUIREMENTS / "fuzz.txt")
        path += map(str, FUZZ_VENV.glob("lib/python3.*/site-packages"))
    except Failure as problem:
        print(f"workspace: fuzzing without atheris: {problem}")
    changed = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "DYN_CACHE_DIR": str(BUILD / "test-cache")}
    return _call([ros.python, ROOT / "fuzz", *arguments], {**variables, **changed})


def _measure_nodes(
    ros: environment.Environment, variables: Mapping[str, str], arguments: Sequence[str]
) -> int:
    tests = str(layout.SOURCES / "dyn_core" / "test")  # contains the arms for identification
    path = os.pathsep.join(filter(None, (variables.get("PYTHONPATH"), tests)))
    return _call([ros.python, ROOT / "bench" / "run_nodes.py", *arguments], {**variables, "PYTHONPATH": path})


def exact(_: Sequence[str]) -> int:
    """Compare with Pinocchio for all robots of example-robot-data, in the environment of `bench`."""
    python = wheels.prepare_tools(BENCH_VENV, REQUIREMENTS / "bench.txt")
    package = layout.SOURCES / "dyn_core"
    path = os.pathsep.join((str(package), str(package / "test")))
    variables = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return _call([python, ROOT / "bench" / "exact.py"], variables)


def truth(arguments: Sequence[str]) -> int:
    """Identify simulated arms with known parameters many times, in the environment of `bench`."""
    return _study("identification_truth.py", arguments)


def guards(arguments: Sequence[str]) -> int:
    """Identify simulated arms from logs with defects, in the environment of `bench`."""
    return _study("identification_guards.py", arguments)


def _study(name: str, arguments: Sequence[str]) -> int:
    python = wheels.prepare_tools(BENCH_VENV, REQUIREMENTS / "bench.txt")
    package = layout.SOURCES / "dyn_core"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(package / "test")))}
    return _call([python, ROOT / "bench" / name, *arguments], variables)


def docs(_: Sequence[str]) -> int:
    """Build the HTML documentation in its own environment."""
    python = wheels.prepare_tools(DOCS_VENV, REQUIREMENTS / "docs.txt")
    variables = {**os.environ, "PYTHONPATH": str(layout.SOURCES / "dyn_core")}
    target = layout.BUILD / "docs"
    sphinx: list[str | Path] = [
        python,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        ROOT / "docs",
        target,
    ]
    code = _call(sphinx, variables)
    if not code:
        print(f"workspace: documentation in {target / 'index.html'}")
    return code


def pins(_: Sequence[str]) -> int:
    """Resolve requirements/*.in again into the pinned, hashed requirements/*.txt."""
    python = wheels.prepare_tools(STATE / "pins", REQUIREMENTS / "pins.txt")
    groups = {
        "pins.txt": ["pins.in"],
        "workspace.txt": ["ros.in", "base.in", "logs.in", "symbols.in", "test.in", "lint.in"],
        "bench.txt": ["base.in", "bench.in"],
        "docs.txt": ["base.in", "docs.in"],
        "fuzz.txt": ["fuzz.in"],
    }
    for target, sources in groups.items():
        code = process.call(
            [
                *(python, "-m", "uv", "pip", "compile", "--quiet", "--upgrade", "--universal"),
                *("--python-version", "3.10", "--generate-hashes", "--no-emit-index-url"),
                *("--custom-compile-command", "make pins", "--output-file", target, *sources),
            ],
            dict(os.environ),
            directory=REQUIREMENTS,
        )
        if code:
            raise Failure(f"uv could not resolve {' '.join(sources)}; its message is above")
        print(f"workspace: updated requirements/{target}")
    return 0


def clean(_: Sequence[str]) -> int:
    """Remove what was built."""
    packages.clean()
    return 0


def distclean(_: Sequence[str]) -> int:
    """Remove everything that this tool made."""
    packages.clean()
    for directory in (ROS_VENV, BENCH_VENV, DOCS_VENV, FUZZ_VENV):
        shutil.rmtree(directory, ignore_errors=True)
    for path in STATE.iterdir():
        # The lock is kept: this process holds it, and others may be waiting for it.
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path != lock.FILE:
            path.unlink()
    return 0


def shell(_: Sequence[str]) -> int:
    """Replace this process by a shell in the environment of the workspace."""
    with lock.exclusive():
        variables = _ready()[1]
    program = os.environ.get("SHELL", "bash")
    print("workspace: 'exit' leaves this shell", flush=True)
    os.execvpe(program, [program], variables)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    f.__name__: f
    for f in (
        build,
        test,
        demo,
        lint,
        exact,
        bench,
        truth,
        guards,
        soak,
        fuzz,
        docs,
        pins,
        clean,
        distclean,
        shell,
    )
}


def main() -> int:
    """Run one command; every expected problem is reported in one sentence with exit code 1."""
    parser = argparse.ArgumentParser(prog="workspace", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    process.die_with_parent()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = COMMANDS[options.command]
    try:
        layout.prepare()
        if command is shell:
            return command(options.arguments)
        with lock.exclusive():
            return command(options.arguments)
    except Failure as problem:
        print(f"workspace: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("workspace: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
