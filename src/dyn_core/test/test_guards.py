# SPDX-License-Identifier: Apache-2.0
"""The verdict on results: what must not be used is refused and named, what is good is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depth import TIMES
from guard_study import CLEAN, DEFECTS, description, judged
from identification_log import URDF, true_robot, write_log, write_table
from refusals import refused
from robots import ROBOTS
from simulated_truth import excitation

import dyn_core
from dyn_core.cli.main import main
from dyn_core.core.findings import Severity
from dyn_core.identification.diagnosis.reliability import Compared, density, verdict_of
from dyn_core.identification.output.identification_result import Result
from dyn_core.identification.output.identified_parameters import Errors, TorqueError
from dyn_core.identification.pipeline import make_result
from dyn_core.logs.repair.plausibility import at_limit
from dyn_core.robot.robot_files import read_robot

pytestmark = pytest.mark.filterwarnings("ignore::dyn_core.ModelWarning")
PLAIN = dyn_core.IdentificationSettings((dyn_core.FrictionModel(),) * 2)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("guards") / "log.csv", true_robot())


@pytest.fixture(scope="module")
def result(log: Path) -> Result:
    return make_result(read_robot(URDF), log, "a test", settings=PLAIN)


def test_a_good_result_may_be_used(result: Result) -> None:
    assert result.verdict.is_usable
    assert not result.parameters.reasons


def both(fitted: float, held_out: float | None) -> Errors:
    """Return errors of a robot with two joints."""
    parts = [None if x is None else TorqueError(x, (x, x), (x, x)) for x in (fitted, held_out)]
    return Errors(parts[0], parts[1])  # type: ignore[arg-type]


GOOD, DESCRIBED = both(0.05, 0.05), both(0.5, 0.5)
OF_ERRORS: dict[str, tuple[Compared, str]] = {
    "good": (Compared(GOOD, GOOD, GOOD, DESCRIBED), ""),
    "worse": (Compared(*(both(0.05, 0.09),) * 3, both(0.06, 0.08)), "result-worse-than-description"),
    "worse for the nodes": (
        Compared(GOOD, both(0.05, 0.09), GOOD, both(0.06, 0.08)),
        "result-worse-than-description",
    ),
    "worse by chance": (Compared(*(both(0.001, 0.0019),) * 3, both(0.001, 0.001)), ""),
    "only fitted better": (
        Compared(*(both(0.01, 0.1),) * 3, both(0.09, 0.09)),
        "result-worse-than-description",
    ),
    "unexplained": (Compared(*(both(0.6, 0.6),) * 3, both(0.9, 0.9)), "torques-unexplained"),
    "far above": (Compared(*(both(0.02, 0.3),) * 3, both(0.9, 0.9)), "held-out-error-far-above"),
    "the reverse": (Compared(*(both(0.3, 0.02),) * 3, both(0.9, 0.9)), "fitted-error-far-above"),
    "nothing held out": (Compared(*(both(0.05, None),) * 3, both(0.5, None), 0.06), ""),
    "cross-validated": (
        Compared(*(both(0.05, None),) * 3, both(0.5, None), 0.55),
        "result-worse-than-description",
    ),
}


@pytest.mark.parametrize("case", OF_ERRORS)
def test_errors_on_data_that_no_fit_has_seen_decide(case: str, result: Result) -> None:
    errors, code = OF_ERRORS[case]
    verdict = verdict_of(result.loaded.robot, result.log, result.identified, errors)
    assert code in {reason.code for reason in verdict.reasons} if code else verdict.is_usable
    assert all(reason.severity is Severity.ERROR for reason in verdict.reasons)


def with_body(result: Result, **values: float) -> Any:
    """Return the identified parameters with other values."""
    found = result.identified
    standard = [replace(p, value=values.get(p.name, p.value)) for p in found.standard]
    return replace(found, standard=tuple(standard))


POINT = {**{f"{kind}2": 1e-7 for kind in ("XX", "YY", "ZZ")}, "MX2": 0.0, "MY2": 0.0, "MZ2": 0.0, "M2": 6.0}
CLOUD = {**{f"{kind}2": 60.0 for kind in ("XX", "YY", "ZZ")}, "MX2": 0.0, "MY2": 0.0, "MZ2": 0.0, "M2": 6.0}
HEAVY = {"M1": 801.0, "XX1": 30.0, "YY1": 30.0, "ZZ1": 30.0, "MX1": 0.0, "MY1": 0.0, "MZ1": 0.0}
IMPOSSIBLE = {"XX2": -1.0}


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (POINT, "body-too-dense"),
        (CLOUD, "body-too-light"),
        (HEAVY, "body-changed"),
        (IMPOSSIBLE, "body-impossible"),
    ],
)
def test_bodies_that_nobody_builds(values: dict[str, float], code: str, result: Result) -> None:
    """They are a reason where the description is about as good; a warning where it is far worse."""
    found = with_body(result, XY2=0.0, XZ2=0.0, YZ2=0.0, XY1=0.0, XZ1=0.0, YZ1=0.0, **values)
    for before, is_reason in ((0.08, True), (0.9, code == "body-impossible")):
        errors = Compared(GOOD, GOOD, GOOD, both(before, before))
        verdict = verdict_of(result.loaded.robot, result.log, found, errors)
        assert (code in {one.code for one in verdict.reasons}) is is_reason
        assert (code in {one.code for one in verdict.warnings}) is not is_reason


def test_densities_of_solid_bodies() -> None:
    """A steel ball and a steel rod; a ball is an ellipsoid, a rod nearly one."""
    m, r = 7850.0 * 4.0 / 3.0 * np.pi * 0.05**3, 0.05
    J = 0.4 * m * r**2
    assert density(np.array([J, 0, 0, J, 0, J, 0, 0, 0, m])) == pytest.approx(7850.0)
    M, a = 7850.0 * np.pi * 0.01**2 * 0.5, M_OF_ROD
    assert density(np.array([a * M, 0, 0, a * M, 0, 0.5e-4 * M, 0, 0, 0, M])) == pytest.approx(
        7850.0, rel=0.08
    )


M_OF_ROD = 0.5**2 / 12.0 + 0.01**2 / 4.0
"""Moment of inertia of a rod of 0.5 m with a radius of 1 cm about a diameter, for 1 kg."""


def test_efforts_at_their_limits() -> None:
    tau = 40.0 * np.sin(np.linspace(0.0, 20.0, 2000))
    assert at_limit(tau, 100.0) is None
    assert at_limit(tau, 20.0) is None  # which it exceeds by far
    found = at_limit(np.clip(tau, -30.0, 30.0), 30.0)
    assert found is not None
    assert found.limit == 30.0
    assert found.share == pytest.approx(0.46, abs=0.02)


def test_efforts_at_the_limits_of_the_description_are_named_and_refused(tmp_path: Path) -> None:
    """By `dyn log` with joint, value and share; the verdict of `dyn identify` is not to use the result."""
    file = write_log(tmp_path / "log.csv", true_robot())
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    limit = 0.5 * float(np.abs(table[:, 3]).max())
    table[:, 3] = np.clip(table[:, 3], -limit, limit)
    head = file.read_text().splitlines()[0]
    np.savetxt(file, table, "%.7g", ",", header=head, comments="")
    (tmp_path / "two.urdf").write_text(URDF.replace('effort="200"', f'effort="{limit}"', 1))
    robot = dyn_core.load_robot(tmp_path / "two.urdf")
    (clipped,) = (one for one in dyn_core.examine_log(file, robot=robot).findings if "effort" in one.code)
    assert (clipped.code, clipped.names) == ("effort-clipped-at-limit", ("shoulder",))
    assert 0.05 < clipped.values["share"] < 0.9
    given = [str(tmp_path / "two.urdf"), "--log", str(file), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", *given, "--friction", "standard"]) == 1
    verdict = json.loads((tmp_path / "out" / "result.json").read_text())["verdict"]
    assert not verdict["use"]
    assert {"shoulder"} == {name for reason in verdict["reasons"] for name in reason["names"]}


def test_warnings_and_checks_are_on_the_console_and_in_the_result(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a result without held-out data, and of a robot whose identified link is denser than osmium."""
    (tmp_path / "two.urdf").write_text(URDF)
    given = [str(tmp_path / "two.urdf"), "--log", str(log), "--out", str(tmp_path / "out"), "--train", "1"]
    assert main(["identify", *given, "--friction", "standard"]) == 0
    assert "nothing was held out" in capsys.readouterr().out
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [one["code"] for one in result["verdict"]["warnings"]] == ["nothing-held-out"]
    assert result["check"]
    assert "nothing was held out" in (tmp_path / "out" / "report.html").read_text().lower()


def test_an_rx90_that_hardly_moved_is_not_identified(tmp_path: Path) -> None:
    """The robot is off by 20 %; what was fitted is 0.05 of the motion behind it, with slow disturbances.

    The result is far worse than the description, with links of several times their mass.
    """
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", ROBOTS / "rx90.yaml")
    t, q, _, _ = excitation(robot.dof, 10.0, 0)
    rise = np.clip((t - 6.6) / 0.4, 0.0, 1.0)
    q = q * (0.05 + 0.95 * rise**2 * (3.0 - 2.0 * rise))[:, None]
    qd = np.gradient(q, t, axis=0)
    model = dyn_core.compile_model(dyn_core.with_model_error(robot, 0.2, 0), backend="python")
    tau = model.inverse_dynamics(q, qd, np.gradient(qd, t, axis=0))
    slow = np.cumsum(np.random.default_rng(0).normal(size=tau.shape), axis=0)
    tau += 0.02 * np.abs(tau).max(axis=0) * slow / np.abs(slow).max(axis=0)
    log = write_table(tmp_path / "log.csv", robot.joint_names, t, q, tau)
    given = [str(ROBOTS / "rx90.urdf"), "--log", str(log), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["identify", *given, "--friction", "standard"]) == 1
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    held = result["held_out"]
    assert held["relative_torque_error"] > 1.5 * held["description"]["relative_torque_error"]
    assert "result-worse-than-description" in [one["code"] for one in result["verdict"]["reasons"]]
    with refused("verdict-do-not-use"):
        dyn_core.load_parameters(tmp_path / "out" / "parameters.yaml")


@pytest.mark.parametrize("defect", [CLEAN, "without gravity"])
def test_a_defect_is_named_and_a_clean_log_is_not_refused(defect: str, tmp_path: Path) -> None:
    """A small part of `make guards`."""
    outcome, _ = judged(description("UR5", 4), "UR5", defect, 4, tmp_path)
    assert outcome.named, outcome
    assert outcome.refused == (defect != CLEAN)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arm", ["UR5", "Panda", "7R"])
@pytest.mark.parametrize("defect", [CLEAN, *DEFECTS])
def test_defects_on_all_arms(defect: str, arm: str, tmp_path: Path) -> None:
    """No clean log is refused, no result is worse than its description and not refused; most are named."""
    count = max(2, round(2 * TIMES))
    outcomes = [judged(description(arm, seed), arm, defect, seed, tmp_path)[0] for seed in range(count)]
    assert not [one for one in outcomes if one.held_out > one.before and not one.refused]
    if defect == CLEAN:
        assert not any(one.refused for one in outcomes)
    assert sum(one.named for one in outcomes) >= count - 1
