# SPDX-License-Identifier: Apache-2.0
"""How a log is conditioned; what is left open is chosen by its data."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.core.errors import DynError


@dataclass(frozen=True)
class Protocol:
    """Settings of `condition`.

    Attributes:
        cutoff: of the low-pass filter (Hz); None: proposed by the spectrum of the positions.
        order: of the Butterworth filter, which runs forwards and backwards.
        filter_effort: whether efforts get the same filter as positions. Parallel filtering treats both sides
            alike; this does not where the regressor has steps, as Coulomb friction makes them, and takes a
            part of them off.
        rate: samples a second (Hz) at which irregular logs are resampled; None: their own.
        half_width: of the central differences; see `differences`.
        margin: samples that are left out at each end of each segment; None: until the filter has settled.
        decimate: one of so many samples is kept by parallel filtering; None: as many as the cutoff needs.
        train: part of the log, from its start, that fits; the rest is held out.
    """

    cutoff: float | None = None
    order: int = 4
    filter_effort: bool = False
    rate: float | None = None
    half_width: int = 2
    margin: int | None = None
    decimate: int | None = None
    train: float = 0.65

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, value, least in (
            ("cutoff", self.cutoff, 0.0),
            ("rate", self.rate, 0.0),
            ("order", self.order, 0),
            ("half_width", self.half_width, 0),
        ):
            if value is not None and not value > least:
                raise DynError(f"{name} is {value:g}: give a number above {least:g}")
        if self.margin is not None and self.margin < 0:
            raise DynError(f"margin is {self.margin}: give a number of samples")
        if self.decimate is not None and self.decimate < 1:
            raise DynError(f"decimate is {self.decimate}: give a whole number from 1")
        if not 0.0 < self.train <= 1.0:
            raise DynError(f"train is {self.train:g}: give a part of the log, above 0 and at most 1")
