# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics from a URDF, in modified Denavit-Hartenberg notation."""

from dyn_core.check.check_robot import check_robot
from dyn_core.check.finding import Finding, Severity
from dyn_core.errors import DynError, ModelWarning
from dyn_core.excitation.box import ForbiddenBox
from dyn_core.excitation.excitation import Excitation
from dyn_core.excitation.excite import excite
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.expansion.expanded_lagrange import ExpandedLagrange, expanded_lagrange
from dyn_core.facade.compile import compile_model
from dyn_core.facade.compile_moving_base import compile_moving_base
from dyn_core.facade.compile_parallel import compile_parallel
from dyn_core.facade.driven_base import DrivenBase
from dyn_core.facade.lagrange_functions import LagrangeTerms
from dyn_core.facade.load import load_robot
from dyn_core.facade.model import Model
from dyn_core.facade.moving_base_model import MovingBaseModel
from dyn_core.facade.parallel_base import parallel_base_parameters
from dyn_core.facade.parallel_model import ParallelModel
from dyn_core.facade.write import write_par, write_urdf
from dyn_core.feasibility.actuator_limits import ActuatorLimit, ActuatorLimits, actuator_limits
from dyn_core.feasibility.assessment import Assessment, assess_motion
from dyn_core.feasibility.excess import Excess
from dyn_core.feasibility.feasibility import Feasibility
from dyn_core.feasibility.feasible_step import FeasibleStep
from dyn_core.feasibility.limits_file import read_limits
from dyn_core.feasibility.sampled_motion import SampledMotion, read_motion
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.grouping.base_parameters import BaseParameters
from dyn_core.grouping.determine import base_parameters
from dyn_core.grouping.regroup import with_base_parameters
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.identified import Identified
from dyn_core.identification.identify import identify
from dyn_core.identification.identify_payload import identify_payload
from dyn_core.identification.model import IdentificationModel, ModelEstimate, identification_model
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.payload import Payload
from dyn_core.identification.recursive import RecursiveEstimate, RecursiveEstimator
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.examine_log import LogReport, examine_log, log_of_arrays, read_log
from dyn_core.logs.log import Log
from dyn_core.loops.dyad import explicit_positions
from dyn_core.loops.explicit import ClosedForm, ExplicitRelations, Relation, explicit_relations
from dyn_core.loops.report import LoopDescription, LoopReport, loop_report
from dyn_core.model.moving_base import MovingBase
from dyn_core.model.robot import Robot
from dyn_core.parallel.base_parameters import ParallelBaseParameters
from dyn_core.results.load_parameters import load_parameters
from dyn_core.results.parameter_set import ParameterSet
from dyn_core.signals.condition import condition
from dyn_core.signals.of_arrays import signals_of_arrays
from dyn_core.signals.protocol import Protocol
from dyn_core.signals.signals import Signals
from dyn_core.simulation.model_error import with_model_error
from dyn_core.simulation.moving_base_settings import MovingBaseSettings
from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
from dyn_core.simulation.moving_state import MovingState
from dyn_core.simulation.sensors import Measurement, SensorSettings
from dyn_core.simulation.settings import SimulationSettings
from dyn_core.simulation.simulator import Simulator
from dyn_core.simulation.state import State

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
