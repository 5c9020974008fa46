# SPDX-License-Identifier: Apache-2.0
"""The node `identification` over DDS, with a simulated robot and our controller."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from identified import exciting, identification, start_robot, wait_until_it_stands
from ros_graph import Graph

import dyn_core


def test_a_trajectory_is_run_and_recorded(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(1.0), repetitions=2)
        result = asked.result()
        assert (result.success, result.message) == (True, "")
        assert asked.status() == GoalStatus.STATUS_SUCCEEDED
        assert asked.feedback and 0.0 < asked.feedback[-1].fraction <= 1.0
        with Path(result.log_file).open() as file:
            rows = list(csv.reader(file))
        assert len(rows) - 1 == result.samples == pytest.approx(2 * 500, abs=60)
        log = dyn_core.examine_log(result.log_file, robot=ours_robot())
        assert log.log is not None, log


def ours_robot() -> dyn_core.Robot:
    from robot_files import ROBOTS

    return dyn_core.load_robot(ROBOTS["rrp"])


def test_identify(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph, "-p", "model_error:=0.2", "-p", "seed:=3")
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.identify(exciting(4.0))
        result = asked.result()
        print(result)
        print(asked.feedback[-1], ours.told)
        assert result.success, result.message
        print(ours.hand_over())
        again = ours.identify(log_file=str(next(tmp_path.glob("*/log.csv"))))
        result = again.result()
        assert result.success, result.message
