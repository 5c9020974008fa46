# SPDX-License-Identifier: Apache-2.0
"""Results, tables and reports of a demonstration, from synthetic recordings."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from html_elements import Elements
from refusals import refused
from robot_files import ROBOTS

import dyn_core
from dyn_nodes.demonstration import recording, request
from dyn_nodes.demonstration.control_runs import BASELINE, check_followed, controls
from dyn_nodes.demonstration.nodes import parameters
from dyn_nodes.demonstration.output_files import data_text, figures_text
from dyn_nodes.demonstration.recording import Efforts, Recording, passive_motions
from dyn_nodes.demonstration.report import Facts, report
from dyn_nodes.demonstration.request import DemoRequest
from dyn_nodes.demonstration.scene import prepared
from dyn_nodes.demonstration.tracking_errors import as_data, compared, error_table, headline, results

RRP = dyn_core.load_robot(str(ROBOTS["rrp"]))
"""Joints `turn`, `lift` (rad) and `stretch` (m)."""


def recorded(title: str, errors: list[list[float]], feedforward: float = math.nan) -> Recording:
    """A run with errors by time and joint, and efforts of 1; the terms of the feedforward are given."""
    n = len(errors)
    desired = np.full((n, 3), 0.5)
    one, sent = np.ones((n, 3)), np.full((n, 3), feedforward)
    efforts = Efforts(sent, sent, sent, sent, sent, one, one, one)
    measured, none = desired - np.array(errors), np.empty((n, 0))
    return Recording(title, 0.002 * np.arange(n), desired, measured, 0.0 * one, efforts, 0, none)


RRP_MODEL = dyn_core.compile_model(RRP)
ALONE = recorded("PD alone", [[0.02, 0.0, 0.003], [-0.02, 0.04, 0.003]])
GRAVITY = recorded("PD + gravity", [[0.01, 0.0, 0.002], [-0.01, 0.02, 0.002]])
BETTER = recorded("PD + x, better", [[0.001, 0.0, 0.0001], [0.001, 0.004, 0.0001]], feedforward=2.0)
RUNS = [ALONE, GRAVITY, BETTER]


def test_factors_by_joint_and_by_unit() -> None:
    alone, gravity, better = results(RRP, RUNS, BASELINE)
    assert gravity.error.rms == pytest.approx([0.01, 0.02 / math.sqrt(2), 0.002])
    assert gravity.error.greatest == pytest.approx([0.01, 0.02, 0.002])
    assert gravity.factors.tolist() == [1.0, 1.0, 1.0]
    assert alone.factors == pytest.approx([0.5, 0.5, 2.0 / 3.0])
    assert better.factors == pytest.approx([10.0, 5.0, 20.0])
    both = math.sqrt((1e-4 + 2e-4) / 2) / math.sqrt((1e-6 + 8e-6) / 2)
    assert better.overall_factors == pytest.approx({"rad": both, "m": 20.0})
    assert better.factor == pytest.approx(both)


def test_an_error_of_zero_is_an_infinite_improvement() -> None:
    exact = recorded("exact", [[0.0, 0.001, 0.0]])
    found = results(RRP, [GRAVITY, exact], 0)
    assert found[1].factors[0] == math.inf
    first, second = json.loads(figures_text(as_data(RRP, found)))["runs"]
    assert first["factor"] == [1.0, 1.0, 1.0]
    assert second["factor"] == [None, pytest.approx(found[1].factors[1]), None]
    assert second["overall_factor"] == {"rad": pytest.approx(found[1].overall_factors["rad"]), "m": None}


def test_the_table_of_errors() -> None:
    lines = error_table(RRP, results(RRP, RUNS, BASELINE), BASELINE).splitlines()
    assert lines[0].split() == ["PD", "alone", "PD", "+", "gravity", "PD", "+", "x,"]
    assert lines[1].split() == ["better"]
    assert lines[2].split() == ["RMS", "largest", "RMS", "largest", "RMS", "largest", "RMS", "is"]
    words = [[*line.split()[:2], *line.split()[4:]] for line in lines[3:6]]
    assert words[0] == ["turn", "mrad", "10.000", "10.000", "1.000", "1.000", "10.0", "x", "smaller"]
    assert words[2] == ["stretch", "mm", "2.000", "2.000", "0.100", "0.100", "20.0", "x", "smaller"]
    assert lines[6].split() == ["all", "joints", "mrad", "24.495", "12.247", "2.121", "5.8", "x", "smaller"]
    assert lines[7].split() == ["all", "joints", "mm", "3.000", "2.000", "0.100", "20.0", "x", "smaller"]
    assert len({line.rindex(" x ") for line in lines[3:]}) == 1


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (5.83, "5.8 x smaller"),
        (250.4, "250 x smaller"),
        (1.05, "1.1 x smaller"),
        (1.049, "not smaller"),
        (1.0, "not smaller"),
        (0.96, "not smaller"),
        (0.95, "1.1 x larger"),
        (0.1, "10.0 x larger"),
    ],
)
def test_an_error_is_never_smaller_by_less_than_one(factor: float, words: str) -> None:
    assert compared(factor) == words


def test_the_headline_is_the_described_model_against_gravity_compensation() -> None:
    good = headline(results(RRP, RUNS, BASELINE), BASELINE)
    assert good.startswith("PD + x, better: RMS error 5.8 x smaller than PD + gravity")
    worse = recorded("PD + x, worse", [[0.02, 0.0, 0.004], [-0.02, 0.04, 0.004]])
    bad = headline(results(RRP, [ALONE, GRAVITY, worse], BASELINE), BASELINE)
    assert bad.startswith("PD + x, worse: RMS error 2.0 x larger than PD + gravity")


def test_the_last_row_before_a_time_is_used() -> None:
    stamps, rows = np.array([3.0, 1.0, 2.0]), np.array([[30.0], [10.0], [20.0]])
    found = recording.at_times(np.array([0.5, 1.0, 1.9, 2.5, 9.0]), stamps, rows)
    np.testing.assert_array_equal(found[:, 0], [np.nan, 10.0, 10.0, 20.0, 30.0])
    assert np.isnan(recording.at_times(np.array([1.0]), np.zeros(0), np.zeros((0, 2)))).all()


def test_the_data_as_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(data_text(RRP_MODEL, RUNS, passive_motions(RRP_MODEL, RUNS)))))
    assert [row["run"] for row in rows] == ["1", "1", "2", "2", "3", "3"]
    assert [float(rows[3][key]) for key in ("time", "position.lift")] == [0.002, 0.48]
    assert (float(rows[4]["feedforward.turn"]), rows[0]["gravity.stretch"]) == (2.0, "nan")


STAGES: list[str] = []
"""Stages of the preparation of `scene`."""


@pytest.fixture(scope="module")
def scene():
    return prepared(DemoRequest("rrp", duration=2.0), STAGES.append)


def test_stages_are_printed_with_the_time_and_long_runs_with_their_part(
    scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [stage.split()[0] for stage in STAGES] == ["reading", "compiling", "choosing"]
    clock = iter([10.0, 12.5, 14.0, 17.6, 17.6, 18.0])
    monkeypatch.setattr(request, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    progress = request.Progress()
    progress("compiling")
    progress.of_run(0.2)  # 1.5 s after the last line
    progress.of_run(0.4)  # 5.1 s after it
    progress.of_run(0.5)
    assert capsys.readouterr().out == "    2.5 s  compiling ...\n    7.6 s  40 % of this run ...\n"


def test_the_scene_of_a_robot(scene) -> None:
    assert scene.robot.joint_names == RRP.joint_names
    assert scene.real.parameters != scene.robot.parameters
    assert scene.side_file is None
    assert scene.armature == pytest.approx({"turn": 0.3, "lift": 0.4, "stretch": 2.4})
    assert [scene.robot.joint(name).Ia for name in scene.robot.joint_names] == pytest.approx([0.3, 0.4, 2.4])
    assert yaml.safe_load(scene.side_text)["rotor_inertia"] == {
        "turn": "0.3",
        "lift": "0.4",
        "stretch": "2.4",
    }
    with_side_file = prepared(DemoRequest("rx90", duration=2.0))
    assert with_side_file.side_file.name == "rx90.yaml"
    assert with_side_file.robot.joint("joint_1").Ia == 2.5
    assert (with_side_file.armature, with_side_file.side_text, with_side_file.remarks) == ({}, None, ())


def test_assumed_rotor_inertias_are_added_to_a_side_file(tmp_path) -> None:
    """Its other entries stay; what it gives is not assumed; 0 switches the assumption off."""
    side_file = tmp_path / "side.yaml"
    side_file.write_text("rotor_inertia: {lift: 7.0}\nfriction:\n  turn: {viscous: 0.5}\n")
    scene = prepared(DemoRequest("rrp", side_file=str(side_file), duration=1.0))
    assert [scene.robot.joint(name).Ia for name in scene.robot.joint_names] == pytest.approx([0.3, 7.0, 2.4])
    assert scene.robot.joint("turn").friction.Fv == 0.5
    off = prepared(DemoRequest("rrp", side_file=str(side_file), duration=1.0, armature=0.0))
    assert [off.robot.joint(name).Ia for name in off.robot.joint_names] == [0.0, 7.0, 0.0]
    assert (off.armature, off.side_text) == ({}, None)


def test_gains_get_a_lower_frequency_at_a_lower_rate() -> None:
    scene = prepared(DemoRequest("two_branch", duration=1.0, rate=100.0))
    assert 0.5 < scene.frequency < 5.0
    assert f"{scene.frequency:.2g} Hz" in scene.remarks[-1]
    assert 6.0 <= scene.feedback.margin.decibel < 7.0
    assert prepared(DemoRequest("two_branch", duration=1.0)).frequency == 5.0
    with refused("demonstration-rate-range", rate=10.0):
        prepared(DemoRequest("rrp", rate=10.0))


def test_joints_that_do_not_move() -> None:
    scene = prepared(DemoRequest("rrp", duration=1.0, locked=(("stretch", 0.1),)))
    assert scene.robot.coordinate_names == ("turn", "lift")
    given = yaml.safe_load(parameters(scene, Path("side_file.yaml")))
    assert {part["ros__parameters"]["locked_joints.stretch"] for part in given.values()} == {0.1}
    moving = prepared(DemoRequest("rrp", duration=1.0, joints=("turn", "lift")))
    text = parameters(moving, Path("side_file.yaml"))
    assert (text.count("joints:"), "&" in text) == (3, False)


@pytest.mark.promise("demonstration-lost")
def test_a_robot_that_does_not_follow_is_named(scene) -> None:
    """The reference of joint lift moves by 0.5 rad, and the robot is further off than if it stood still."""
    moved = replace(ALONE, desired=np.array([[0.5, 0.5, 0.5], [0.6, 1.0, 0.6]]))
    followed = replace(moved, measured=moved.desired + 0.01)
    check_followed(scene, followed)
    lost = replace(moved, measured=moved.desired - [[0.0, 0.0, 0.0], [0.0, 0.6, 0.0]])
    error, still = 0.6 / math.sqrt(2.0), 0.5 / math.sqrt(2.0)
    values = {"joint": "lift", "run": "PD alone", "rms": error, "still": still}
    with refused("demonstration-tracking-lost", **values):
        check_followed(scene, lost)


def test_parameters_of_the_nodes(scene) -> None:
    text = parameters(scene, Path("/tmp/side_file.yaml"))
    nodes = {name: part["ros__parameters"] for name, part in yaml.safe_load(text).items()}
    assert set(nodes) == {"/**/simulation", "/**/controller", "/**/feedforward"}
    assert nodes["/**/simulation"]["model_error"] == 0.1
    gains = {"natural_frequency": 5.0, "damping": 1.0, "armature": -1.0, "joint_state_rate": 500.0}
    assert nodes["/**/controller"].items() >= gains.items()
    files = [nodes[f"/**/{name}"].get("side_file") for name in ("simulation", "controller", "feedforward")]
    assert files == ["/tmp/side_file.yaml", None, "/tmp/side_file.yaml"]
    assert nodes["/**/feedforward"]["mode"] == "inverse_dynamics"
    assert all(nodes[name]["use_sim_time"] for name in ("/**/controller", "/**/feedforward"))


def test_runs_with_and_without_model_error() -> None:
    off, exact = ([(one.feedforward, one.true_model) for one in controls(error)] for error in (0.1, 0.0))
    first, last = [("nothing", False), ("gravity", False)], ("motion", True)
    assert (off, exact) == ([*first, ("motion", False), last], [*first, last])
    assert controls(0.1)[BASELINE].title == "PD + gravity"


def test_the_report_of_recordings(scene) -> None:
    facts = Facts("today & now", 0.5, {"dyn_core": "<1>"})
    text = report(scene, RUNS, passive_motions(RRP_MODEL, RUNS), results(RRP, RUNS, BASELINE), facts)
    elements = Elements(text)
    words = " ".join(elements.words)
    for part in ("today & now", "dyn_core <1>", "real-time factor 0.50", "2 joint states, 0 responses lost"):
        assert part in words
    times = "\N{MULTIPLICATION SIGN}"
    assert {"turn", "lift", "stretch", f"10.0{times} smaller", "2.000 mm"} <= set(elements.words)
    assert "gain margin" in words
    assert words.count("Coriolis and centrifugal") == 2 * 3, "only where there is a feedforward"
    assert "passive" not in words


@pytest.fixture(scope="module")
def five_bar():
    return prepared(DemoRequest("five_bar", duration=2.0))


def closed(scene, error: float, open_by: float) -> Recording:
    """A run with an error in the actuated joints, and a left elbow that opens its loop."""
    t = 0.002 * np.arange(500)
    desired = scene.motion.at_many(t).q
    measured = desired + error
    passive = scene.model.solve_loops(measured)
    passive[:, 0] += open_by
    none = np.full_like(desired, np.nan)
    return Recording("a run", t, desired, measured, none, Efforts(*[none] * 8), 0, passive)


def test_passive_joints_are_compared_with_the_loops(five_bar) -> None:
    passive = [joint.name for joint in recording.passive_joints(five_bar.model)]
    assert passive == ["left_elbow", "right_elbow"]
    motions = passive_motions(five_bar.model, [closed(five_bar, 0.0, 0.0), closed(five_bar, 0.01, -2e-3)])
    np.testing.assert_allclose(motions[0].desired, motions[0].measured, rtol=0.0, atol=1e-14)
    assert np.abs(motions[1].desired - motions[1].measured).max() > 5e-3
    assert recording.greatest(motions) == pytest.approx([2e-3, 0.0], abs=1e-12)


def test_report_and_data_of_a_robot_with_loops(five_bar) -> None:
    runs = [closed(five_bar, error, opening) for error, opening in ((0.01, 0.0), (0.01, 0.0), (0.0, 2e-3))]
    motions = passive_motions(five_bar.model, runs)
    found = results(five_bar.robot, runs, BASELINE)
    words = " ".join(Elements(report(five_bar, runs, motions, found, Facts("now", 0.5, {}))).words)
    assert "2 actuated and 2 passive joints followed one motion" in words
    assert "left_elbow, right_elbow follow through loops" in words
    assert "at most 0.002 rad from their positions by the loops" in words
    assert "left_elbow (passive)" in words
    (first, *_) = csv.DictReader(io.StringIO(data_text(five_bar.model, runs, motions)))
    assert float(first["position.left_elbow"]) == pytest.approx(runs[0].passive[0, 0], rel=1e-8)
    assert float(first["reference.right_elbow"]) == pytest.approx(motions[0].desired[0, 1], rel=1e-8)
    assert "feedforward.left_elbow" not in first


def test_a_joint_without_actuator_and_loop_is_named(tmp_path) -> None:
    side_file = tmp_path / "passive.yaml"
    side_file.write_text("passive: [lift]")
    with refused("demonstration-joint-passive", joint="lift", robot="rrp"):
        prepared(DemoRequest("rrp", side_file=str(side_file)))
