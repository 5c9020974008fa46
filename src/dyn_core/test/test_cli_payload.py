# SPDX-License-Identifier: Apache-2.0
"""Payloads from logs on the command line, with truth by Pinocchio and by hand, and errors."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from dyn_process import interrupted_at
from identification_log import URDF, true_robot, write_log, write_table
from pinocchio_oracle import Oracle
from refusals import printed_refusal
from simulated_truth import SIX, arm, arm_urdf, exact_motion, excitation, sensed, with_drives

import dyn_core
from dyn_core.cli.main import main
from dyn_core.identification.payload.payload_identification import WITH, WITHOUT

Capture = pytest.CaptureFixture[str]
MASS, CENTRE = 1.2, (0.05, 0.02, -0.03)
INERTIA = (0.004, 0.0002, -0.0001, 0.005, 0.0003, 0.003)
BOX = """<link name="box"><inertial><origin xyz="{} {} {}"/><mass value="{}"/><inertia
 ixx="{}" ixy="{}" ixz="{}" iyy="{}" iyz="{}" izz="{}"/></inertial></link>
<joint name="grip" type="fixed"><parent link="{{}}"/><child link="box"/></joint></robot>""".format(
    *CENTRE, MASS, *INERTIA
)
JOINTS = ("shoulder", "elbow")
SERVICE = "ros2 service call /feedforward/set_payload dyn_msgs/srv/SetPayload "


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description, logs without and with a payload, and the identified parameters of the unloaded arm."""
    directory = tmp_path_factory.mktemp("payload")
    (directory / "two.urdf").write_text(URDF)
    write_log(directory / "empty.csv", true_robot())
    write_log(directory / "full.csv", true_robot().with_payload("tool", MASS, CENTRE, INERTIA), seed=3)
    log = ["--log", str(directory / "empty.csv"), "--out", str(directory / "arm")]
    assert main(["identify", str(directory / "two.urdf"), *log, "--quiet", "--friction", "standard"]) == 0
    return directory


def run(
    place: Path, *more: str, log: str = "full.csv", other: str | None = "empty.csv", link: str = "tool"
) -> int:
    files = {"--log": log, "--unloaded": other}
    given = [word for option, name in files.items() if name for word in (option, str(place / name))]
    return main(["payload", str(place / "two.urdf"), "--link", link, *given, *more])


def answered(capsys: Capture) -> dict:
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def write_six(path: Path, text: str, seed: int, noise: float = 0.005) -> None:
    """A log of the six-joint arm: bodies by Pinocchio, friction by hand, and simulated sensors."""
    expected = arm(SIX)
    motion = exact_motion(expected, 12.0, seed)
    oracle = Oracle(text, expected.joint_names, expected.gravity)
    states = zip(motion.q, motion.qd, motion.qdd, strict=True)
    rigid = [oracle.inverse_dynamics(*state, {}) for state in states]
    size = np.linspace(1.0, 0.1, 6)
    motion.tau[...] = rigid + size * (3.0 * motion.qd + 4.0 * np.sign(motion.qd))
    write_table(path, expected.joint_names, motion.time, *sensed(motion, seed, torque_noise=noise))


def test_a_payload_by_pinocchio_is_found_with_all_ten_parameters(tmp_path: Path, capsys: Capture) -> None:
    """Pinocchio has it as another link on a fixed joint; all ten values are within 4 deviations."""
    text = arm_urdf(SIX)
    (tmp_path / "arm.urdf").write_text(text)
    write_six(tmp_path / "empty.csv", text, seed=1)
    write_six(tmp_path / "full.csv", text.replace("</robot>", BOX.format("link_6")), seed=2)
    logs = ["--log", str(tmp_path / "full.csv"), "--unloaded", str(tmp_path / "empty.csv")]
    command = ["payload", str(tmp_path / "arm.urdf"), "--link", "link_6", *logs, "--friction", "standard"]
    assert main([*command, "--json", "--out", str(tmp_path / "payload.yaml")]) == 0
    found = answered(capsys)
    truth = (MASS, *CENTRE, *INERTIA)
    for value, expected in zip(found["values"], truth, strict=True):
        assert value["shown"]
        assert value["value"] == pytest.approx(expected, abs=4.0 * value["deviation"]), value["name"]
    assert found["values"][0]["deviation"] < 0.02 * MASS
    assert found["errors"]["with_payload"]["held_out"]["relative_torque_error"] < 0.02
    assert found["errors"]["without_payload"]["held_out"]["relative_torque_error"] > 0.1
    # The file is a service request with the values that the command prints.
    request = yaml.safe_load((tmp_path / "payload.yaml").read_text())
    assert found["service_call"].startswith(SERVICE)
    assert yaml.safe_load(shlex.split(found["service_call"])[-1]) == request
    (payload,) = request.values()
    assert ([*request], payload["link_name"]) == (["payload"], "link_6")
    body = payload["inertia"]
    moments = [body[f"i{ab}"] for ab in ("xx", "xy", "xz", "yy", "yz", "zz")]
    numbers = [body["m"], *body["com"].values(), *moments]
    assert all(isinstance(number, float) for number in numbers)
    assert numbers == pytest.approx([v["value"] for v in found["values"]], rel=1e-11)
    arm(SIX).with_payload("link_6", numbers[0], numbers[1:4], numbers[4:])  # a physically possible body


@pytest.mark.parametrize("known", [False, True], ids=["pair", "parameters"])
def test_parameters_of_a_payload_that_cannot_be_identified_are_named(
    place: Path, known: bool, capsys: Capture
) -> None:
    """Two parallel axes show only the mass, its centre, and the inertia about the axes."""
    options = ["--parameters", str(place / "arm" / "parameters.yaml")] if known else []
    assert run(place, *options, "--json", other=None if known else "empty.csv") == 0
    found = answered(capsys)
    values = {value["name"]: value for value in found["values"]}
    shown = [name for name, value in values.items() if value["shown"]]
    assert shown == ["mass", "centre x", "centre y", "centre z", "YY"]
    truth = {"mass": MASS, **dict(zip(shown[1:4], CENTRE, strict=True))}
    for name, expected in truth.items():
        assert values[name]["value"] == pytest.approx(expected, abs=4.0 * values[name]["deviation"]), name
    assert values["XX"]["deviation"] is None
    remarks = {remark["code"]: remark["values"] for remark in found["remarks"]}
    assert remarks["payload-values-hidden"]["hidden"] == ["XX", "XY", "XZ", "YZ", "ZZ"]
    assert ("payload-arm-believed" in remarks) == known
    errors = found["errors"]
    assert errors["with_payload"]["held_out"]["relative_torque_error"] < 0.005
    assert errors["without_payload"]["held_out"]["relative_torque_error"] > 0.15


def test_the_printed_text(place: Path, capsys: Capture) -> None:
    assert run(place) == 0
    text = capsys.readouterr().out
    for part in ("link 'tool' holds", "the best fit", "the last 35 % of the log, which no fit has seen"):
        assert part in text
    of_values = (r"mass +1\.[12]\d* +0\.0\d+  kg", r"XX +\S+ +not shown  kg m\^2")
    for line in (*of_values, r"all +0\.\d\d % +0\.\d\d % +[23]\d\.\d\d %"):
        assert re.search(f"^{line}$", text, re.MULTILINE), line
    assert text.splitlines()[-1].startswith(SERVICE)
    assert run(place, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert run(place, "--train", "1") == 0
    assert "nothing was held out" in capsys.readouterr().out


PENDULUM = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial><origin xyz="0.2 0 0"/>
<mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="100" velocity="5"/></joint></robot>"""


def write_pendulum(path: Path, mass: float, seed: int, noise: float = 0.01) -> None:
    """The log of a rod of 2 kg with a mass at 0.4 m, by hand."""
    t, q, qd, qdd = excitation(1, 8.0, seed, speed=2.5)
    J = 0.02 + 2.0 * 0.2**2 + mass * (0.4**2 + 0.001)
    moment = 2.0 * 0.2 + mass * 0.4
    tau = J * qdd - 9.81 * moment * np.cos(q) + 0.3 * qd + 0.5 * np.sign(qd)
    tau += noise * np.random.default_rng(seed).normal(size=tau.shape)
    write_table(path, ["hinge"], t, q, tau)


def test_a_pendulum_by_hand(tmp_path: Path, capsys: Capture) -> None:
    """One axis shows the first moment and the inertia about it; no mass is reported."""
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    write_pendulum(tmp_path / "empty.csv", 0.0, 1)
    write_pendulum(tmp_path / "full.csv", 0.5, 2)
    command = ["payload", str(tmp_path / "pendulum.urdf"), "--link", "rod", "--json"]
    full, empty = str(tmp_path / "full.csv"), str(tmp_path / "empty.csv")
    assert main([*command, "--log", full, "--unloaded", empty]) == 0
    found = answered(capsys)
    assert not [value for value in found["values"] if value["name"] in ("mass", "YY") and value["shown"]]
    assert found["parameters"]["MX"] == pytest.approx(0.2, abs=0.002)
    assert found["parameters"]["YY"] == pytest.approx(0.5 * (0.4**2 + 0.001), abs=0.002)
    assert found["errors"]["with_payload"]["held_out"]["relative_torque_error"] < 0.005
    # The reported mass is one that a body with this centre can have.
    assert 0.1 < found["mass"] < 2.0
    # With the logs exchanged, no body explains the difference.
    assert main([*command, "--log", empty, "--unloaded", full]) == 1
    error = printed_refusal(capsys)
    assert error["code"] in ("payload-body-inconsistent", "payload-body-not-found")
    assert error["values"]["link"] == "rod"


def test_reported_deviations_match_the_errors() -> None:
    """12 arms with noise: errors of about 1 deviation, and none of the 120 values beyond 4."""
    robot = with_drives(arm(SIX))
    loaded = robot.with_payload("link_6", MASS, CENTRE, INERTIA)
    truth = np.array([MASS, *CENTRE, *INERTIA])
    empty, full = exact_motion(robot, 10.0, 1), exact_motion(loaded, 10.0, 2)
    settings = dyn_core.IdentificationSettings((dyn_core.FrictionModel(),) * 6, diagnose=False)
    errors = []
    for seed in range(12):
        signals = []
        for m, s in ((full, seed), (empty, seed + 100)):
            log = dyn_core.log_of_arrays(robot.joint_names, m.time, *sensed(m, s))
            signals.append(dyn_core.condition(log, dyn_core.Protocol(cutoff=15.0, decimate=20)))
        found = dyn_core.identify_payload(arm(SIX), "link_6", *signals, settings)
        values = np.array([value.value for value in found.values])
        errors.append((values - truth) / np.array([value.deviation for value in found.values]))
    rms = np.sqrt(np.mean(np.square(errors)))
    assert 0.5 < rms < 1.2
    assert np.abs(errors).max() < 4.0


KNOWN = {"other": None, "options": ["--parameters", "{place}/arm/parameters.yaml", "--friction", "auto"]}
NO_FILE = {"other": None, "options": ["--parameters", "{place}/two.urdf"]}
REFUSED: dict[str, tuple[dict, str, dict]] = {
    "interchanged": ({"log": "empty.csv", "other": "full.csv"}, "payload-mass-negative", {"link": "tool"}),
    "the same log": ({"other": "full.csv"}, "logs-identical", {}),
    "no such link": ({"link": "hand"}, "link-unknown", {"link": "hand"}),
    "a link that does not move": ({"link": "base"}, "motion-shows-no-payload", {"link": "base"}),
    "no such log": ({"log": "none.csv"}, "log-missing", {}),
    "another joint": ({"log": "other_joint.csv"}, "log-joint-missing", {"missing": ["elbow"]}),
    "too short": ({"log": "short.csv"}, "log-too-short", {}),
    "at rest": ({"log": "rest.csv"}, "signals-without-motion", {"motion": WITH}),
    "the other at rest": ({"other": "rest.csv"}, "signals-without-motion", {"motion": WITHOUT}),
    "a wrong sign": ({"log": "sign.csv"}, "torque-sign-wrong", {"motion": WITH}),
    "a wrong sign of the other": ({"other": "sign.csv"}, "torque-sign-wrong", {"motion": WITHOUT}),
    "friction of a known arm": (KNOWN, "option-needs-unloaded", {"option": "--friction"}),
    "no parameters": (NO_FILE, "node-not-mapping", {}),
    "a file that is needed": ({"options": ["--out", "{place}/empty.csv"]}, "output-replaces-input", {}),
    "a place that is not there": ({"options": ["--out", "{place}/no/payload.yaml"]}, "file-unwritable", {}),
}


@pytest.fixture(scope="module")
def mistakes(place: Path) -> Path:
    loaded = true_robot().with_payload("tool", MASS, CENTRE, INERTIA)
    write_log(place / "sign.csv", loaded, seed=4, sign=(1.0, -1.0))
    head, *rows = (place / "full.csv").read_text().splitlines()
    (place / "short.csv").write_text("\n".join([head, *rows[:90]]))
    (place / "other_joint.csv").write_text("\n".join([head.replace("elbow", "wrist"), *rows]))
    still = [f"{k * 0.001},0.1,0.2,{1 + 1e-3 * (k % 7)},2" for k in range(3000)]
    (place / "rest.csv").write_text("\n".join([head, *still]))
    return place


def values_of(error: dict) -> tuple[str, dict]:
    """Return the code and the values of an error; for a motion, those of its cause, and which motion."""
    values, found = error["values"], {}
    while isinstance(values.get("cause"), dict):
        found |= {name: value for name, value in values.items() if name in ("motion", "subject")}
        error = values["cause"]
        values = error["values"]
    return error["code"], found | values


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_give_one_sentence_and_no_file(
    mistakes: Path, tmp_path: Path, case: str, capsys: Capture
) -> None:
    files, code, values = REFUSED[case]
    options = [option.format(place=mistakes) for option in files.get("options", [])]
    files = {name: file for name, file in files.items() if name != "options"}
    out = [] if "--out" in options else ["--out", str(tmp_path / "payload.yaml")]
    before = (mistakes / "empty.csv").read_bytes()
    assert run(mistakes, *options, *out, "--quiet", "--json", **files) == 1
    error = printed_refusal(capsys)
    found_code, found = values_of(error)
    assert (found_code, found) == (code, found | values)
    if "sign" in case:
        assert found["subject"] == "joint 'elbow'"
    if case == "interchanged":
        assert found["mass"] < -1.0
    if case in ("no such log", "another joint", "too short", "no parameters"):
        assert (files.get("log") or "two.urdf") in str(error)
    assert not list(tmp_path.iterdir())
    assert (mistakes / "empty.csv").read_bytes() == before


def test_the_parameters_of_the_unloaded_arm_are_required(place: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        run(place, other=None)
    assert ended.value.code == 2
    assert "--unloaded --parameters" in capsys.readouterr().err


def test_a_doubtful_payload_gives_a_remark(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """No payload; and the wrong link: the elbow carries the payload that is assigned to the upper arm."""
    write_log(tmp_path / "again.csv", true_robot(), seed=7)
    assert run(place, "--json", log=str(tmp_path / "again.csv")) == 0
    found = answered(capsys)
    assert found["mass"] < 4.0 * found["values"][0]["deviation"]
    assert "payload-mass-uncertain" in [remark["code"] for remark in found["remarks"]]
    assert run(place, "--json", link="upper") == 0
    (first, *_) = answered(capsys)["remarks"]
    assert (first["code"], first["values"]["link"]) == ("payload-link-doubtful", "upper")


def test_a_map_of_its_own_for_each_log(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """The unloaded log has half of the efforts, and its map corrects this."""
    table = np.genfromtxt(place / "empty.csv", delimiter=",", names=True, deletechars="")
    q, tau = (np.column_stack([table[f"{what}.{j}"] for j in JOINTS]) for what in ("position", "effort"))
    write_table(tmp_path / "half.csv", JOINTS, table["time"], q, 0.5 * tau)
    joints = "".join(f"  {joint}: {{effort: {{gain: 2}}}}\n" for joint in JOINTS)
    (tmp_path / "half.yaml").write_text(f"joints:\n{joints}")
    options = ["--unloaded-map", str(tmp_path / "half.yaml"), "--json"]
    assert run(place, *options, other=str(tmp_path / "half.csv")) == 0
    assert answered(capsys)["mass"] == pytest.approx(MASS, rel=0.02)


def test_ctrl_c_leaves_the_old_files(place: Path, tmp_path: Path) -> None:
    """Interrupted at the first stage and at a later one, on a pseudo-terminal."""
    out = tmp_path / "payload.yaml"
    out.write_text("earlier\n")
    files = ["--log", str(place / "full.csv"), "--unloaded", str(place / "empty.csv"), "--out", str(out)]
    for stage in ("reading the log", "choosing friction"):
        code, rest = interrupted_at(stage, "payload", str(place / "two.urdf"), "--link", "tool", *files)
        assert code == 130
        assert "dyn: interrupted" in rest
        assert "Traceback" not in rest
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"payload.yaml": "earlier\n"}
