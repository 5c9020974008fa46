# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics from a URDF, in modified Denavit-Hartenberg notation.

What loads and compiles a robot is imported at once; all else, which takes longer, when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.facade.compile import compile_model
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import load_robot

if TYPE_CHECKING:
    from dyn_core.algorithms.base_parameters.determination import base_parameters
    from dyn_core.algorithms.loops.dyads import explicit_positions
    from dyn_core.algorithms.loops.loop_report import LoopDescription, LoopReport, loop_report
    from dyn_core.algorithms.parallel.parallel_base_parameters import ParallelBaseParameters
    from dyn_core.check.check_robot import check_robot
    from dyn_core.core.findings import Finding, Severity
    from dyn_core.excitation.excitation import Excitation
    from dyn_core.excitation.excitation_settings import ForbiddenBox
    from dyn_core.excitation.excite import excite
    from dyn_core.excitation.settings import ExcitationSettings
    from dyn_core.expansion.expanded_lagrange import ExpandedLagrange, expanded_lagrange
    from dyn_core.facade.compile_moving_base import compile_moving_base
    from dyn_core.facade.compile_parallel import compile_parallel
    from dyn_core.facade.parallel_base import parallel_base_parameters
    from dyn_core.facade.write import write_par, write_urdf
    from dyn_core.feasibility.actuator_limits import ActuatorLimit, ActuatorLimits, actuator_limits
    from dyn_core.feasibility.assessment import Assessment, assess_motion
    from dyn_core.feasibility.excess import Excess
    from dyn_core.feasibility.feasible_step import FeasibleStep
    from dyn_core.feasibility.limits_file import read_limits
    from dyn_core.feasibility.sampled_motion import SampledMotion, read_motion
    from dyn_core.feasibility.step_feasibility import Feasibility
    from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
    from dyn_core.grouping.base_parameters import BaseParameters
    from dyn_core.grouping.regroup import with_base_parameters
    from dyn_core.identification.estimators.identification_model import (
        IdentificationModel,
        ModelEstimate,
        identification_model,
    )
    from dyn_core.identification.friction.friction_model import FrictionModel
    from dyn_core.identification.identify import identify
    from dyn_core.identification.motor_coupling import MotorCoupling
    from dyn_core.identification.online.recursive_estimator import RecursiveEstimate, RecursiveEstimator
    from dyn_core.identification.output.identified_parameters import Identified
    from dyn_core.identification.output.parameter_file import load_parameters
    from dyn_core.identification.output.parameter_set import ParameterSet
    from dyn_core.identification.payload.payload_identification import identify_payload
    from dyn_core.identification.payload.payload_parameters import Payload
    from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
    from dyn_core.identification.settings import IdentificationSettings
    from dyn_core.logs.conditioning.signals import Signals
    from dyn_core.logs.log import Log
    from dyn_core.logs.log_reading import LogReport, examine_log, log_of_arrays, read_log
    from dyn_core.loops.explicit import ClosedForm, ExplicitRelations, Relation, explicit_relations
    from dyn_core.model.fixed_base.driven_base import DrivenBase
    from dyn_core.model.fixed_base.lagrange_functions import LagrangeTerms
    from dyn_core.model.moving_base.compiled_model import MovingBaseModel
    from dyn_core.model.moving_base.moving_base import MovingBase
    from dyn_core.model.parallel.compiled_model import ParallelModel
    from dyn_core.signals.condition import condition
    from dyn_core.signals.of_arrays import signals_of_arrays
    from dyn_core.signals.protocol import Protocol
    from dyn_core.simulation.model_error import with_model_error
    from dyn_core.simulation.moving_base_settings import MovingBaseSettings
    from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
    from dyn_core.simulation.moving_state import MovingState
    from dyn_core.simulation.settings import SimulationSettings
    from dyn_core.simulation.simulated_state import Measurement, SensorSettings
    from dyn_core.simulation.simulator import Simulator
    from dyn_core.simulation.state import State

_MODULES = {
    "check_robot": "dyn_core.check.check_robot",
    "Finding": "dyn_core.core.findings",
    "Severity": "dyn_core.core.findings",
    "ForbiddenBox": "dyn_core.excitation.excitation_settings",
    "Excitation": "dyn_core.excitation.excitation",
    "excite": "dyn_core.excitation.excite",
    "ExcitationSettings": "dyn_core.excitation.settings",
    "ExpandedLagrange": "dyn_core.expansion.expanded_lagrange",
    "expanded_lagrange": "dyn_core.expansion.expanded_lagrange",
    "compile_moving_base": "dyn_core.facade.compile_moving_base",
    "compile_parallel": "dyn_core.facade.compile_parallel",
    "DrivenBase": "dyn_core.model.fixed_base.driven_base",
    "LagrangeTerms": "dyn_core.model.fixed_base.lagrange_functions",
    "MovingBaseModel": "dyn_core.model.moving_base.compiled_model",
    "parallel_base_parameters": "dyn_core.facade.parallel_base",
    "ParallelModel": "dyn_core.model.parallel.compiled_model",
    "write_par": "dyn_core.facade.write",
    "write_urdf": "dyn_core.facade.write",
    "ActuatorLimit": "dyn_core.feasibility.actuator_limits",
    "ActuatorLimits": "dyn_core.feasibility.actuator_limits",
    "actuator_limits": "dyn_core.feasibility.actuator_limits",
    "Assessment": "dyn_core.feasibility.assessment",
    "assess_motion": "dyn_core.feasibility.assessment",
    "Excess": "dyn_core.feasibility.excess",
    "Feasibility": "dyn_core.feasibility.step_feasibility",
    "FeasibleStep": "dyn_core.feasibility.feasible_step",
    "read_limits": "dyn_core.feasibility.limits_file",
    "SampledMotion": "dyn_core.feasibility.sampled_motion",
    "read_motion": "dyn_core.feasibility.sampled_motion",
    "TorqueSpeedCurve": "dyn_core.feasibility.torque_speed_curve",
    "BaseParameters": "dyn_core.grouping.base_parameters",
    "base_parameters": "dyn_core.algorithms.base_parameters.determination",
    "with_base_parameters": "dyn_core.grouping.regroup",
    "BaseColumns": "dyn_core.identification.regressor.base_columns",
    "base_columns": "dyn_core.identification.regressor.base_columns",
    "FrictionModel": "dyn_core.identification.friction.friction_model",
    "Identified": "dyn_core.identification.output.identified_parameters",
    "identify": "dyn_core.identification.identify",
    "identify_payload": "dyn_core.identification.payload.payload_identification",
    "IdentificationModel": "dyn_core.identification.estimators.identification_model",
    "ModelEstimate": "dyn_core.identification.estimators.identification_model",
    "identification_model": "dyn_core.identification.estimators.identification_model",
    "MotorCoupling": "dyn_core.identification.motor_coupling",
    "Payload": "dyn_core.identification.payload.payload_parameters",
    "RecursiveEstimate": "dyn_core.identification.online.recursive_estimator",
    "RecursiveEstimator": "dyn_core.identification.online.recursive_estimator",
    "IdentificationSettings": "dyn_core.identification.settings",
    "LogReport": "dyn_core.logs.log_reading",
    "examine_log": "dyn_core.logs.log_reading",
    "log_of_arrays": "dyn_core.logs.log_reading",
    "read_log": "dyn_core.logs.log_reading",
    "Log": "dyn_core.logs.log",
    "explicit_positions": "dyn_core.algorithms.loops.dyads",
    "ClosedForm": "dyn_core.loops.explicit",
    "ExplicitRelations": "dyn_core.loops.explicit",
    "Relation": "dyn_core.loops.explicit",
    "explicit_relations": "dyn_core.loops.explicit",
    "LoopDescription": "dyn_core.algorithms.loops.loop_report",
    "LoopReport": "dyn_core.algorithms.loops.loop_report",
    "loop_report": "dyn_core.algorithms.loops.loop_report",
    "MovingBase": "dyn_core.model.moving_base.moving_base",
    "ParallelBaseParameters": "dyn_core.algorithms.parallel.parallel_base_parameters",
    "load_parameters": "dyn_core.identification.output.parameter_file",
    "ParameterSet": "dyn_core.identification.output.parameter_set",
    "condition": "dyn_core.signals.condition",
    "signals_of_arrays": "dyn_core.signals.of_arrays",
    "Protocol": "dyn_core.signals.protocol",
    "Signals": "dyn_core.logs.conditioning.signals",
    "with_model_error": "dyn_core.simulation.model_error",
    "MovingBaseSettings": "dyn_core.simulation.moving_base_settings",
    "MovingBaseSimulator": "dyn_core.simulation.moving_base_simulator",
    "MovingState": "dyn_core.simulation.moving_state",
    "Measurement": "dyn_core.simulation.simulated_state",
    "SensorSettings": "dyn_core.simulation.simulated_state",
    "SimulationSettings": "dyn_core.simulation.settings",
    "Simulator": "dyn_core.simulation.simulator",
    "State": "dyn_core.simulation.state",
}
"""Where the names are that are imported when they are asked for."""

__all__ = [
    "ActuatorLimit",
    "ActuatorLimits",
    "Assessment",
    "BaseColumns",
    "BaseParameters",
    "ClosedForm",
    "DrivenBase",
    "DynError",
    "Excess",
    "Excitation",
    "ExcitationSettings",
    "ExpandedLagrange",
    "ExplicitRelations",
    "Feasibility",
    "FeasibleStep",
    "Finding",
    "ForbiddenBox",
    "FrictionModel",
    "IdentificationModel",
    "IdentificationSettings",
    "Identified",
    "LagrangeTerms",
    "Log",
    "LogReport",
    "LoopDescription",
    "LoopReport",
    "Measurement",
    "Model",
    "ModelEstimate",
    "ModelWarning",
    "MotorCoupling",
    "MovingBase",
    "MovingBaseModel",
    "MovingBaseSettings",
    "MovingBaseSimulator",
    "MovingState",
    "ParallelBaseParameters",
    "ParallelModel",
    "ParameterSet",
    "Payload",
    "Protocol",
    "RecursiveEstimate",
    "RecursiveEstimator",
    "Relation",
    "Robot",
    "SampledMotion",
    "SensorSettings",
    "Severity",
    "Signals",
    "SimulationSettings",
    "Simulator",
    "State",
    "TorqueSpeedCurve",
    "actuator_limits",
    "assess_motion",
    "base_columns",
    "base_parameters",
    "check_robot",
    "compile_model",
    "compile_moving_base",
    "compile_parallel",
    "condition",
    "examine_log",
    "excite",
    "expanded_lagrange",
    "explicit_positions",
    "explicit_relations",
    "identification_model",
    "identify",
    "identify_payload",
    "load_parameters",
    "load_robot",
    "log_of_arrays",
    "loop_report",
    "parallel_base_parameters",
    "read_limits",
    "read_log",
    "read_motion",
    "signals_of_arrays",
    "with_base_parameters",
    "with_model_error",
    "write_par",
    "write_urdf",
]


if not TYPE_CHECKING:  # where names that do not exist are to be found

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(_MODULES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Name what can be asked for."""
    return sorted({*globals(), *__all__})
