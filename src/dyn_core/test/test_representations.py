# SPDX-License-Identifier: Apache-2.0
"""Formulations from the literature agree with each other and with Pinocchio, and their operation counts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from depth import TIMES, each
from pinocchio_oracle import Oracle
from properties import examples, given, hypothesis, st
from random_case import assert_close
from random_urdf import EXACT_ANGLES, random_urdf
from refusals import refused, refused_command
from robots import ROBOTS, example

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import inertia_and_bias
from dyn_core.cli.main import main
from dyn_core.cli.robot_commands import counts as forms
from dyn_core.formulations import operation_counts
from dyn_core.formulations.chain import chain_of, continued
from dyn_core.formulations.operation_counts import EQUATIONS, FORMS, PRODUCTION, counted, polynomial
from dyn_core.symbolic.vec3 import Vec3

TORQUES, MATRIX, _ = FORMS
chains = given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 8))


class Case:
    """A chain with revolute and prismatic joints, tilted gravity, and a general state."""

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


@examples(60, 20)
@chains
def test_torques_matrix_and_bias_agree_with_pinocchio_and_models(seed: int, joints: int) -> None:
    case = Case(seed, joints, massless=True)
    for form in operation_counts.INVERSE.values():
        assert_close(form(case.chain, case.q, case.qd, case.qdd, case.gravity_0), case.tau)
    for form in EQUATIONS.values():
        A, H = form(case.chain, case.q, case.qd, case.gravity_0)
        assert_close(A, case.A)
        assert_close(H, case.H)
        assert_close([*np.array(A).flat, *H], case.ours)


@examples(60, 20)
@chains
def test_accelerations_invert_the_torques(seed: int, joints: int) -> None:
    case = Case(seed, joints, massless=False)
    hypothesis.assume(np.linalg.cond(case.A) < 1e5)
    for form in operation_counts.DIRECT.values():
        assert_close(form(case.chain, case.q, case.qd, case.tau.tolist(), case.gravity_0), case.qdd)


def test_chains_can_be_extended_and_other_robots_are_refused() -> None:
    arm = example("rrp")
    longer = continued(arm, 8)
    assert longer.dof == 8
    assert [joint.sigma for joint in longer.joints] == [*(joint.sigma for joint in arm.joints)] * 2 + [0, 0]
    assert longer.bodies[4] == longer.bodies[1] == arm.bodies[1]
    assert continued(arm, 2).joints[1].mdh == arm.joints[1].mdh
    with refused("robot-branched", robot="two_branch", joint="right_shoulder"):
        chain_of(example("two_branch"))
    with refused("robot-without-joints", robot="r"):
        chain_of(dyn_core.load_robot("<robot name='r'><link name='a'/></robot>"))


def counts(what: str, name: str, most: int) -> list[operation_counts.Count]:
    return [counted(what, name, n, example("rx90")) for n in range(1, most + 1)]


def written(what: str, name: str, most: int = 9) -> list[int]:
    return [operation_counts.as_written(FORMS[what][name], n).total for n in range(1, most + 1)]


def test_growth_of_the_operation_counts() -> None:
    found = {name: polynomial(written(TORQUES, name)[3:]) for name in FORMS[TORQUES]}
    found["Uicker-Kahn"] = polynomial(written(TORQUES, "Uicker-Kahn")[1:])
    assert set(found.items()) == {
        *(("Uicker-Kahn", (4, 57.5)), ("Waters", (2, 188.0)), ("Lagrangian, 4 x 4", (1, 1231.0))),
        *(("Lagrangian, 3 x 3", (1, 485.0)), ("angular velocity", (2, 12.0)), ("Newton-Euler", (1, 228.0))),
    }
    # Well above 100 000 operations for six joints (Silver 1981, sec. 1.2)
    assert written(TORQUES, "Uicker-Kahn")[5] > 1e5
    for name in EQUATIONS:
        order = polynomial(written(MATRIX, name)[3:])
        assert order is not None
        assert order.degree == 2
    assert polynomial([2 * n**3 - n for n in range(7)]) == (3, 2.0)
    assert polynomial([5] * 4) == (0, 5.0)
    assert polynomial([n**3 for n in range(5)]) is None
    assert operation_counts.slope(3, 24) == 3.0


def test_algorithms_of_models_need_fewer_operations_than_plain_ones() -> None:
    """For each algorithm, the code that models are traced from."""
    for what, name in ((what, name) for what, names in PRODUCTION.items() for name in names):
        model, plain = counts(what, name, 3)[2], counts(what, name.removeprefix("of models, "), 3)[2]
        assert model.written is None
        assert model.general.total < plain.general.total
        assert model.arm.total < plain.arm.total


def test_tracing_gives_the_same_counts_for_both_matrix_sizes() -> None:
    """The constant entries 0 and 1 of 4 x 4 matrices are removed by tracing."""
    large, small = (counts(TORQUES, f"Lagrangian, {size}", 4) for size in ("4 x 4", "3 x 3"))
    assert [(x.general, x.arm) for x in large] == [(x.general, x.arm) for x in small]
    assert [x.written for x in large] != [x.written for x in small]


def test_the_pass_needs_fewer_operations_than_walker_orin() -> None:
    """From two joints on, it takes fewer than n + 1 recursions, and more than composite bodies."""
    for n in each(range(2, 13), 2, 3, 6):
        orin, one, links = (counted(MATRIX, name, n, example("rx90")) for name in EQUATIONS)
        assert links.written.total < one.written.total < orin.written.total
        orin, by_pass, by_links = (counted(MATRIX, name, n, example("rx90")) for name in PRODUCTION[MATRIX])
        assert by_links.general.total < by_pass.general.total < orin.general.total
        assert by_links.arm.total < by_pass.arm.total
        assert by_pass.arm.total < orin.arm.total or n == 2


TITLES = ("as written", "traced, all constants symbols", "traced, rx90")
LONG = {"Uicker-Kahn": 8}
"""Number of joints up to which a slow formulation is counted here; beyond it, the polynomial is used."""


@pytest.fixture(scope="module")
def page() -> str:
    path = ROBOTS.parents[1] / "docs" / "representations.md"
    if not path.is_file():
        pytest.skip("the pages are not beside this package")
    return path.read_text()


def row_of(page: str, what: str, title: str, name: str) -> tuple[list[int], str]:
    """The counts for 1 to 12 joints of the page, and the growth."""
    part = page.split(f"### {what}, {title}\n")[1].split("\n#")[0]
    (row,) = (line for line in part.splitlines() if line.startswith(f"| {name} |"))
    *cells, growth = row.strip("| ").split(" | ")[1:]
    return [int(cell) for cell in cells], growth


@pytest.mark.parametrize(
    ("what", "name"), [(what, name) for what in FORMS for name in (*FORMS[what], *PRODUCTION[what])]
)
def test_the_page_has_the_present_counts(page: str, what: str, name: str) -> None:
    most = min(LONG.get(name, 12), 12 if TIMES else 6)
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


def test_the_page_quotes_figures_that_agree_with_its_tables(page: str) -> None:
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


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(forms, "JOINTS", range(1, 3))
    monkeypatch.setattr(forms, "growth", lambda totals: f"{len(totals)} counted")
    path = str(ROBOTS / "rrp.urdf")
    assert main(["counts", path, "--forms", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot"] == "rrp"
    table = answer["operations"]
    names = {what: {*FORMS[what], *PRODUCTION[what]} for what in FORMS}
    assert {what: set(rows) for what, rows in table.items()} == names
    expected = counted(TORQUES, "Newton-Euler", 2, example("rrp"))
    found = table[TORQUES]["Newton-Euler"]
    assert [found[field][1] for field in expected._fields] == [list(x) for x in expected]
    assert main(["counts", path, "--forms"]) == 0
    printed = capsys.readouterr().out
    assert f"{TORQUES}, traced, 'rrp'" in printed
    row = next(line for line in printed.splitlines() if line.startswith("Newton-Euler"))
    assert row.split()[1:] == ["178", "406", "2", "counted"]


def test_wrong_arguments_of_the_command_are_refused() -> None:
    for robot, options, code, values in (
        ("two_branch", [], "robot-branched", {"robot": "two_branch", "joint": "right_shoulder"}),
        ("rrp", ["--link", "arm"], "forms-of-link", {}),
        ("rx90", ["--base-parameters"], "body-without-mass", {"joint": "joint_2"}),
    ):
        refused_command(["counts", str(ROBOTS / f"{robot}.urdf"), "--forms", *options], code, **values)
