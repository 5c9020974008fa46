# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a sampled signal, from its past alone.

A signal u goes through the low-pass 1 / (1 + s/w)^m, critically damped, and what is wanted are the
derivatives of what comes out: s / (1 + s/w)^m, and s^2 / (1 + s/w)^m for the second. The order m is one
more than the highest derivative, so that its noise falls off at high frequencies too.

Between two samples the signal is taken for a straight line. For that input the differential equation is
solved exactly, whatever the time between them is: with x = (x_1 - u, x_2, ...), where x_1 is the output
and x_2, x_3 its derivatives, and with the slope r of the line,

    x(t + T) = P x(t) + (1 - P) (-m/w, 1, 0) r,    P = exp(F T) = exp(-w T) (1 + N T + N^2 T^2 / 2),

where F is the companion matrix of (s + w)^m and N = F + w 1, of which N^m = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.control.settings import number
from dyn_core.control.vectors import check_vector
from dyn_core.core.arrays import Array


class DerivativeFilter:
    """First, and if wanted second, derivatives of joint vectors. It has a state: one for each signal.

    The first sample starts it with derivatives of zero; so does a sample after a gap or from the past.

    Attributes:
        joint_names: the joints.
        cutoff: frequency at which the filtered signal has lost 3 dB (Hz).
        max_gap: time between samples beyond which the filter starts anew (s).
        order: m, 2 where the first derivative is wanted alone, else 3.
        started: time of the sample with which the filter last started (s); None before any.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        cutoff: float,
        *,
        second: bool = False,
        max_gap: float = 0.1,
    ) -> None:
        """Make a filter that waits for its first sample.

        Args:
            joint_names: the joints.
            cutoff: frequency at which the filtered signal has lost 3 dB (Hz).
            second: whether the second derivative is wanted too.
            max_gap: time between samples beyond which the filter starts anew (s).
        """
        self.joint_names = tuple(joint_names)
        self.cutoff = number("the cutoff of a derivative filter (Hz)", cutoff, above=0.0)
        self.max_gap = number("the longest gap of a derivative filter (s)", max_gap, above=0.0)
        self.order = m = 3 if second else 2
        self.started: float | None = None
        self._w = w = 2.0 * math.pi * self.cutoff / math.sqrt(2.0 ** (1.0 / m) - 1.0)
        binomial = [math.comb(m, k) * w ** (m - k) for k in range(m)]
        F = np.vstack((np.eye(m)[1:], [-value for value in binomial]))
        self._N = F + w * np.eye(m)
        self._half_N2 = 0.5 * self._N @ self._N
        self._ramp = np.array([-m / w, 1.0, 0.0][:m])
        self._period = 0.0
        self._step = np.zeros((m, m + 1))
        self._t = -math.inf
        self._u = np.zeros(len(self.joint_names))
        self._x = np.zeros((m + 1, len(self.joint_names)))

    @property
    def delay(self) -> float:
        """How much the derivatives of a smooth signal are late (s): m / w."""
        return self.order / self._w

    @property
    def corner(self) -> float:
        """The w of the filter (rad/s)."""
        return self._w

    def noise_gain(self, period: float) -> tuple[float, ...]:
        """Standard deviation of the derivatives over that of white noise in the samples (1/s, 1/s^2).

        Where w T << 1 it is sqrt(w^3 T / 4) for m = 2; sqrt(w^3 T / 16) and sqrt(3 w^5 T / 16) for m = 3.

        Args:
            period: the time T between samples (s).
        """
        w, T = self._w, period
        if self.order == 2:
            return (math.sqrt(w**3 * T / 4.0),)
        return math.sqrt(w**3 * T / 16.0), math.sqrt(3.0 * w**5 * T / 16.0)

    def reset(self) -> None:
        """Forget all samples."""
        self.started = None
        self._t = -math.inf

    def update(self, t: float, values: Array) -> tuple[Array, ...]:
        """Take the next sample and answer the derivatives, one or two vectors (n,).

        A sample at the time of the last one changes nothing: the answer is the last one again.

        Args:
            t: time of the sample (s).
            values: the signal, (n,).

        Raises:
            ValueError: a number is not finite; the state stays as it was.
        """
        check_vector("value", self.joint_names, values)
        if not math.isfinite(t):
            raise ValueError(f"t: expected a finite time, but it is {t}")
        T = t - self._t
        if self.started is None or not 0.0 <= T <= self.max_gap:
            self.started = t
            self._x = np.zeros_like(self._x)
        elif T > 0.0:
            if self._period != T:
                self._prepare(T)
            x = self._x
            x[-1] = values - self._u
            # The product is made before it is put in the place of its factor.
            x[:-1] = self._step.dot(x)
        else:
            return tuple(self._x[1:-1].copy())
        self._t, self._u = t, values.copy()
        return tuple(self._x[1:-1].copy())

    def _prepare(self, T: float) -> None:
        """Compute the step for the time T between samples; its last column is for T r."""
        m = self.order
        P = math.exp(-self._w * T) * (np.eye(m) + T * self._N + T * T * self._half_N2)
        self._step[:, :m] = P
        self._step[:, m] = (self._ramp - P.dot(self._ramp)) / T
        self._period = T
