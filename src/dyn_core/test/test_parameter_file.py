# SPDX-License-Identifier: Apache-2.0
"""The parameter file: what is written can be read, and incomplete files are refused."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_robots import descriptions
from identification_log import URDF, true_robot
from pinocchio_oracle import Oracle
from refusals import refused
from robots import ROBOTS

import dyn_core
from dyn_core.identification.estimators.physical_consistency import nearest_possible
from dyn_core.identification.friction.friction_model import TERMS, FrictionModel
from dyn_core.identification.output import parameter_set as sets
from dyn_core.identification.output.identified_urdf import identified_urdf
from dyn_core.identification.output.parameter_file import parameter_text
from dyn_core.identification.regressor.base_columns import unit_of
from dyn_core.robot.robot_files import read_robot

MODEL = FrictionModel(TERMS, v0=0.01, vt=0.1, vx=0.3)


def parameters(robot: dyn_core.Robot | None = None) -> sets.ParameterSet:
    robot = robot or true_robot()
    values = enumerate(zip(robot.parameter_names, robot.parameters, strict=True))
    terms = tuple(sets.SetValue(name[:-1], 0.1 / 3.0, 1e-3, "1") for name in MODEL.names(1))
    rows = ("Iam2", 0.02, 1e-3, "kg m^2"), ("Fvm2", 0.3, None, "N m s/rad"), ("Fsm2", 0.4, 0.1, "N m")
    motor = tuple(sets.SetValue(*row) for row in rows)
    return sets.ParameterSet(
        robot.name,
        (robot.description_hash, "ab" * 32),
        sets.kinematics_hash(robot),
        tuple(sets.SetValue(n, x, 0.1 * k if k % 3 else None, unit_of(n, robot)) for k, (n, x) in values),
        tuple(sets.SetFriction(name, MODEL, terms) for name in robot.joint_names),
        {"by": 'somebody "quoted": #1', "log": "ä.mcap"},
        dyn_core.Protocol(cutoff=12.5, filter_effort=True, decimate=4),
        {name: 0.03 * k for k, name in enumerate(robot.joint_names)},
        (sets.SetMotor("2", dict(zip(robot.joint_names, (-0.5, 1.0), strict=True)), motor),),
        {"with_friction_models": 0.05, "with_standard_friction": None},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "parameters.yaml"
    path.write_text(parameter_text(true_robot(), parameters()), encoding="utf-8")
    return path


def test_a_written_file_can_be_read(file: Path) -> None:
    found = dyn_core.load_parameters(file)
    assert found.source.endswith("parameters.yaml")
    assert replace(found, source="") == parameters()


def test_a_verdict_is_written_and_refused_without_force(file: Path) -> None:
    said = ("torque-sign-wrong", "joint 'elbow': its \"torque\""), ("", "its sign")
    reasons = tuple(sets.Reason(*words) for words in said)
    bad = replace(parameters(), reasons=reasons)
    file.write_text(parameter_text(true_robot(), bad), encoding="utf-8")
    with refused("verdict-do-not-use", codes=["torque-sign-wrong", ""]):
        dyn_core.load_parameters(file)
    with refused("verdict-do-not-use"):
        bad.applied_to(true_robot())
    with pytest.warns(dyn_core.ModelWarning) as warned:
        found = dyn_core.load_parameters(file, force=True)
    assert [one.message.code for one in warned] == ["parameters-forced"]
    assert found.reasons == reasons
    assert found.applied_to(true_robot()).parameters == true_robot().parameters


def test_it_is_plain_yaml_grouped_by_joint(file: Path) -> None:
    data = pytest.importorskip("yaml").safe_load(file.read_text(encoding="utf-8"))
    names, values = true_robot().parameter_names, true_robot().parameters
    assert list(data["joints"]) == ["shoulder", "elbow"]
    assert list(data["joints"]["elbow"]) == list(names[14:])
    assert data["joints"]["elbow"]["M2"] == {"value": values[23], "deviation": 0.1 * 23, "unit": "kg"}
    assert data["friction_models"]["elbow"]["terms"]["stribeck"]["value"] == 0.1 / 3.0


def test_applied_parameters_are_those_of_the_file(file: Path) -> None:
    described = dyn_core.load_robot(URDF, snap=0)
    assert dyn_core.load_parameters(file).applied_to(described).parameters == true_robot().parameters


def test_names_with_special_yaml_meaning(tmp_path: Path) -> None:
    text = URDF.replace('name="elbow"', 'name="on: {elbow} #1"').replace('name="two"', 'name="no"')
    robot = dyn_core.load_robot(text)
    (tmp_path / "p.yaml").write_text(parameter_text(robot, parameters(robot)), encoding="utf-8")
    assert dyn_core.load_parameters(tmp_path / "p.yaml").applied_to(robot) == robot


REFUSED: dict[str, tuple[str, str, str, dict]] = {
    "not finite": (r"M1: \{value: [^,]*", "M1: {value: .nan", "node-not-finite", {}),
    "infinite": (r"Fo2: \{value: [^,]*", "Fo2: {value: inf", "node-not-finite", {}),
    "negative mass": (r"M1: \{value: [^,]*", "M1: {value: -1", "value-negative", {}),
    "no value": (r"MX1: \{value: [^,]*, ", "MX1: {", "parameter-part-missing", {"part": "value"}),
    "unknown name": (r"MX1:", "MXX1:", "robot-parameter-unknown", {"unknown": ["MXX1"]}),
    "missing": (r"    MX1: .*\n", "", "parameters-missing", {"missing": ["MX1"]}),
    "twice": (r"MX1:", "MX2:", "parameters-repeated", {"repeated": ["MX2"]}),
    "unit": (r"unit: kg m\^2", "unit: g m^2", "parameter-unit", {"parameter": "XX1", "given": "g m^2"}),
    "other format": (r"dyn_parameters 1", "dyn_parameters 2", "parameter-file-format", {}),
    "no format": (r"format: .*\n", "", "parameter-file-without-format", {}),
    "no robot": (r"robot:\n(  .*\n)+", "", "file-entry-missing", {"entry": "robot"}),
    "hash": (r'kinematics_sha256: ".', 'kinematics_sha256: "x', "hash-invalid", {"count": 64}),
    "unknown term": (r"stribeck:", "stiction:", "friction-term-unknown", {"given": "stiction"}),
    "no velocity": (r"    vt: .*\n", "", "friction-velocity-mismatch", {"term": "stribeck", "setting": "vt"}),
    "other joints": (r'(friction_models:\n  )"shoulder"', r'\1"wrist"', "friction-joints-mismatch", {}),
    "verdict": (r"\Z", 'verdict: ["joint 1: its sign"]\n', "verdict-do-not-use", {"codes": [""]}),
    "verdict without a code": (
        *(r"\Z", 'verdict: [{text: "its sign"}]\n', "parameter-part-missing", {"part": "code"}),
    ),
    "of an earlier version": (r"\Z", 'wrong_signals: ["its sign"]\n', "verdict-do-not-use", {"codes": [""]}),
    "malformed": (r"\Z", "\n}{", "yaml-malformed-in-line", {}),
    "cut": (r"(?s)(?<=\A.{3000}).*", "", "yaml-malformed-in-line", {}),
    "empty": (r"(?s).*", "", "file-empty", {}),
    "binary": (r"(?s).*", "\x00\x01", "yaml-malformed", {}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_damaged_files_are_refused(file: Path, case: str) -> None:
    pattern, new, code, values = REFUSED[case]
    before = file.read_text(encoding="utf-8")
    after = re.sub(pattern, new, before, count=1)
    assert after != before
    file.write_text(after, encoding="utf-8")
    with refused(code, **values) as caught:
        dyn_core.load_parameters(file).applied_to(true_robot())
    error = caught.value
    assert (error.file, str(error).count("\n")) == (str(file), 0)
    if case in ("not finite", "infinite", "negative mass", "no value"):  # the line of the parameter
        name, joint = new.partition(":")[0], "elbow" if "2" in new[:4] else "shoulder"
        lines = [k for k, line in enumerate(after.splitlines(), 1) if line.strip().startswith(f"{name}:")]
        assert (error.line, error.element) == (lines[0], f"joint '{joint}', {name}")


def test_a_missing_file() -> None:
    with refused("path-or-text-unknown", path="/no/such.yaml"):
        dyn_core.load_parameters("/no/such.yaml")


def test_a_file_with_any_line_missing_is_refused_or_equal(file: Path) -> None:
    """Each single line is left out in turn."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for k in range(len(lines)):
        file.write_text("".join(lines[:k] + lines[k + 1 :]), encoding="utf-8")
        with suppress(dyn_core.DynError):
            robot = dyn_core.load_parameters(file).applied_to(true_robot())
            assert robot.parameters == true_robot().parameters


# A URDF with new parameters: only these change, and the rest of the text stays as it is.

URDFS = sorted(ROBOTS.glob("*.urdf"))
ODD = """\ufeff
<?xml version='1.0'?><!-- <link name="a"><inertial/></link> > -->
<robot name="odd" note="1 > 0" other='"'>\r
<link name="base"/><link name='a'/><link name="b" note="a > b"></link>
\t<link name="c &amp; d"><inertial note="x>y"><mass value="2"/><!-- kept? no: it is of the old one -->
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><![CDATA[ <inertial> ]]></visual>
</link>
<link name="e"><inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint><joint
 name="j2" type="prismatic"><parent link="a"/><child link="b"/><dynamics
   friction="3" spring='a"b'></dynamics><limit effort="1" velocity="1" lower="0" upper="1"/></joint>
<joint name="j3" type="revolute"><parent link="b"/><child link="c &amp; d"/><origin rpy="0 0.3 0"/>
  <limit effort="1" velocity="1" lower="0" upper="1"/><dynamics damping="1" armature="0.3"/></joint>
<joint name="f" type="fixed"><parent link="c &amp; d"/><child link="e"/><origin xyz="0.1 0 0"/></joint>
<joint name="j4" type="revolute"><parent link="base"/><child link="g"/><mimic joint="j3"/>
  <limit effort="1" velocity="1" lower="0" upper="1"/></joint><link name="g"/>
<gazebo><link name="a"><inertial/></link></gazebo>
</robot>"""


def other(robot: dyn_core.Robot, seed: int = 0) -> dyn_core.Robot:
    """Return the robot with other, physically possible parameters."""
    random = np.random.default_rng(seed)
    values = np.array(robot.parameters).reshape(len(robot.joints), 14)
    for joint, body in zip(robot.joints, values, strict=True):
        # Parts of floating joints have no element in the URDF, so they can have neither mass nor friction.
        if "/" in joint.name and body[9] == 0.0:
            continue
        body[:10] = random.uniform(-0.1, 0.1, 10)
        body[[0, 3, 5]] += 0.5
        body[9] = random.uniform(0.5, 3.0)
        body[:10] = nearest_possible(body[:10], 0.01, 0.01)
        body[10:] = 0.0 if "/" in joint.name else random.uniform(0.1, 1.0, 4)
    return robot.with_parameters(values.ravel())


def check(text: str) -> str:
    """Write a description with other parameters, check that it is read back, and return its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        loaded = read_robot(text)
        expected = other(loaded.robot)
        new = identified_urdf(loaded, expected).text
        found = dyn_core.load_robot(new)
    offset_free = (replace(joint, friction=replace(joint.friction, Fo=0.0)) for joint in expected.joints)
    assert found.joints == tuple(offset_free)
    assert found.link_frames == expected.link_frames
    for j in {frame.body for frame in found.link_frames} - {0}:
        assert found.bodies[j].values == pytest.approx(expected.bodies[j].values, rel=1e-9, abs=1e-12)
    assert found.bodies[0] == expected.bodies[0]
    return new


def stripped(text: str) -> str:
    """Return a text without the elements that identification writes."""
    text = text.removeprefix("\ufeff").lstrip()
    text = re.sub(r"<inertial\b.*?</inertial>|<dynamics\b[^>]*>(</dynamics>)?", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<!-- (inertia and friction identified|the inertial parameters).*?-->", "", text)
    return re.sub(r"\s+", "", text).replace("></link>", "/>")  # an element without other content


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_example_robots_can_be_written(path: Path) -> None:
    text = path.read_text()
    assert stripped(check(text)) == stripped(text)


def test_unusual_text_is_kept() -> None:
    new = check(ODD)
    for kept in (
        *('<link name="a"><inertial/></link></gazebo>', "<![CDATA[ <inertial> ]]>", "<link name='a'>"),
        *('<robot name="odd" note="1 > 0" other=\'"\'>', 'spring="a&quot;b"', '<link name="b" note="a > b">'),
    ):
        assert kept in new
    assert new.count("\r") == 1
    line = re.sub(r"\s+", " ", URDFS[0].read_text())
    assert stripped(check(line)) == stripped(line)


def test_pinocchio_has_the_same_dynamics() -> None:
    loaded = read_robot(URDFS[0].read_text(), snap=0)
    robot = other(loaded.robot)
    new = identified_urdf(loaded, robot).text
    drives = ("Ia", "Fv", "Fs", "Fo")
    rigid = robot.with_parameters({n: 0.0 for n in robot.parameter_names if n[:2] in drives})
    model = dyn_core.compile_model(rigid, backend="python")
    oracle = Oracle(new, robot.joint_names, robot.gravity)
    for q, qd, qdd in np.random.default_rng(1).uniform(-1.0, 1.0, (10, 3, robot.dof)):
        expected = oracle.inverse_dynamics(q, qd, qdd, {})
        assert np.abs(model.inverse_dynamics(q, qd, qdd) - expected).max() < 1e-9 * np.abs(expected).max()


def test_remarks_name_parameters_that_a_urdf_cannot_hold() -> None:
    loaded = read_robot(URDFS[0].read_text())
    offsets, armature = identified_urdf(loaded, other(loaded.robot)).remarks
    assert offsets.code == "urdf-without-offsets"
    assert offsets.values["offsets"][0].values["joint"] == loaded.robot.joint_names[0]
    assert armature.code == "urdf-with-armature"
    nothing = loaded.robot.with_parameters([0.0] * len(loaded.robot.parameters))
    assert identified_urdf(loaded, nothing).remarks == ()


@pytest.mark.parametrize("path", descriptions(), ids=lambda path: path.stem)
def test_all_installed_robots_can_be_written(path: Path) -> None:
    try:
        check(path.read_text())
    except dyn_core.DynError as problem:
        pytest.skip(str(problem))
