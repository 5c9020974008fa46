# SPDX-License-Identifier: Apache-2.0
"""The formulations that the literature compares: equal to one another and to Pinocchio, and counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from properties import examples, given, hypothesis, st
from random_case import assert_close
from random_urdf import EXACT_ANGLES, random_urdf

import dyn_core
from dyn_core.cli import forms
from dyn_core.cli.main import main
from dyn_core.dynamics.mrnea import inertia_and_bias
from dyn_core.formulations.chain import chain_of
from dyn_core.formulations.operation_counts import FORMS, PRODUCTION, Count, as_written, counted
from dyn_core.representations.chains import continued
from dyn_core.representations.forms import DIRECT, EQUATIONS, INVERSE
from dyn_core.representations.growth import Polynomial, polynomial, slope
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.vec3 import Vec3

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
TORQUES, MATRIX, ACCELERATIONS = FORMS
chains = given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 8))


def load(name: str) -> Robot:
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf")


class Case:
    """A chain with revolute and prismatic joints, tilted gravity, and a state that moves and accelerates."""

    def __init__(self, seed: int, joints: int, massless: bool) -> None:
        random = np.random.default_rng(seed)
        gravity: Vec3 = tuple((6.0 * random.normal(size=3)).tolist())
        urdf = random_urdf(seed, joints, massless, chain=True, angles=EXACT_ANGLES)
        robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
        hypothesis.assume(robot.dof > 0)
        self.gravity_0 = robot.gravity_0
        self.chain = chain_of(robot)
        self.q, self.qd, self.qdd = random.uniform(-2.0, 2.0, (3, robot.dof)).tolist()
        oracle = Oracle(urdf, robot.joint_names, gravity)
        self.tau = oracle.inverse_dynamics(self.q, self.qd, self.qdd, {})
        self.H = oracle.inverse_dynamics(self.q, self.qd, [0.0] * robot.dof, {})
        self.A = oracle.inertia_matrix(self.q)
        A, H = inertia_and_bias(robot, self.q, self.qd, robot.gravity_0, {})
        self.ours = [*np.array(A).flat, *H]


@examples(60)
@chains
def test_torques_are_those_of_pinocchio(seed: int, joints: int) -> None:
    case = Case(seed, joints, massless=True)
    for form in INVERSE.values():
        assert_close(form(case.chain, case.q, case.qd, case.qdd, case.gravity_0), case.tau)


@examples(60)
@chains
def test_matrix_and_bias_are_those_of_pinocchio_and_of_models(seed: int, joints: int) -> None:
    case = Case(seed, joints, massless=True)
    for form in EQUATIONS.values():
        A, H = form(case.chain, case.q, case.qd, case.gravity_0)
        assert_close(A, case.A)
        assert_close(H, case.H)
        assert_close([*np.array(A).flat, *H], case.ours)


@examples(60)
@chains
def test_accelerations_undo_the_torques(seed: int, joints: int) -> None:
    case = Case(seed, joints, massless=False)
    hypothesis.assume(np.linalg.cond(case.A) < 1e5)
    for form in DIRECT.values():
        assert_close(form(case.chain, case.q, case.qd, case.tau.tolist(), case.gravity_0), case.qdd)


def test_what_is_no_chain_is_refused() -> None:
    with pytest.raises(
        dyn_core.DynError, match="'two_branch' is no chain: joint 'right_shoulder' is a branch"
    ):
        chain_of(load("two_branch"))
    with pytest.raises(dyn_core.DynError, match="robot 'r' has no joints"):
        chain_of(dyn_core.load_robot("<robot name='r'><link name='a'/></robot>"))


def counts(what: str, name: str, most: int) -> list[Count]:
    return [counted(what, name, n, load("rx90")) for n in range(1, most + 1)]


def written(what: str, name: str, most: int = 9) -> list[int]:
    return [as_written(FORMS[what][name], n).total for n in range(1, most + 1)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Waters", Polynomial(2, 188.0)),
        ("Lagrangian, 4 x 4", Polynomial(1, 1231.0)),
        ("Lagrangian, 3 x 3", Polynomial(1, 485.0)),
        ("angular velocity", Polynomial(2, 12.0)),
        ("Newton-Euler", Polynomial(1, 228.0)),
    ],
)
def test_growth_of_torques(name: str, expected: Polynomial) -> None:
    assert polynomial(written(TORQUES, name)[3:]) == expected


def test_growth_of_the_sum_of_uicker_and_kahn() -> None:
    """Of fourth order, and far over 100 000 operations for six joints (Silver 1981, sec. 1.2)."""
    found = written(TORQUES, "Uicker-Kahn")
    assert polynomial(found[1:]) == Polynomial(4, 57.5)
    assert found[5] > 1e5


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_matrix_is_of_second_order(name: str) -> None:
    found = polynomial(written(MATRIX, name)[3:])
    assert found is not None
    assert found.degree == 2


def test_models_need_fewer_operations() -> None:
    """Of each algorithm, the text that models are traced from leaves fewer operations than the plain one."""
    for what in FORMS:
        for model_name in PRODUCTION[what]:
            model = counts(what, model_name, 3)[2]
            assert model.written is None
            plain = counts(what, model_name.removeprefix("of models, "), 3)[2]
            assert model.general.total < plain.general.total
            assert model.arm.total < plain.arm.total


def test_tracing_makes_matrices_of_both_sizes_the_same() -> None:
    """What 4 x 4 matrices hold beside rotations and positions is 0 and 1, which tracing leaves out."""
    large, small = (counts(TORQUES, f"Lagrangian, {size}", 4) for size in ("4 x 4", "3 x 3"))
    assert [(x.general, x.arm) for x in large] == [(x.general, x.arm) for x in small]
    assert [x.written for x in large] != [x.written for x in small]


def test_the_pass_against_walker_orin_and_composite_links() -> None:
    """The pass takes fewer than n + 1 recursions, and more than composite links, from two joints on."""
    for n in range(2, 13):
        orin, one, links = (counted(MATRIX, name, n, load("rx90")) for name in EQUATIONS)
        assert links.written.total < one.written.total < orin.written.total
        orin, by_pass, by_links = (counted(MATRIX, name, n, load("rx90")) for name in PRODUCTION[MATRIX])
        assert by_links.general.total < by_pass.general.total < orin.general.total
        assert by_links.arm.total < by_pass.arm.total
        assert by_pass.arm.total < orin.arm.total or n == 2


TITLES = ("as written", "traced, all constants symbols", "traced, rx90")
LONG = {"Uicker-Kahn": 8}
"""Joints up to which a formulation is counted here that takes long for more; beyond, the polynomial holds."""


@pytest.fixture(scope="module")
def page() -> str:
    path = ROBOTS.parents[1] / "docs" / "representations.md"
    if not path.is_file():
        pytest.skip("the pages are not beside this package")
    return path.read_text()


def row_of(page: str, what: str, title: str, name: str) -> tuple[list[int], str]:
    """The counts for 1 to 12 joints that the page has, and the growth."""
    part = page.split(f"### {what}, {title}\n")[1].split("\n#")[0]
    (row,) = (line for line in part.splitlines() if line.startswith(f"| {name} |"))
    *cells, growth = row.strip("| ").split(" | ")[1:]
    return [int(cell) for cell in cells], growth


@pytest.mark.parametrize(
    ("what", "name"), [(what, name) for what in FORMS for name in (*FORMS[what], *PRODUCTION[what])]
)
def test_the_page_has_what_is_counted(page: str, what: str, name: str) -> None:
    """All tables of docs/representations.md."""
    most = LONG.get(name, 12)
    for title, column in zip(TITLES, zip(*counts(what, name, most), strict=True), strict=True):
        if column[0] is None:
            assert f"| {name} |" not in page.split(f"### {what}, {title}\n")[1].split("\n#")[0]
            continue
        found, growth = row_of(page, what, title, name)
        assert len(found) == 12
        assert found[:most] == [x.total for x in column]
        assert growth == forms.growth(found)
        if title != "traced, rx90":
            assert polynomial(found[3:]) is not None


def test_the_page_has_the_ratios_of_the_pass(page: str) -> None:
    part = page.split("## mRNEA in models\n")[1]
    for title, of in (("all constants symbols", "traced, all constants symbols"), ("rx90", "traced, rx90")):
        orin, by_pass, by_links = (row_of(page, MATRIX, of, name)[0] for name in PRODUCTION[MATRIX])
        for other, name in ((orin, "Walker-Orin 1"), (by_links, "composite links")):
            (row,) = (x for x in part.splitlines() if x.startswith(f"| pass / {name}, {title} |"))
            expected = [f"{a / b:.2f}" for a, b in zip(by_pass[1:], other[1:], strict=True)]
            assert row.strip("| ").split(" | ")[1:] == expected


def test_the_page_says_of_the_papers_what_the_tables_say(page: str) -> None:
    """The figures beside the claims of Silver, and of Kvrgic and Vidakovic."""
    said = page.split("## What holds of what the papers say\n")[1]
    kahn, large, small, newton = (
        row_of(page, TORQUES, "as written", name)[0][5]
        for name in ("Uicker-Kahn", "Lagrangian, 4 x 4", "Lagrangian, 3 x 3", "Newton-Euler")
    )
    orin, one, links = (row_of(page, MATRIX, "as written", name)[0] for name in EQUATIONS)
    ratios = [b / a for a, b in zip(links[1:], one[1:], strict=True)]
    for claim, found in (
        ("it takes well over 100 000 additions and multiplications", f"{kahn // 1000} {kahn % 1000:03}"),
        ("as many as Newton-Euler", f"{large / newton:.1f} times"),
        ("fewer than eq. (1.2)", f"{kahn / large:.0f} times"),
        ("3 x 3 matrices save a factor of 2 more", f"{large / small:.1f}"),
        ("come within 2.5 times of Newton-Euler", f"{small / newton:.1f} times"),
        ("is more efficient", f"{orin[5] / one[5]:.1f} times fewer operations for 6 joints"),
        ("is more efficient", f"{orin[11] / one[11]:.1f} times for 12"),
        ("most efficient methods", f"{min(ratios):.1f} to {max(ratios):.1f} times as written"),
    ):
        (row,) = (line for line in said.splitlines() if line.startswith("|") and claim in line)
        assert found in row


def test_an_arm_goes_on_with_itself() -> None:
    arm = load("rrp")
    longer = continued(arm, 8)
    assert longer.dof == 8
    assert [joint.sigma for joint in longer.joints] == [*(joint.sigma for joint in arm.joints)] * 2 + [0, 0]
    assert longer.bodies[4] == longer.bodies[1] == arm.bodies[1]
    assert continued(arm, 2).joints[1].mdh == arm.joints[1].mdh


def test_growth_of_numbers() -> None:
    assert polynomial([2 * n**3 - n for n in range(7)]) == Polynomial(3, 2.0)
    assert polynomial([5] * 4) == Polynomial(0, 5.0)
    assert polynomial([n**3 for n in range(5)]) is None
    assert slope(3, 24) == 3.0


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(forms, "JOINTS", range(1, 3))
    monkeypatch.setattr(forms, "growth", lambda totals: f"{len(totals)} counted")
    path = str(ROBOTS / "rrp.urdf")
    assert main(["counts", path, "--forms", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot"] == "rrp"
    table = answer["operations"]
    assert {what: set(names) for what, names in table.items()} == {
        what: {*FORMS[what], *PRODUCTION[what]} for what in FORMS
    }
    expected = counted(TORQUES, "Newton-Euler", 2, load("rrp"))
    found = table[TORQUES]["Newton-Euler"]
    assert [found[field][1] for field in Count._fields] == [list(x) for x in expected]
    assert main(["counts", path, "--forms"]) == 0
    printed = capsys.readouterr().out
    assert f"{TORQUES}, traced, 'rrp'" in printed
    row = next(line for line in printed.splitlines() if line.startswith("Newton-Euler"))
    assert row.split()[1:] == ["178", "406", "2", "counted"]


@pytest.mark.parametrize(
    ("robot", "options", "error"),
    [
        ("two_branch", [], "is no chain"),
        ("rrp", ["--link", "arm"], "--forms counts no functions of links"),
        ("rx90", ["--base-parameters"], "has first moments and no mass"),
    ],
)
def test_what_the_command_refuses(
    robot: str, options: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["counts", str(ROBOTS / f"{robot}.urdf"), "--forms", *options]) == 1
    assert error in capsys.readouterr().err
