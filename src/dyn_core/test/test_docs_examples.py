# SPDX-License-Identifier: Apache-2.0
"""What the pages on identification and loops show runs as it is, one after the other, where they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from string import Template

import numpy as np
import pytest
from planar_urdf import planar_urdf

import dyn_core
from dyn_core import Assessment, FeasibleStep, Payload
from dyn_core.cli.main import main
from dyn_core.control.trajectories.trajectory_planning import trajectory_points

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def examples(page: str, language: str) -> list[str]:
    """Answer the code blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def maker() -> str:
    """Answer the example that makes the logs of all others."""
    (found,) = (code for code in examples("logs.md", "python") if "np.savetxt" in code)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that has the robots and the logs."""
    if not (DOCS / "logs.md").is_file():
        pytest.skip("the pages are not beside this package")
    found = tmp_path_factory.mktemp("examples")
    (found / "config").symlink_to(ROOT / "config")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        exec(maker(), {})
    assert sorted(path.name for path in found.glob("*.csv")) == ["run_7.csv", "run_8.csv", "run_9.csv"]
    return found


@pytest.fixture(scope="module")
def identified(place: Path) -> Path:
    """That directory, with what the commands of identify.md write into it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert commands("identify.md") >= 5
    return place


def commands(page: str) -> int:
    """Run the commands of a page that begin with dyn; answer how many there were."""
    variables: dict[str, str] = {"PWD": str(Path.cwd())}
    run = 0
    for line in "".join(examples(page, "sh")).splitlines():
        words = shlex.split(Template(line).safe_substitute(variables), comments=True)
        if words[0] == "export":
            variables.update([words[1].split("=", 1)])
        elif words[0] == "dyn":
            assert main(words[1:]) == 0, line
            run += 1
    return run


def python(page: str) -> dict[str, object]:
    """Run the code of a page, and answer its names."""
    names: dict[str, object] = {}
    for code in examples(page, "python"):
        if code != maker():
            exec(compile(code, page, "exec"), names)
    return names


def test_logs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert commands("logs.md") == 2
    python("logs.md")


def test_lagrange(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sympy", reason="SymPy is not installed")
    monkeypatch.chdir(place)
    assert commands("lagrange.md") == 4


def test_what_the_page_of_the_lagrange_form_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Entries of a planar arm, all of them, and some of the robot `rrp`."""
    pytest.importorskip("sympy", reason="SymPy is not installed")
    if not (DOCS / "lagrange.md").is_file():
        pytest.skip("the pages are not beside this package")
    planar = tmp_path / "planar.urdf"
    planar.write_text(planar_urdf(2))
    blocks = re.findall(
        r"(?:^    [ABCQ]\([\d,]+\) = .*\n)+", (DOCS / "lagrange.md").read_text(), re.MULTILINE
    )
    of_planar, of_rrp = ([line.strip() for line in block.splitlines()] for block in blocks)

    def entries(*command: str) -> list[str]:
        assert main(["lagrange", *command, "--expanded"]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if re.match(r"[ABCQ]\(", line)]

    assert of_planar == entries(str(planar), "--gravity", "0", "-9.81", "0")
    printed = entries(str(ROOT / "config" / "robots" / "rrp.urdf"))
    assert of_rrp == [line for line in printed if line in of_rrp]
    assert len(of_rrp) == 2


def test_identify(identified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(identified)
    assert (identified / "arm" / "report.html").is_file()
    assert (identified / "payload.yaml").is_file()
    python("identify.md")


def test_loops(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(place)
    assert commands("loops.md") == 7
    printed = capsys.readouterr().out
    (shown,) = examples("loops.md", "text")
    for line in shown.splitlines():
        assert line == "..." or line in printed
    names = python("loops.md")
    acceleration, passive = names["acceleration"], names["passive"]
    assert isinstance(acceleration, np.ndarray)
    np.testing.assert_allclose(acceleration, names["qdd"], atol=1e-9)
    assert isinstance(passive, dict)
    assert passive["elbow"] == pytest.approx(-0.2)


def test_identification(identified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(identified)
    payload = python("identification.md")["payload"]
    assert isinstance(payload, Payload)
    assert payload.mass == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(payload.centre, (0.0, 0.0, 0.05), atol=0.01)


def test_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (DOCS / "parallel.md").is_file():
        pytest.skip("the pages are not beside this package")
    monkeypatch.chdir(ROOT)
    assert commands("parallel.md") == 3
    names = python("parallel.md")
    np.testing.assert_allclose(names["Vd_again"], names["Vd"], atol=1e-9)
    np.testing.assert_allclose(names["J"] @ names["qd"], names["V"], atol=1e-12)
    base = names["base"]
    assert (len(base.standard_names), len(base.kept), base.of_platform) == (190, 88, 10)
    assert base.expressions[0].startswith("XXR6 = XX6 + 0.1296*M12 + 0.1885*M15 + ")


def test_feasible(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert commands("feasible.md") == 4
    assert (place / "sizing.html").is_file()
    names = python("feasible.md")
    step, found = names["step"], names["found"]
    assert isinstance(step, FeasibleStep)
    assert not step.feasible
    assert 0.0 < step.part < 1.0
    assert isinstance(found, Assessment)
    assert found.factor is not None


def test_elastic_joints(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    joints = [f"joint_{k}" for k in range(1, 7)]
    points = trajectory_points(joints, joints, [0.0, 1.0], [[0.1] * 6, [0.3] * 6])
    zero = np.zeros(12)
    names = {"dyn": dyn_core, "q": zero, "qd": zero, "tau": zero, "qdd_rigid": np.zeros(6), "points": points}
    for code in examples("elastic.md", "python"):
        exec(code, names)
    assert names["found"].shape == (12,)
    assert names["simulator"].state.time == 1e-3
