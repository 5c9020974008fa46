# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics from a URDF, in modified Denavit-Hartenberg notation."""

from dyn_core.check.check_robot import check_robot
from dyn_core.check.finding import Finding, Severity
from dyn_core.errors import DynError, ModelWarning
from dyn_core.facade.compile import compile_model
from dyn_core.facade.load import load_robot
from dyn_core.facade.model import Model
from dyn_core.facade.write import write_par, write_urdf
from dyn_core.model.robot import Robot

__all__ = [
    "DynError",
    "Finding",
    "Model",
    "ModelWarning",
    "Robot",
    "Severity",
    "check_robot",
    "compile_model",
    "load_robot",
    "write_par",
    "write_urdf",
]
