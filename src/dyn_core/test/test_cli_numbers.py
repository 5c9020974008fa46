# SPDX-License-Identifier: Apache-2.0
"""Odd but legal numbers in every command: a result or a sentence, and no warning of a library on stderr."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from log_case import write_csv
from originals import parameters
from robots import ROBOTS

from dyn_core.cli.main import COMMANDS, main

NAMES = ("turn", "lift", "stretch")
OURS = "dyn: "
OF_LIBRARIES = re.compile(r"Warning|encountered|divide by zero|ill.conditioned|singular matrix|invalid value")

Edit = Callable[[str], str]


def _numbers(element: str, attribute: str, value: str) -> Edit:
    """Return an edit that sets an attribute of all elements of a kind."""
    return lambda text: re.sub(rf'(<{element}\b[^>]*\b{attribute}=")[^"]*', rf"\g<1>{value}", text)


def _all(*edits: Edit) -> Edit:
    def edited(text: str) -> str:
        for edit in edits:
            text = edit(text)
        return text

    return edited


ROBOT_EDITS: dict[str, Edit] = {
    "as it is": _all(),
    "heavy": _all(
        _numbers("mass", "value", "1e30"), *(_numbers("inertia", i, "1e30") for i in ("ixx", "iyy", "izz"))
    ),
    "light": _all(
        _numbers("mass", "value", "1e-300"),
        *(_numbers("inertia", i, "1e-320") for i in ("ixx", "iyy", "izz")),
    ),
    "massless": _all(
        _numbers("mass", "value", "0"), *(_numbers("inertia", i, "0") for i in ("ixx", "iyy", "izz"))
    ),
    "long": _numbers("origin", "xyz", "1e9 -1e9 1e-9"),
    "with odd limits": _all(_numbers("limit", "effort", "1e-300"), _numbers("limit", "velocity", "1e300")),
    "with odd friction": _all(
        _numbers("dynamics", "damping", "1e300"), _numbers("dynamics", "friction", "1e-320")
    ),
}
MOTIONS: dict[str, tuple[float, float]] = {
    "usual": (0.1, 1.0),
    "huge": (1e29, 1.0),
    "tiny": (1e-310, 1.0),
    "constant": (0.0, 1.0),
    "slow": (0.1, 1e-6),
}
"""Amplitude (rad or m), and how fast the time passes."""
VECTORS = ("0.1 0.2 0.1", "1e300 1e300 1e300", "1e-320 0 -0.0", "1e9 1e15 1e155")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Robots and tables of these names."""
    made = tmp_path_factory.mktemp("odd")
    text = (ROBOTS / "rrp.urdf").read_text()
    for name, edit in ROBOT_EDITS.items():
        (made / f"{name}.urdf").write_text(edit(text))
    (made / "parameters.yaml").write_bytes(parameters()[0])
    t = np.arange(300) / 100.0
    for name, (amplitude, speed) in MOTIONS.items():
        phase = np.add.outer(6.0 * t, np.arange(3.0))
        columns = [t / speed]
        with np.errstate(all="ignore"):
            columns += list((amplitude * np.sin(phase)).T)
            columns += list((6.0 * speed * amplitude * np.cos(phase)).T)
            columns += list((amplitude * np.cos(phase)).T)
        kinds = ("position", "velocity", "effort")
        names = ["time", *(f"{kind}.{joint}" for kind in kinds for joint in NAMES)]
        write_csv(made / f"{name}.csv", np.array(columns).T, names)
        write_csv(made / f"{name}.motion.csv", np.array(columns).T[:, :7], names[:7])
        write_csv(made / f"{name}.effort.csv", np.array(columns).T[:, [0, 7, 8, 9]], ["time", *NAMES])
    return made


def _of_robots(command: str, *words: str) -> Iterator[list[str]]:
    for name in ROBOT_EDITS:
        yield [command, f"{{}}/{name}.urdf", *words]


def _calls() -> Iterator[list[str]]:
    """Yield command lines, with {} for the folder."""
    for command in ("mdh", "loops", "counts", "base", "lagrange", "check", "info"):
        yield from _of_robots(command)
    yield from _of_robots("emit", "--function", "inverse_dynamics", "--lang", "c")
    yield from _of_robots("parallel", "--platform", "slider")
    for function in ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "regressor"):
        yield from _of_robots("eval", function, "--q", "0.1", "0.2", "0.1", "--qd", "1", "1", "1")
        for vector in VECTORS:
            yield ["eval", "{}/as it is.urdf", function, "--q", *vector.split(), "--qd", *vector.split()]
    quick = ["--duration", "0.02", "-o", "{}/out.csv"]
    yield from _of_robots("simulate", *quick)
    for vector in VECTORS:
        yield ["simulate", "{}/as it is.urdf", *quick, "--qd", *vector.split()]
    for name in MOTIONS:
        yield ["simulate", "{}/as it is.urdf", *quick, "--effort", f"{{}}/{name}.effort.csv"]
        yield ["feasible", "{}/as it is.urdf", "--trajectory", f"{{}}/{name}.motion.csv"]
        yield ["log", f"{{}}/{name}.csv"]
        log = ["--log", f"{{}}/{name}.csv", "--quiet"]
        yield ["identify", "{}/as it is.urdf", *log, "-o", f"{{}}/{name}", "--friction", "standard"]
        yield ["predict", "{}/as it is.urdf", *log, "--parameters", "{}/parameters.yaml", "-o", "{}/out.csv"]
        yield ["payload", "{}/as it is.urdf", *log, "--unloaded", "{}/usual.csv", "--link", "slider"]
    yield from _of_robots("feasible", "--trajectory", "{}/usual.motion.csv")
    search = ["--tries", "1", "--iterations", "1", "--quiet"]
    yield from _of_robots("excite", *search)
    for duration in ("5.01", "1e3"):
        yield ["excite", "{}/as it is.urdf", *search, "--duration", duration]
    yield ["excite", "{}/as it is.urdf", *search, "--velocity-scale", "1e-300"]
    yield ["excite", "{}/as it is.urdf", *search, "--acceleration", "turn=1e-300"]
    yield ["cache"]


CALLS = list(_calls())


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_no_warning_of_a_library_reaches_the_user(
    words: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(record=True) as outside:
        warnings.simplefilter("always")
        code = main([word.format(folder) if "{}" in word else word for word in words])
    told = capfd.readouterr().err.splitlines()
    assert [line for line in told if not line.startswith(OURS) or OF_LIBRARIES.search(line)] == []
    assert [str(warning.message) for warning in outside] == []
    assert code in (0, 1)


def test_each_command_is_tried() -> None:
    assert {words[0] for words in CALLS} == set(COMMANDS)
