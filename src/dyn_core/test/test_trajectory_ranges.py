# SPDX-License-Identifier: Apache-2.0
"""Points from lists by joint name; ranges and speeds between points, by dense samples and by hand."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from refusals import refusal, refused
from trajectory_case import NAMES, ORDERS, random_points

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import MARGIN, OVERSHOOT, PEAK, Trajectory, check_ranges
from dyn_core.control.trajectories.trajectory_planning import planned, replaced, trajectory_points
from dyn_core.robot.joints import Limits

PAIR = ("shoulder", "elbow")
GOOD = {"names": PAIR, "times": [0.5, 1.0], "positions": [[1.0, 2.0], [3.0, 4.0]]}
GOOD |= {"velocities": [[5.0, 6.0], [0.0, 0.0]], "accelerations": [[7.0, 8.0], [9.0, 10.0]]}


def test_points_from_lists() -> None:
    """Joints are reordered; the lists may come from messages."""
    points = trajectory_points(PAIR, **{**GOOD, "names": PAIR[::-1]})
    assert points.joint_names == PAIR
    np.testing.assert_array_equal(points.times, [0.5, 1.0])
    for rows, name in ((points.q, "positions"), (points.qd, "velocities"), (points.qdd, "accelerations")):
        np.testing.assert_array_equal(rows, np.array(GOOD[name])[:, ::-1])
    none = array("d")
    q = [array("d", row) for row in GOOD["positions"]]
    points = trajectory_points(PAIR, list(PAIR), [0.0, 1.0], q, [array("d", [5.0, 6.0]), none], [none, none])
    np.testing.assert_array_equal(points.q, GOOD["positions"])
    np.testing.assert_array_equal(points.qd, [[5.0, 6.0], [math.nan, math.nan]])
    assert np.isnan(points.qdd).all()
    trajectory_points(PAIR, **{**GOOD, "velocities": [[1.0, 1.0], [0.0, 5e-8]]})
    trajectory_points(PAIR, **{**GOOD, "velocities": [[1.0, 1.0], [0.0, 5.0]]}, may_end_moving=True)
    limits = {"shoulder": Limits(-3.0, 3.0, 5.0), "elbow": Limits(), "wrist": Limits(0.0, 0.0)}
    trajectory_points(PAIR, **GOOD, limits=limits)


@pytest.mark.parametrize(
    ("changed", "code", "values"),
    [
        ({"names": ("shoulder", "knee")}, "joint-unknown", {"unknown": ["knee"]}),
        ({"names": ("elbow", "elbow")}, "joint-repeated", {"joint": "elbow"}),
        ({"names": ("elbow",)}, "joint-missing", {"missing": ["shoulder"]}),
        ({"times": []}, "empty", {}),
        ({"times": [0.5, math.nan]}, "time-not-finite", {"point": 1, "time": math.nan}),
        ({"times": [-0.5, 1.0]}, "time-negative", {"time": -0.5}),
        ({"times": [0.5, 0.5]}, "times-not-increasing", {"point": 1, "previous": 0, "time": 0.5}),
        ({"times": [0.5]}, "lengths-unequal", {"times": 1, "quantity": "positions", "given": 2}),
        ({"velocities": [[0, 0]]}, "lengths-unequal", {"times": 2, "quantity": "velocities", "given": 1}),
        ({"positions": [[1, 2], [3]]}, "point-length", {"point": 1, "given": 1, "expected": 2}),
        ({"positions": [[], [3, 4]]}, "point-length", {"point": 0, "given": 0, "quantity": "positions"}),
        ({"accelerations": [[1, 2, 3], []]}, "point-length", {"given": 3, "quantity": "accelerations"}),
        ({"positions": [[1, 2], [math.nan, 4]]}, "value-not-finite", {"point": 1, "joint": "shoulder"}),
        ({"velocities": [[1, math.inf], []]}, "value-not-finite", {"point": 0, "given": math.inf}),
        ({"velocities": [[], [0, 0]]}, "point-without-velocities", {"point": 0}),
        ({"velocities": [[1, 1], [0, -0.5]]}, "ends-moving", {"joint": "elbow", "velocity": -0.5}),
        ({"limits": {"elbow": Limits(-1, 3.5)}}, "point-out-of-range", {"position": 4.0, "upper": 3.5}),
        ({"limits": {"shoulder": Limits(velocity=4.5)}}, "point-too-fast", {"velocity": 5.0, "limit": 4.5}),
    ],
)
def test_wrong_points_are_refused(changed, code: str, values: dict) -> None:
    with refused(f"trajectory-{code}", **values):
        trajectory_points(PAIR, **{**GOOD, **changed})


def of_one(times, q, qd=None, qdd=None, start: Motion | None = None) -> Trajectory:
    """A trajectory of joint a."""
    columns = [None if rows is None else [[value] for value in rows] for rows in (q, qd, qdd)]
    return planned(trajectory_points(NAMES[:1], NAMES[:1], times, *columns), 0.0, 0.0, start)


def check(trajectory: Trajectory, speed: float = np.inf, slack: float = 0.0, **limits: float) -> None:
    check_ranges(trajectory, NAMES[:1], {"a": Limits(**limits)}, np.array([speed]), slack)


def test_motions_between_points_by_hand() -> None:
    """The cubic 2 + 4 t (1 - t / 5)^2 has its maximum after a third of the time: 2 + 80 / 27."""
    cubic, mirrored = (of_one([1.0, 6.0], [2.0 * x, 2.0 * x], [4.0 * x, 0.0]) for x in (1.0, -1.0))
    with refused("trajectory-leaves-range", position=2 + 80 / 27, time=5 / 3, upper=2.79) as error:
        check(cubic, lower=-2.79, upper=2.79)
    assert error.value.element == "joint 'a'"
    check(cubic, lower=-2.79, upper=4.97, speed=4.0)
    check(cubic)
    assert refusal(check, cubic, upper=4.9) == "trajectory-leaves-range: a, -inf, 4.963, 1.667, 4.9"
    with refused("trajectory-leaves-range", position=-4.962962962962963):
        check(mirrored, lower=-2.79, upper=2.79)
    # Very large accelerations, at rest at 0 at both points: 0.01728 a T^2 at u = 0.4.
    hard = of_one([0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0])
    with refused("trajectory-leaves-range", joint="a", position=1728000.0000000005, time=0.3999999999999997):
        check(hard, lower=-3.0, upper=3.0)
    assert refusal(check, hard, speed=2.0) == "trajectory-velocity-exceeded: a, 2.2, 0.1551, 6.779e+06"
    # A quintic from rest to rest over 0.05 in 0.02 s is as fast as PEAK times the mean.
    near = of_one([0.02], [0.05], [0.0], [0.0], start=Motion.at_rest(np.zeros(1)))
    check(near, speed=1.0, slack=0.05)
    with refused("trajectory-velocity-exceeded", velocity=PEAK * 0.05 / 0.02, time=0.01):
        check(near, speed=1.0)
    check(Trajectory.standing(np.zeros(1), 0.0), speed=0.0, lower=0.0, upper=0.0)
    check_ranges(of_one([0.0, 1.0], [5.0, 5.0]), NAMES[:1], {}, np.full(1, np.inf))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(8))
def test_extrema_agree_with_dense_samples(order: str, seed: int) -> None:
    """Limits just above the greatest sample are kept; limits just below are exceeded."""
    trajectory = planned(random_points(seed, order), 3.0)
    times = np.concatenate((np.linspace(trajectory.start, trajectory.end, 40001), trajectory.knots))
    samples, at_knots = trajectory.sample_many(times), trajectory.sample_many(trajectory.knots).q
    free = np.full(3, np.inf)
    for j, name in enumerate(NAMES):
        for bound, sign in (("upper", 1.0), ("lower", -1.0)):
            top = float((sign * samples.q[:, j]).max())
            ends = [sign * (top - OVERSHOOT - beyond) for beyond in (-1e-6, 1e-6)]
            kept, left = ({name: Limits(**{bound: end})} for end in ends)
            check_ranges(trajectory, NAMES, kept, free)
            if top - (sign * at_knots[:, j]).max() > 0.01:  # the points themselves are checked separately
                with refused("trajectory-leaves-range", joint=name):
                    check_ranges(trajectory, NAMES, left, free)
        fastest = float(np.abs(samples.qd[:, j]).max()) / MARGIN
        kept, left = (np.where(np.arange(3) == j, fastest * part, np.inf) for part in (1 + 1e-5, 1 - 1e-5))
        check_ranges(trajectory, NAMES, {}, kept)
        with refused("trajectory-velocity-exceeded", joint=name):
            check_ranges(trajectory, NAMES, {}, left)


def test_outside_the_range_only_motion_back_is_accepted() -> None:
    starts = [Motion(np.array([1.5]), np.array([speed]), np.zeros(1)) for speed in (0.0, 1.0)]
    back, further = (of_one([2.0], [0.5], [0.0], start=start) for start in starts)
    check(back, lower=-1.0, upper=1.0)
    with refused("trajectory-leaves-range", joint="a"):
        check(further, lower=-1.0, upper=1.0)


def test_a_replaced_piece_counts_up_to_its_replacement() -> None:
    """The running trajectory would leave the range only later."""
    running = of_one([0.0, 4.0], [0.0, 0.0], [2.0, 0.0])
    points = trajectory_points(NAMES[:1], NAMES[:1], [2.0], [[0.0]], [[0.0]])
    new = replaced(running, points, 0.0, 0.25)
    assert refusal(check, running, upper=0.8) == "trajectory-leaves-range: a, -inf, 1.185, 1.333, 0.8"
    check(new, upper=0.8)
