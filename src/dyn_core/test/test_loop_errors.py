# SPDX-License-Identifier: Apache-2.0
"""Errors in descriptions of loops name the loop, the place and the values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE
from refusals import refused, summary
from robots import example, loop_robot

import dyn_core as dyn
from dyn_core.cli.main import main

DRIVEN = {
    "ros2_control": '<ros2_control name="x" type="system"><joint name="tip">'
    '<command_interface name="effort"/></joint></ros2_control></robot>',
    "transmission": '<transmission name="x"><joint name="tip"/><actuator name="m"/></transmission></robot>',
}
PASSIVE = "passive: [left_elbow, right_elbow]"
TIP = "xyz: [0.5, 0, 0]},"
SAME = """  - {name: top, type: revolute, parent: {link: right_fore, xyz: [0.5, 0, 0]},
     child: {link: left_fore, xyz: [0.5, 0, 0]}}\n"""
AGAIN = "  - {name: tip, type: fixed, parent: {link: left_fore}, child: {link: right_fore}}\n"
FREE = ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]
FINITE = {"expected": "a finite number"}

SIDES = [
    ("link: left_fore", "link: left_four", "loop-link-unknown", "loop 'tip' (line 3)", {"link": "left_four"}),
    ("link: right_fore", "link: left_fore", "loop-ends-on-one-body", "loop 'tip' (line 3)", {}),
    (TIP, "xyz: [.nan, 0, 0]},", "node-not-finite", "loop 'tip', parent, xyz (line 3)", FINITE),
    ("2.2", ".inf", "node-not-finite", "assembly of joint 'left_shoulder' (line 6)", FINITE),
    ("name: tip", "name: left_elbow", "loop-name-of-joint", "loop 'left_elbow' (line 3)", {}),
    ("passive:", f"{AGAIN}passive:", "loop-name-repeated", "loop 'tip' (line 5)", {}),
    ("passive:", f"{SAME}passive:", "loop-repeated", "loop 'top' (line 5)", {"other": "tip"}),
    (
        *(
            "type: revolute,",
            "type: universal, axis: [0, 0, 2], axis2: [0, 0, 1],",
            "universal-axes-parallel",
        ),
        *("loop 'tip' (line 3)", {"axis": "[0, 0, 2]", "child_axis": "[0, 0, 1]"}),
    ),
    (
        *("type: revolute,", "type: universal, axis2: [0, 0.001, -1],", "universal-axes-nearly-parallel"),
        *("loop 'tip' (line 3)", {"axis": "[0, 0, 1]", "child_axis": "[0, 0.001, -1]", "angle": 0.001}),
    ),
    (FIVE_BAR_SIDE[: FIVE_BAR_SIDE.index("passive")], "loops:\n", "loops-empty", "loops (line 1)", {}),
    (PASSIVE, "passive: [left_elbow, tip]", "cut-joint-passive", "loop 'tip'", {"joint": "tip"}),
    (PASSIVE, "passive: [left_elbow, knee]", "side-file-joint-unknown", "passive", {"known": FREE}),
    (PASSIVE, "passive: [left_elbow, left_elbow]", "passive-joint-repeated", "joint 'left_elbow'", {}),
    (PASSIVE, f"rotor_inertia: {{tip: 0.3}}\n{PASSIVE}", "cut-joint-with-rotor-inertia", "loop 'tip'", {}),
    (PASSIVE, f"friction: {{tip: {{viscous: 1}}}}\n{PASSIVE}", "cut-joint-with-friction", "loop 'tip'", {}),
    ("assembly: {", "assembly: {tip: 1, ", "cut-joint-with-position", "loop 'tip'", {"joint": "tip"}),
]


@pytest.mark.parametrize(("old", "new", "code", "where", "values"), SIDES)
def test_wrong_side_files_are_refused(old: str, new: str, code: str, where: str, values: dict) -> None:
    assert old in FIVE_BAR_SIDE
    with refused(code, **values) as caught:
        dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE.replace(old, new, 1))
    assert str(caught.value.place or caught.value.element) == where


TIP_IN_URDF = """<constraint name="tip" type="revolute">
<parent link="left_fore"/><parent_origin xyz="0.5 0 0"/>
<child link="right_fore"/><child_origin xyz="0.5 0 0"/>{more}</constraint></robot>"""


@pytest.mark.parametrize(
    ("more", "code"),
    [
        *(('<dynamics damping="0.3"/>', "dynamics"), ('<limit lower="-1" upper="1"/>', "limit")),
        *(('<mimic joint="left_elbow"/>', "element"), ('<parent_orign xyz="1 0 0"/>', "element")),
    ],
)
@pytest.mark.parametrize("tag", ["constraint", "loop_joint"])
def test_unsupported_elements_of_a_loop_give_a_warning(more, code, tag, tmp_path, capsys) -> None:
    code = f"loop-{code}-not-read"
    text = FIVE_BAR.replace("</robot>", TIP_IN_URDF.format(more=more).replace("constraint", tag))
    with pytest.warns(dyn.ModelWarning) as caught:
        dyn.load_robot(text, loops=PASSIVE)
    (warning,) = (each.message for each in caught)
    name = more[1:].split()[0]
    assert (warning.code, warning.values["tag"], warning.element) == (code, name, f"{tag} 'tip'")
    (tmp_path / "robot.urdf").write_text(text)
    main(["check", str(tmp_path / "robot.urdf"), "--json"])
    assert code in [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]


INSIDE = """<predecessor link="left_fore"><origin xyz="0.5 0 0"/></predecessor>
<successor link="right_fore"><origin xyz="0.5 0 0"/></successor>"""
BESIDE = """<predecessor link="left_fore"/><predecessor_origin xyz="0.5 0 0"/>
<successor link="right_fore"/><successor_origin xyz="0.5 0 0"/>"""


def urdf_plus(sides: str, tag: str = "loop") -> str:
    """Return the five-bar as URDF+ describes it."""
    loop = f'<{tag} name="tip" type="continuous">{sides}<axis xyz="0 0 1"/></{tag}></robot>'
    text = FIVE_BAR.replace('_elbow" type', '_elbow" independent="false" type')
    return text.replace("</robot>", loop)


@pytest.mark.parametrize("sides", [INSIDE, BESIDE])
def test_a_loop_of_urdf_plus_is_the_loop_that_it_describes(sides: str, recwarn) -> None:
    """Its torques are those with a side file, which Pinocchio confirms (`test_loop_dynamics`)."""
    assembly = FIVE_BAR_SIDE[FIVE_BAR_SIDE.index("assembly") :]
    robot, same = dyn.load_robot(urdf_plus(sides), loops=assembly), dyn.load_robot(FIVE_BAR, FIVE_BAR_SIDE)
    assert not recwarn.list
    assert robot.actuated_joint_names == same.actuated_joint_names == ("left_shoulder", "right_shoulder")
    state = np.array([[2.2, 0.9], [0.3, -0.4], [1.0, 2.0]])
    one, other = (
        dyn.compile_model(each, backend="python").inverse_dynamics(*state) for each in (robot, same)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_axis_of_a_loop_of_urdf_plus_is_x_by_default() -> None:
    turned = urdf_plus(INSIDE).replace('<axis xyz="0 0 1"/></loop>', "</loop>")
    turned = turned.replace(
        '<origin xyz="0.5 0 0"/></', '<origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/></'
    )
    (loop,) = dyn.load_robot(turned, FIVE_BAR_SIDE[FIVE_BAR_SIDE.index("assembly") :]).loops
    assert loop.axis == loop.child_axis == (1.0, 0.0, 0.0)


COUPLING = '<coupling name="c"><predecessor link="left_arm"/><successor link="right_arm"/></coupling></robot>'


def test_a_loop_or_coupling_that_is_not_known_gives_a_warning() -> None:
    text = urdf_plus("<side/>").replace("</robot>", COUPLING)
    with pytest.warns(dyn.ModelWarning) as caught:
        assert dyn.load_robot(text).dof == 4
    found = [(each.message.code, each.message.element, each.message.values.get("tag")) for each in caught]
    assert found == [
        ("element-unread", "robot", "loop"),
        ("element-unread", "robot", "coupling"),
        ("joint-dependence-unread", "joint 'left_elbow'", None),
    ]


@pytest.mark.parametrize("more", ["", '<dynamics damping="0.0" friction="0"/>'])
def test_zero_friction_gives_no_warning(more: str, recwarn: pytest.WarningsRecorder) -> None:
    dyn.load_robot(FIVE_BAR.replace("</robot>", TIP_IN_URDF.format(more=more)), loops=PASSIVE)
    assert not recwarn.list


@pytest.mark.parametrize("tag", DRIVEN)
def test_a_cut_at_an_actuated_joint_is_refused(tag: str) -> None:
    driven = FIVE_BAR.replace("</robot>", DRIVEN[tag])
    constraint = '<constraint name="tip" type="revolute"><parent link="left_fore"/><child link="right_fore"/>'
    own = driven.replace("</robot>", f"{constraint}</constraint></robot>")
    for text, side, line in ((driven, FIVE_BAR_SIDE, 3), (own, None, 22)):
        with refused("loop-with-actuator") as caught:
            dyn.load_robot(text, loops=side)
        assert (caught.value.element, caught.value.line) == ("loop 'tip'", line)


def test_a_loop_of_fixed_joints_is_refused() -> None:
    joint = '<joint name="left_shoulder" type="revolute">'
    still = FIVE_BAR.replace(joint, f'{joint}<mimic joint="right_shoulder" multiplier="0"/>')
    side = "loops: [{name: c, type: revolute, parent: {link: base}, child: {link: left_arm}}]"
    with refused("loop-ends-immobile", parent="base", child="left_arm"):
        dyn.load_robot(still, loops=side)


STRETCHED = f"assembly: {{left_shoulder: 0, left_elbow: 0, right_shoulder: {math.pi}, right_elbow: 0}}"
COUNTS = {"robot": "five_bar", "joints": 4, "constraints": 2, "freedom": 2}
DEFICIT = {"actuated_joints": ["right_shoulder"], "deficit": 1, "free": [FREE[k] for k in (0, 1, 3)]}
EXCESS = {"actuated": 4, "actuated_joints": FREE, "excess": 2, "hint": ""}
NONE = {"deficit": 2, "free": FREE}
TILTED_AXIS = FIVE_BAR.replace('<axis xyz="0 0 1"/>', '<axis xyz="0.001 0 1"/>', 1)


@pytest.mark.parametrize(
    ("text", "old", "new", "code", "values"),
    [
        (FIVE_BAR, PASSIVE, f"{PASSIVE[:-1]}, left_shoulder]", "loops-underactuated", DEFICIT | COUNTS),
        (FIVE_BAR, PASSIVE, "", "loops-overactuated", EXCESS | COUNTS),
        (FIVE_BAR, PASSIVE, f"passive: [{', '.join(FREE)}]", "loops-without-actuated-joints", NONE | COUNTS),
        (FIVE_BAR, "2.2", "-1.2", "assembly-far-from-closed", {"unit": "rad", "named": sorted(FREE)}),
        (
            *(FIVE_BAR.replace("0.3 0.0 0.0", "1.8 0.0 0.0"), FIVE_BAR_SIDE.splitlines()[-1], STRETCHED),
            *("assembly-singular", {"passive": 2, "rank": 1}),
        ),
    ],
)
def test_loops_that_cannot_work_are_refused(text: str, old: str, new: str, code: str, values: dict) -> None:
    """Loading succeeds, so that `check_robot` can report more; computing dynamics fails."""
    assert old in FIVE_BAR_SIDE
    robot = dyn.load_robot(text, loops=FIVE_BAR_SIDE.replace(old, new, 1))
    for use in (lambda: dyn.compile_model(robot, backend="python"), lambda: dyn.loop_report(robot)):
        with refused(code, **{"robot": "five_bar"} | values) as caught:
            use()
        assert caught.value.element == "loop 'tip'"
    if code == "assembly-far-from-closed":
        far = caught.value.values
        assert abs(far["closed"] - far["given"]) > 0.5
        assert far["opening"].values["gap"] > 0.5
    if code == "assembly-singular":
        assert caught.value.values["positions"].startswith("left_shoulder = 0, left_elbow = 0,")


@pytest.mark.parametrize(
    ("text", "old", "new", "start", "nearest", "hint"),
    [
        (FIVE_BAR.replace("0.3 0.0 0.0", "3.3 0.0 0.0"), "", "", (3.0, 0.0), (1.59, 0.0), None),
        (FIVE_BAR, TIP, "xyz: [0.5, 0, 0], rpy: [0.001, 0, 0]},", (4.61e-4, 0.001), (0.0, 0.001), 0.001),
        (TILTED_AXIS, "", "", (5.26e-4, 1.78e-3), (1.146e-3, 9.09e-4), 0.001),
        (FIVE_BAR, TIP, "xyz: [0.5, 0, 0.01]},", (0.01, 0.0), (0.01, 0.0), None),
    ],
    ids=["lengths", "cut axis that is not parallel", "axis that is not parallel", "offset across the plane"],
)
def test_loops_that_do_not_close_are_refused(text, old, new, start, nearest, hint) -> None:
    robot = dyn.load_robot(text, loops=FIVE_BAR_SIDE.replace(old, new, 1))
    for use in (lambda: dyn.compile_model(robot, backend="python"), lambda: dyn.loop_report(robot)):
        with refused("loops-open-in-assembly", robot="five_bar") as caught:
            use()
        values = caught.value.values
        for name, expected in (("start_opening", start), ("nearest_opening", nearest)):
            assert (values[name].code, values[name].values["loop"]) == ("loop-opening", "tip")
            found = (values[name].values["gap"], values[name].values["angle"])
            assert found == pytest.approx(expected, rel=3e-3, abs=1e-9)
        assert bool(values["hint"]) == (hint is not None)
        if hint:
            assert summary(values["hint"]) == f"loop-almost-planar: {hint:.4g}, tip"


def test_wrong_actuated_joints_are_refused() -> None:
    """The number of actuators is right, but joint 1, which the loop does not move, has none."""
    loop = {"name": "joint_9", "type": "revolute", "axis": [0, 1, 0]}
    loop["parent"] = {"link": "link_8", "xyz": [0, 0, 0.95]}
    loop["child"] = {"link": "link_3", "xyz": [-0.40, 0, 0]}
    side = {"loops": [loop], "passive": ["joint_2", "joint_1"]}
    wrong = example("sr400", loops=side | {"assembly": dict(loop_robot("sr400").assembly)})
    with refused("actuated-joints-dependent", constraints=2, passive=2, rank=1, free=["joint_1"]):
        dyn.compile_model(wrong, backend="python")


def test_the_command_line_shows_no_traceback(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    side, robot = tmp_path / "side.yaml", tmp_path / "robot.urdf"
    robot.write_text(FIVE_BAR)
    for wrong in (FIVE_BAR_SIDE.replace(PASSIVE, ""), FIVE_BAR_SIDE.replace("left_fore", "nothing")):
        side.write_text(wrong)
        with pytest.raises(dyn.DynError) as caught:
            dyn.loop_report(dyn.load_robot(robot, loops=side))
        assert main(["loops", str(robot), "--side-file", str(side)]) == 1
        assert capsys.readouterr().err == f"dyn: error: {caught.value}\n"
    assert (caught.value.code, caught.value.line, caught.value.file) == ("loop-link-unknown", 3, str(side))
