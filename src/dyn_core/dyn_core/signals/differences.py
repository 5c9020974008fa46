# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations from evenly sampled positions, by central differences.

With the half width m, the differences are those of the polynomial of degree 2 m through 2 m + 1 samples,

    qd_i  = sum over k = 1..m of a_k (q_(i+k) - q_(i-k)) / T
    qdd_i = sum over k = 1..m of b_k (q_(i+k) - 2 q_i + q_(i-k)) / T^2
    a_k = (-1)^(k+1) (m!)^2 / (k (m-k)! (m+k)!),  b_k = 2 a_k / k

At the frequency w they answer, instead of j w and -w^2, D1 = 2 j sum a_k sin(k w T) / T and
D2 = -2 sum b_k (1 - cos(k w T)) / T^2: without delay, and too small by about

    m = 1:  (w T)^2 / 6  and  (w T)^2 / 12      m = 2:  (w T)^4 / 30  and  (w T)^4 / 90
    m = 3:  (w T)^6 / 140 and (w T)^6 / 560

There is no difference for the first and the last m samples.
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.core.arrays import Array


def coefficients(half_width: int) -> tuple[Array, Array]:
    """Answer a_k and b_k for k = 1 to m."""
    m = half_width
    a = np.array(
        [
            (-1) ** (k + 1) * math.factorial(m) ** 2 / (k * math.factorial(m - k) * math.factorial(m + k))
            for k in range(1, m + 1)
        ]
    )
    return a, 2.0 * a / np.arange(1, m + 1)


def differences(q: Array, period: float, half_width: int = 1) -> tuple[Array, Array]:
    """Answer velocities and accelerations, each (N - 2 m, ...), of positions (N, ...)."""
    m = half_width
    a, b = coefficients(m)
    count = len(q) - 2 * m
    middle = q[m : m + count]
    qd = np.zeros_like(middle)
    qdd = np.zeros_like(middle)
    for k in range(1, m + 1):
        after, before = q[m + k : m + k + count], q[m - k : m - k + count]
        qd += a[k - 1] * (after - before)
        qdd += b[k - 1] * ((after - middle) - (middle - before))
    return qd / period, qdd / period**2


def gains(frequency: float, period: float, half_width: int = 1) -> tuple[float, float]:
    """Answer D1 / (j w) and D2 / (-w^2) at a frequency (Hz): what is left of qd and qdd."""
    a, b = coefficients(half_width)
    wT = 2.0 * math.pi * frequency * period
    k = np.arange(1, half_width + 1)
    return float(2.0 * (a @ np.sin(k * wT)) / wT), float(2.0 * (b @ (1.0 - np.cos(k * wT))) / wT**2)
