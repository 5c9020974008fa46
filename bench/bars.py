# SPDX-License-Identifier: Apache-2.0
"""Bars of the benchmarks, and a count of those that are met."""

from __future__ import annotations

from dataclasses import dataclass, field

PINOCCHIO = {
    **{
        (robot, what): bar
        for robot in ("UR5", "Panda")
        for what, bar in {
            "inverse dynamics": 0.25,
            "direct dynamics": 0.35,
            "inertia matrix": 0.35,
            "regressor": 0.3,
        }.items()
    },
    **{
        ("Talos", what): 0.5
        for what in ("inverse dynamics", "direct dynamics", "inertia matrix", "regressor")
    },
    ("UR5", "inverse dynamics, batch"): 0.03,
    ("UR5", "direct dynamics, batch"): 0.06,
    ("UR5", "inverse dynamics, Python backend"): 40.0,
}
"""Largest ratios to Pinocchio, by robot and function."""

FREE_FLYER = {"solo12": 0.4, "ANYmal B": 0.4}
"""Largest ratios to Pinocchio with a free-flyer, of inverse and direct dynamics, by robot."""

LOOPS = {"sr400": 0.2, "gough_stewart": 0.2}
"""Largest ratios to Pinocchio's tree with Jacobians and solves, by robot with loops."""

PLATFORMS = {("gough_stewart", "inverse dynamics"): 0.2}
"""Largest ratios to Pinocchio's tree with Jacobians and solves, by robot with a platform and function."""

IMPORT_S = 0.25
"""Import of the modules that load and compile a robot (s)."""
START_S = {"dyn --version": 0.2, "dyn --help": 0.2, "import dyn_core, numpy": 0.2}
"""Wall time of a new interpreter, by task (s)."""
COLD_S = {
    ("UR5", "inverse dynamics"): 0.3,
    ("Panda", "all functions"): 2.0,
    ("Talos", "inverse dynamics"): 20.0,
}
WARM_S = {("Panda", "all functions"): 0.1}
GROWTH = 1.1
"""Operations for one more joint: those in the 64-joint chain relative to those in the 16-joint chain."""
REAL_TIME = {("rx90", "rk4"): 1.0 / 20.0}
"""Time of `dyn simulate` for one second of a robot, by integrator (s)."""
LOOPS_REAL_TIME = 1.0 / 50.0
"""Time of `dyn simulate` for one second of a five-bar at 1 kHz (s)."""
LOOPS_OPEN = 1e-9
"""Largest gap of the loop of a five-bar after 10 minutes (m, rad)."""
ENERGY_DRIFT = 1e-6
"""Relative change of the energy of a swing in 60 s."""
EXCITATION_CONDITION = 100.0
"""Condition number of the regressor columns of a seven-joint arm along its exciting trajectory."""
EXCITATION_S = 60.0
"""Time of the trajectory search on one core (s)."""
MOTION_DIFFERENCE = 1e-8
"""Difference from an integration of Pinocchio's direct dynamics after 1 s (rad, rad/s, m, m/s)."""
FEASIBLE_US = 15.0
"""Time to make a step of six joints feasible, called from Python (us)."""
IDENTIFY_S = 10.0
"""From a log of 30 s of seven joints at 1 kHz to a report (s)."""
VALIDATION_ERROR = 0.03
"""Torque error of the action `identify` on held-out data of a simulated arm without noise."""
APPLIED_ERROR = 0.03
"""Torque error of the identified parameters along another motion."""
LATENCY_MEDIAN = 1.15
LATENCY_P99 = 1.5
"""Largest ratios of the latency of a node to that of a relay."""
GAP_PERIODS = 3.0
"""Longest time without torques that one request or message causes (control periods)."""
GOVERNOR_ADDS = 1.05
"""Latency that the governor may add to these bars."""
TRACKING = (1.0 / 3.0, 1.0 / 10.0)
"""Largest ratios of the tracking error to that of PD control alone, with 10 % model error and without."""
MEMORY_MB = 1.0
"""Growth of resident memory in a long run."""
RATE_DRIFT = 1e-3
"""Relative difference of the message rate from its nominal value."""

WITHIN = 0.97
"""Fraction of the runs in which every essential parameter is within three reported deviations."""
DEFECTS_NAMED = 0.98
"""Fraction of simulated logs with one defect in which it is named."""
CLEAN_REFUSED = 0
"""Simulated logs without a defect whose result must not be used."""
LOG_TO_REPORT_S = 10.0
"""From a log of 30 s of a 7-joint arm at 1 kHz to its report."""
REGRESSOR = 0.25
"""Ratio of the regressor of 100,000 samples of a 7-joint arm to a loop over Pinocchio's."""
RECURSIVE_SHARE = 0.1
"""Fraction of a core that recursive estimation of a 7-joint arm uses at 1 kHz."""


@dataclass
class Bars:
    """Measured values compared with bars.

    Attributes:
        missed: one line for each bar that is not met.
        met: how many are met.
    """

    missed: list[str] = field(default_factory=list)
    met: int = 0

    def mark(self, what: str, value: float, bar: float | None) -> str:
        """Return the text after a value: its bar, and a mark where it is missed."""
        if bar is None:
            return ""
        if value <= bar:
            self.met += 1
            return f"{bar:g}"
        self.missed.append(f"{what}: {value:.3g}, bar {bar:g}")
        return f"{bar:g} missed"

    def summary(self) -> str:
        """The last lines of a run."""
        total = self.met + len(self.missed)
        return "\n".join([f"bars met: {self.met} of {total}", *(f"missed: {line}" for line in self.missed)])
