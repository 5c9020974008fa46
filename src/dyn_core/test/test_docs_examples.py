# SPDX-License-Identifier: Apache-2.0
"""The examples of the documentation run as printed, in order, in a directory with the logs that they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pytest
from planar_chains import planar_urdf

import dyn_core
from dyn_core import Assessment, FeasibleStep, Payload
from dyn_core.cli.main import main
from dyn_core.control.trajectories.trajectory_planning import trajectory_points

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def examples(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def needs(page: str) -> None:
    if not (DOCS / page).is_file():
        pytest.skip("the pages are not beside this package")


def maker() -> str:
    """Return the example that makes the logs for all others."""
    (found,) = (code for code in examples("logs.md", "python") if "np.savetxt" in code)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, with the logs."""
    needs("logs.md")
    found = tmp_path_factory.mktemp("examples")
    (found / "config").symlink_to(ROOT / "config")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        exec(maker(), {})
        assert sorted(path.name for path in found.glob("*.csv")) == ["run_7.csv", "run_8.csv", "run_9.csv"]
        yield found


@pytest.fixture(scope="module")
def identified(place: Path) -> Path:
    assert commands("identify.md") >= 5
    return place


def commands(page: str) -> int:
    """Run the commands of a page that begin with dyn; return their number."""
    variables, run = {"PWD": str(Path.cwd())}, 0
    for line in "".join(examples(page, "sh")).splitlines():
        words = shlex.split(Template(line).safe_substitute(variables), comments=True)
        if words[0] == "export":
            variables.update([words[1].split("=", 1)])
        elif words[0] == "dyn":
            assert main(words[1:]) == 0, line
            run += 1
    return run


def python(page: str) -> dict[str, Any]:
    """Run the Python code of a page, and return its names."""
    names: dict[str, Any] = {}
    for code in examples(page, "python"):
        if code != maker():
            exec(compile(code, page, "exec"), names)
    return names


def test_logs(place: Path) -> None:
    assert commands("logs.md") == 2
    python("logs.md")
    pytest.importorskip("sympy", reason="SymPy is not installed")
    assert commands("lagrange.md") == 4


def test_results_on_the_page_of_the_lagrange_form(tmp_path: Path, capsys) -> None:
    """All entries for a planar arm, and some for the robot `rrp`."""
    pytest.importorskip("sympy", reason="SymPy is not installed")
    needs("lagrange.md")
    planar = tmp_path / "planar.urdf"
    planar.write_text(planar_urdf(2))
    page = (DOCS / "lagrange.md").read_text()
    blocks = re.findall(r"(?:^    [ABCQ]\([\d,]+\) = .*\n)+", page, re.MULTILINE)
    of_planar, of_rrp = ([line.strip() for line in block.splitlines()] for block in blocks)

    def entries(*command: str) -> list[str]:
        assert main(["lagrange", *command, "--expanded"]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if re.match(r"[ABCQ]\(", line)]

    assert of_planar == entries(str(planar), "--gravity", "0", "-9.81", "0")
    printed = entries(str(ROOT / "config" / "robots" / "rrp.urdf"))
    assert of_rrp == [line for line in printed if line in of_rrp]
    assert len(of_rrp) == 2


def test_identification(identified: Path) -> None:
    assert (identified / "arm" / "report.html").is_file()
    assert (identified / "payload.yaml").is_file()
    python("identify.md")
    payload = python("identification.md")["payload"]
    assert isinstance(payload, Payload)
    assert payload.mass == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(payload.centre, (0.0, 0.0, 0.05), atol=0.01)


def test_loops(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands("loops.md") == 7
    printed = capsys.readouterr().out
    (shown,) = examples("loops.md", "text")
    for line in shown.splitlines():
        assert line == "..." or line in printed
    names = python("loops.md")
    np.testing.assert_allclose(names["acceleration"], names["qdd"], atol=1e-9)
    assert names["passive"]["elbow"] == pytest.approx(-0.2)


def test_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("parallel.md")
    monkeypatch.chdir(ROOT)
    assert commands("parallel.md") == 3
    names = python("parallel.md")
    np.testing.assert_allclose(names["Vd_again"], names["Vd"], atol=1e-9)
    np.testing.assert_allclose(names["J"] @ names["qd"], names["V"], atol=1e-12)
    base = names["base"]
    assert (len(base.standard_names), len(base.kept), base.of_platform) == (190, 88, 10)
    assert base.expressions[0].startswith("XXR6 = XX6 + 0.1296*M12 + 0.1885*M15 + ")


def test_feasible(place: Path) -> None:
    assert commands("feasible.md") == 4
    assert (place / "sizing.html").is_file()
    names = python("feasible.md")
    assert isinstance(step := names["step"], FeasibleStep)
    assert not step.feasible
    assert 0.0 < step.part < 1.0
    assert isinstance(found := names["found"], Assessment)
    assert found.factor is not None


def test_elastic_joints(place: Path) -> None:
    joints = [f"joint_{k}" for k in range(1, 7)]
    points = trajectory_points(joints, joints, [0.0, 1.0], [[0.1] * 6, [0.3] * 6])
    zero = np.zeros(12)
    names = {"dyn": dyn_core, "q": zero, "qd": zero, "tau": zero, "qdd_rigid": np.zeros(6), "points": points}
    for code in examples("elastic.md", "python"):
        exec(code, names)
    assert names["found"].shape == (12,)
    assert names["simulator"].state.time == 1e-3
