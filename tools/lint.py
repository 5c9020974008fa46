# SPDX-License-Identifier: Apache-2.0
"""The static checks of `make lint`, each by name.

`python tools/lint.py` runs all of them, `python tools/lint.py types` only one; the exit code is 1 if a check
finds something.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ("src", "test", "fuzz", "bench", "examples", "tools", "launch", "docs", "conftest.py")
TEXT = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "Makefile",
    "config",
    "requirements",
    *PYTHON,
)
CACHE = ROOT / "build" / "lint"

CHECKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "style": (("ruff", "check", "--quiet", *PYTHON),),
    "format": (("ruff", "format", "--quiet", "--diff", *PYTHON),),
    "types": (
        ("mypy", "-p", "dyn_core", "-p", "dyn_nodes"),
        ("mypy", "tools/workspace/__main__.py", "tools/lint.py"),
        ("mypy", "tools/seeded_faults/__main__.py"),
    ),
    "spelling": (("codespell_lib", *TEXT),),
}


def missing_program(check: str) -> str | None:
    """Return the program that a check needs and this interpreter lacks, or None."""
    programs = (command[0] for command in CHECKS[check])
    return next((program for program in programs if importlib.util.find_spec(program) is None), None)


def run(check: str) -> int:
    """Run one check and return 0 if it finds nothing."""
    if (program := missing_program(check)) is not None:
        print(
            f"lint: {check} was not checked: {sys.executable} lacks {program}; "
            "install with 'python3 -m pip install -r requirements/lint.in'"
        )
        return 1
    environment = {
        **os.environ,
        "MYPY_CACHE_DIR": str(CACHE / "mypy"),
        "RUFF_CACHE_DIR": str(CACHE / "ruff"),
    }
    codes = [
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=environment, check=False).returncode
        for command in CHECKS[check]
    ]
    return int(any(codes))


def main() -> int:
    """Run the checks named on the command line, or all."""
    wanted = sys.argv[1:] or list(CHECKS)
    unknown = [name for name in wanted if name not in CHECKS]
    if unknown:
        print(f"lint: there is no check '{unknown[0]}': choose from {', '.join(CHECKS)}")
        return 2
    failed = [name for name in wanted if run(name)]
    print(f"lint: not in order: {', '.join(failed)}" if failed else f"lint: {', '.join(wanted)} in order")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
