# SPDX-License-Identifier: Apache-2.0
"""Programs of the nodes that get a signal while their modules are imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

CODE = """
import os, runpy, sys
class Sent:
    def __init__(self, module, number):
        self.module, self.number = module, int(number)
    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            os.kill(os.getpid(), self.number)
sys.meta_path.insert(0, Sent(*sys.argv[1:3]))
how, program = sys.argv[3:]
sys.argv[1:] = []
if how == "-m":
    runpy.run_module(program, run_name="__main__", alter_sys=True)
from dyn_nodes import executables
sys.exit(getattr(executables, program)())
"""
NODES = ("feedforward", "simulation", "controller", "governor", "identification", "compose")


def ended(module: str, number: int, *program: str) -> tuple[int, str, str]:
    """Return exit code and output of a program that gets a signal while a module is imported."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CODE, module, str(int(number)), *program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("node", "number"), [(node, signal.SIGINT) for node in NODES] + [("feedforward", 15)]
)
@pytest.mark.parametrize("module", ["numpy", "rclpy", "dyn_nodes.common"])
def test_a_signal_while_modules_are_imported(module: str, node: str, number: int) -> None:
    """They end quietly, whatever library is being imported."""
    assert ended(module, number, "executable", node) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["argparse", "rclpy", "dyn_nodes.common"])
def test_a_signal_to_compose_as_a_module(module: str, number: int) -> None:
    assert ended(module, number, "-m", "dyn_nodes.compose") == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", [("-m", "dyn_nodes.demo"), ("executable", "demo")])
@pytest.mark.parametrize("module", ["argparse", "dyn_core", "numpy", "rclpy"])
def test_a_signal_to_the_demonstration(module: str, how: tuple[str, str], number: int) -> None:
    assert ended(module, number, *how) == (130, "", "demo: stopped\n")
