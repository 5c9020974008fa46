# SPDX-License-Identifier: Apache-2.0
"""Programs of the nodes that get a signal while their modules are imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

CODE = """
import os, signal, sys
class Sent:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))
sys.meta_path.insert(0, Sent())
from dyn_nodes import executables
sys.exit(getattr(executables, sys.argv[3])())
"""
NODES = ("feedforward", "simulation", "controller", "governor", "identification", "compose")


@pytest.mark.parametrize(
    ("node", "number"), [(node, signal.SIGINT) for node in NODES] + [("feedforward", 15)]
)
@pytest.mark.parametrize("module", ["numpy", "rclpy", "dyn_nodes.common"])
def test_a_signal_while_modules_are_imported(module: str, node: str, number: int) -> None:
    """They end quietly, whatever library is being imported."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CODE, module, str(int(number)), node]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
