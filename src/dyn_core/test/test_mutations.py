# SPDX-License-Identifier: Apache-2.0
"""Damaged text gives a robot with finite numbers or a DynError, never another exception.

DYN_MUTATIONS sets the number of texts of each kind, and DYN_MUTATIONS_SEED the first seed; by default each
run begins with another seed, which is printed.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import time
import warnings
from random import Random

import pytest
from depth import TIMES
from robots import ROBOTS

import dyn_core

COUNT = int(os.environ.get("DYN_MUTATIONS", "0")) or round(20_000 * TIMES) or 2000
SEED = os.environ.get("DYN_MUTATIONS_SEED") or str(Random().randrange(10**9))
MOST_SECONDS = 10.0  # for one text, on a busy machine
MOST_MEGABYTES = 500.0  # for all texts

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z_]\w*")
VALUES = (
    *("nan", "inf", "1e308", "-1e308", "1e-320", "1e9", "-1", "0", "2", "1.5708", "1e-9", "1e99999999"),
    *("0 0 0", "1e308 0 0", "1e9 0 0", "1 1e-12 0", "", " ", "\x00", "\ud800", "٣", "${x}", "9" * 400),
    *("t1", "Pi/2", "1/0"),
)
PIECES = (
    *("<", "/>", "&lt;", "&x;", "<!DOCTYPE a>", "<link/>", '"', "fixed", "prismatic", "planar"),
    *("<mimic joint='j'/>", "(*", "*)", "{", "}", ",", "=", "(" * 40, "-" * 40, "\n", "\t", ": ", "- "),
    *("&a ", "*a", "!!", "[" * 30, "|", "%", "\x85", "\u2028", "\ufeff", "Infinity", "loops:", "universal"),
    *("t2", "sqrt(", "1e-400", "floating", "p/y", "w/pitch_link"),
)

FULL = """<robot name="full">
<link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0 1.5708 0"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0.1" izz="1"/></inertial></link>
<link name="b"><inertial><mass value="1"/></inertial></link><link name="c"/><link name="tip"/>
<link name="cart"/><link name="drone"><inertial><mass value="1"/></inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<dynamics damping="1" friction="2" armature="0.5"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0.5 0 0" rpy="-1.5708 0 3.14159"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
<joint name="j3" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="0 0.7071 0.7071"/>
<mimic joint="j2" multiplier="-0.5" offset="0.1"/></joint>
<joint name="p" type="planar"><parent link="a"/><child link="cart"/><origin xyz="0 0.2 0"/>
<axis xyz="0 -0.7071 0.7071"/><limit effort="1" velocity="1"/><dynamics damping="1 1 1"/></joint>
<joint name="w" type="floating"><parent link="cart"/><child link="drone"/><origin rpy="0 1.5708 0"/></joint>
<joint name="f" type="fixed"><parent link="c"/><child link="tip"/><origin rpy="0.1 0.2 0.3"/></joint>
<transmission name="t"><joint name="j2"/><actuator name="m"><drake:rotor_inertia value="1e-4"/>
<mechanicalReduction>50</mechanicalReduction></actuator></transmission>
<ros2_control type="system"><joint name="j1"><command_interface name="effort"/>
<param name="rotor_inertia">0.5</param></joint><joint name="j2"/><joint name="w"/>
<joint name="p/x"><command_interface name="effort"/><param name="rotor_inertia">2</param></joint>
</ros2_control>
<constraint name="k" type="revolute"><parent link="base"/>
<parent_origin xyz="1 0 0"/><parent_axis xyz="0 1 0"/>
<child link="tip"/><child_origin xyz="0 0 1"/><child_axis xyz="0 1 0"/></constraint>
<loop_joint name="l" type="spherical">
<link1 link="base" xyz="1 0 0" rpy="0 0 0"/><link2 link="tip"/></loop_joint>
</robot>"""
SIDE = """\
loops:
  - name: closure
    type: universal
    parent: {link: base, xyz: [0.1, 0, 0], rpy: [0, 0, 1.57]}
    child: {link: tip}
    axis: [0, 0, 2]
    axis2: [1, 0, 0]
passive: [j2]
assembly: {j2: 1.1, j1: -0.2}
rotor_inertia: {j1: 0.4, j3: 1}
friction:
  j2: {viscous: 1, coulomb: 5, offset: -.1}
"""
PAR = """(* Robotname = 'p' *) (* Joint names: a, b, c *)
NL = 3 NJ = 4 NF = 6 Type = 2
Ant = {0,1,0,2,3,2} Sigma = {0,1,0,0,2,2} B = {0,0.1,0,0,0,0} d = {0,1,0.5,1,1,0} R = {0,r2 + 0.2,0,0,0,1}
gamma = {0,0,0.3,0,0,0} Alpha = {0,Pi/2,-1.5708,0,0,0} Theta = {t1,0,2*t1 - Pi/2,t4,0,0.1} Mu = {1,0,0,0,0,0}
XX = {1,1,1} XY = {0,0,0.1} YY = {1,1,1} ZZ = {1,1,1.5*(2 - 1)} MX = {0.1,0,0}
M = {1,2,3} IA = {0.1,0,0} FS = {1,1,1}
FX = {0,0,FX3} G = {0,-9.81,0} Z = {1,0,0,1,0,1,0,2,0,0,1,3,0,0,0,1}
"""


def mutated(text: str, random: Random) -> str:
    """Damage a text in one place: change a value, or remove or repeat a part."""
    kind = random.randrange(7)
    at = random.randrange(len(text) + 1)
    if kind == 0:  # another value for an attribute
        start = text.find('"', at)
        if start != -1 and (end := text.find('"', start + 1)) != -1:
            return f"{text[: start + 1]}{random.choice(VALUES)}{text[end:]}"
    # another number, another word
    if kind in (1, 2) and (match := (NUMBER if kind == 1 else WORD).search(text, at)):
        other = random.choice(VALUES if kind == 1 else WORD.findall(text))
        return text[: match.start()] + other + text[match.end() :]
    if kind == 3:  # a part is missing
        return text[:at] + text[at + random.randrange(60) :]
    if kind == 4:  # a part is repeated elsewhere
        source = random.randrange(len(text) + 1)
        return text[:at] + text[source : source + random.randrange(200)] + text[at:]
    if kind == 5:  # a line is missing or repeated
        lines = text.split("\n")
        k = random.randrange(len(lines))
        lines[k : k + 1] = [lines[k]] * random.choice((0, 2))
        return "\n".join(lines)
    return text[:at] + random.choice(PIECES) + text[at:]


OF_FILES = tuple((ROBOTS / f"{name}.urdf").read_text() for name in ("rrp", "rx90", "two_branch"))
KINDS = {"urdf": ((FULL, FULL, *OF_FILES), 1.0), "side file": ((SIDE,), 0.2), "par": ((PAR,), 0.5)}
"""Texts of each kind, and their share of the mutations."""


def load(kind: str, text: str, random: Random) -> dyn_core.Robot:
    if kind == "side file":
        return dyn_core.load_robot(FULL, loops=f"{text}\n")
    text = f"(* *){text}" if kind == "par" else text
    return dyn_core.load_robot(text, snap=random.choice(("digits", 0)), mimic=random.random() < 0.8)


def assert_usable(robot: dyn_core.Robot, random: Random) -> None:
    """Check that its numbers are finite, and that it can be written or gives an error."""
    assert robot.mdh_table()
    assert all(math.isfinite(x) for body in robot.bodies for x in body.values)
    assert all(math.isfinite(x) for joint in robot.joints for x in joint.origin)
    assert all(math.isfinite(x) for joint in robot.joints for x in vars(joint.mdh).values())
    if random.random() < 0.1:
        for write in (dyn_core.write_urdf, dyn_core.write_par):
            with contextlib.suppress(dyn_core.DynError):
                dyn_core.load_robot(write(robot), snap=0)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_texts_give_a_robot_or_an_error(kind: str) -> None:
    if kind == "side file":
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    originals, share = KINDS[kind]
    print(f"DYN_MUTATIONS={COUNT} DYN_MUTATIONS_SEED={SEED}")  # shown if the test fails
    random = Random(f"{kind} {SEED}")
    loaded, sentences = 0, []
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        for _ in range(round(COUNT * share)):
            text = random.choice(originals)
            for _ in range(random.choice((1, 1, 1, 2, 4))):
                text = mutated(text, random)
            begin = time.monotonic()
            try:
                robot = load(kind, text, random)
            except dyn_core.DynError as error:
                sentences.append(str(error))
            else:
                loaded += 1
                assert_usable(robot, random)
            assert time.monotonic() - begin < MOST_SECONDS, text
    least = COUNT * share / (20 if COUNT >= 20_000 else 50)
    assert loaded > least
    assert len(sentences) > least
    assert not [sentence for sentence in sentences if "\n" in sentence or len(sentence) > 600]
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before) / 1024.0
    assert used < MOST_MEGABYTES
