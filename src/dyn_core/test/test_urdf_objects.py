# SPDX-License-Identifier: Apache-2.0
"""Robots of urdf_parser_py as input and as output."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from example_robots import descriptions
from refusals import summary
from robots import ROBOTS, loop_robot
from same_robot import assert_same_robot

import dyn_core

urdf = pytest.importorskip("urdf_parser_py.urdf", reason="urdf_parser_py is not installed")

PATHS = sorted(ROBOTS.glob("*.urdf"))


def loaded(source: object) -> dyn_core.Robot:
    """Load a robot like one from another text, whose elements are on other lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(source)
    snapped = tuple(replace(value, line=0) for value in robot.snapped)
    return replace(robot, description_hash="", snapped=snapped)


def elbow() -> urdf.Robot:
    """Return a robot that is built by hand, with links and joints appended to the lists."""
    robot, pose = urdf.Robot("arm"), urdf.Pose(np.array([0.1, 0.0, 0.0]), [0, 0, 1.5708])
    inertial = urdf.Inertial(2.0, urdf.Inertia(1.0, 0.0, 0.0, 1.0, 0.0, 1.0), pose)
    robot.add_link(urdf.Link("base"))
    robot.links.append(urdf.Link("forearm", inertial=inertial))
    placed = {"origin": urdf.Pose([0, 0, 1]), "limit": urdf.JointLimit(lower=-1, upper=np.float64(1.5))}
    robot.joints.append(urdf.Joint("elbow", "base", "forearm", "revolute", [0, 0, 1], **placed))
    return robot


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_file_read_by_urdf_parser_py_is_the_same_robot(path: Path) -> None:
    """Our example robots use no elements that urdf_parser_py drops, apart from loops and rotors."""
    objects = type(dyn_core.load_robot(PATHS[0]).to_urdf()).from_xml_string(path.read_text())
    assert loaded(objects) == loaded(path)


@pytest.mark.parametrize("path", [*PATHS, *descriptions()], ids=lambda path: path.stem)
def test_robots_survive_conversion_there_and_back(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        robot = loaded(path)
    except dyn_core.DynError:
        pytest.skip("it has no link")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        objects, text = robot.to_urdf(), dyn_core.write_urdf(robot)
    assert isinstance(objects, urdf.Robot)
    for again in (text, objects.to_xml_string(), copy.deepcopy(objects)):
        assert loaded(again) == loaded(objects)
    assert capfd.readouterr() == ("", "")
    if path.stem == "rx90":
        assert_same_robot(robot, loaded(objects))


def test_rotor_inertias_and_loops_are_attributes() -> None:
    with pytest.warns(dyn_core.ModelWarning) as caught:
        objects = loop_robot("five_bar").to_urdf()
    assert (caught[0].message.code, caught[0].filename) == ("urdf-parts-lost", __file__)
    (constraint,) = objects.constraints
    assert constraint.parent in objects.link_map
    assert len(constraint.parent_axis) == len(constraint.child_origin.xyz) == 3
    armatures = [joint.dynamics.armature for joint in objects.joints if joint.dynamics]
    assert max(filter(None, armatures), default=0.0) > 0.0
    assert "armature=" in objects.to_xml_string()


def test_a_robot_made_by_hand() -> None:
    robot = dyn_core.load_robot(elbow())
    assert (robot.name, robot.joint_names, robot.link_names) == ("arm", ("elbow",), ("base", "forearm"))
    assert robot.limits["elbow"] == replace(robot.limits["elbow"], lower=-1.0, upper=1.5, effort=None)
    assert robot.bodies[1].M == 2.0
    snapped = f"link 'forearm' (line 3): inertial rpy[2] 1.5708 -> {np.pi / 2!r}"
    assert list(map(str, robot.snapped)) == [snapped]
    assert dyn_core.check_robot(elbow())
    objects = elbow()
    objects.joints[0].origin.rpy = [1.5708, 0, 0]
    elements = {value.element for value in dyn_core.load_robot(objects).snapped}
    assert elements == {"joint 'elbow'", "link 'forearm'"}


def joint(**attributes: object) -> Callable[[urdf.Robot], None]:
    return lambda robot: vars(robot.joints[0]).update(attributes)


@pytest.mark.parametrize(
    ("damage", "beginning"),
    [
        (joint(axis=[0, 0]), "urdf-object-value: axis, [0, 0], joint 'elbow'"),
        (joint(axis=5), "urdf-object-value: axis, 5, joint 'elbow'"),
        (joint(axis=[0, 0, 0]), "axis-zero at joint 'elbow', <axis> (line 12): xyz=\"0 0 1\""),
        (joint(axis=[0, 0, np.nan]), "attribute-not-finite at joint 'elbow', <axis> (line 12): xyz, nan"),
        (joint(limit=3), "urdf-object-value: limit, 3, joint 'elbow'"),
        (joint(parent=None), "child-element-missing at joint 'elbow' (line 10): parent"),
        (joint(child="hand"), "joint-end-unknown at joint 'elbow' (line 10): child, hand"),
        (joint(type="ball"), "joint-type-unknown at joint 'elbow' (line 10): ball"),
        (joint(name=None), "attribute-missing at joint (line 10): name"),
        (joint(name="a\x00"), "xml-malformed: 10"),
        (lambda arm: arm.links.clear(), "robot-without-links"),
        (lambda arm: arm.links.append("hand"), "urdf-object-value: link, "),
        (lambda arm: setattr(arm.links[1].inertial, "mass", -1), "link-mass-negative at link 'forearm', <m"),
        (lambda arm: setattr(arm, "links", 1), "urdf-object-value: link, 1, robot 'arm'"),
    ],
)
def test_wrong_objects_are_refused(damage: Callable[[urdf.Robot], None], beginning: str) -> None:
    robot = elbow()
    damage(robot)
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(robot)
    error = caught.value
    assert summary(error).startswith(beginning)
    assert error.file == "URDF of the urdf_parser_py robot"
    assert error.element == error.values.get("owner", error.element)


def test_without_urdf_parser_py_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dyn_core.load_robot(PATHS[0])
    monkeypatch.delitem(sys.modules, "dyn_core.robot.urdf.urdf_objects", raising=False)
    monkeypatch.setitem(sys.modules, "urdf_parser_py", None)
    with pytest.raises(ImportError, match=r"urdf_parser_py is not installed: run .* urdf-parser-py"):
        robot.to_urdf()


ODD = (
    *(None, 0, -1.0, float("nan"), "", "0 0 1", "x" * 1000, "\ud800", b"x"),
    *([], [1], [None] * 3, {}, (), object(), urdf.Pose()),
)


def objects_in(thing: object) -> Iterator[object]:
    """Return an object of urdf_parser_py and the objects in it."""
    if isinstance(thing, list):
        for one in thing:
            yield from objects_in(one)
    elif hasattr(thing, "XML_REFL"):
        yield thing
        for value in vars(thing).values():
            yield from objects_in(value)


def test_any_value_of_any_attribute_is_read_or_refused() -> None:
    sentences = []
    for k, thing in enumerate(objects_in(elbow())):
        for name, odd in product(thing.XML_REFL.vars, ODD):
            robot = elbow()
            setattr(list(objects_in(robot))[k], name, odd)
            try:
                loaded(robot)
            except dyn_core.DynError as error:
                sentences.append(str(error))
    assert len(sentences) > 300
    assert not [sentence for sentence in sentences if "\n" in sentence or len(sentence) > 600]
