# SPDX-License-Identifier: Apache-2.0
"""Units of columns as factors to rad, m, s, N m, N and their quotients."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dyn_core.core.errors import DynError, listed, shortened

TURN = 2.0 * math.pi
MINUTE = 60.0

POSITION, VELOCITY, EFFORT, TIME = "position", "velocity", "effort", "time"


@dataclass(frozen=True)
class Unit:
    """A unit of one quantity.

    Attributes:
        name: as it is printed.
        factor: what a value is multiplied by.
        result: the unit after that; a raw one (``A``, ``V``, ``counts``, ``1``) still needs a gain.
    """

    name: str
    factor: float
    result: str

    @property
    def is_raw(self) -> bool:
        """Whether the value is proportional to the quantity, by a gain that somebody has to give."""
        return self.result in _RAW


_RAW = ("A", "V", "counts", "counts/s", "1")

_LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254}
_ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": TURN / 360.0, "rev": TURN, "arcmin": TURN / 21600.0}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": MINUTE, "h": 3600.0}
_RATES = {"s": 1.0, "min": MINUTE}

UNITS: dict[str, dict[str, Unit]] = {
    TIME: {name: Unit(name, factor, "s") for name, factor in _SECONDS.items()},
    POSITION: {
        **{name: Unit(name, factor, "rad") for name, factor in _ANGLES.items()},
        **{name: Unit(name, factor, "m") for name, factor in _LENGTHS.items()},
        "counts": Unit("counts", 1.0, "counts"),
    },
    VELOCITY: {
        **{
            f"{name}/{rate}": Unit(f"{name}/{rate}", factor / seconds, "rad/s")
            for name, factor in _ANGLES.items()
            for rate, seconds in _RATES.items()
        },
        **{
            f"{name}/{rate}": Unit(f"{name}/{rate}", factor / seconds, "m/s")
            for name, factor in _LENGTHS.items()
            for rate, seconds in _RATES.items()
        },
        "counts/s": Unit("counts/s", 1.0, "counts/s"),
    },
    EFFORT: {
        **{
            f"{prefix}{name}": Unit(f"{prefix}{name}", factor, name)
            for name in ("N m", "N")
            for prefix, factor in (("", 1.0), ("m", 1e-3), ("c", 1e-2), ("k", 1e3))
        },
        "A": Unit("A", 1.0, "A"),
        "mA": Unit("mA", 1e-3, "A"),
        "V": Unit("V", 1.0, "V"),
        "mV": Unit("mV", 1e-3, "V"),
        "counts": Unit("counts", 1.0, "counts"),
        "%": Unit("%", 1e-2, "1"),
        "permille": Unit("permille", 1e-3, "1"),
    },
}

_SPELLINGS = {
    "radian": "rad",
    "radians": "rad",
    "rads": "rad",
    "degree": "deg",
    "degrees": "deg",
    "degs": "deg",
    "°": "deg",
    "turn": "rev",
    "turns": "rev",
    "revs": "rev",
    "rpm": "rev/min",
    "dps": "deg/s",
    "rad/sec": "rad/s",
    "deg/sec": "deg/s",
    "rads-1": "rad/s",
    "rad.s-1": "rad/s",
    "rad s-1": "rad/s",
    "rad*s^-1": "rad/s",
    "rad s^-1": "rad/s",
    "°/s": "deg/s",
    "meter": "m",
    "meters": "m",
    "metre": "m",
    "metres": "m",
    "count": "counts",
    "ticks": "counts",
    "inc": "counts",
    "increments": "counts",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "msec": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "usec": "us",
    "µs": "us",
    "μs": "us",
    "microseconds": "us",
    "nsec": "ns",
    "nanosec": "ns",
    "nanoseconds": "ns",
    "minutes": "min",
    "amp": "A",
    "amps": "A",
    "ampere": "A",
    "amperes": "A",
    "a": "A",
    "ma": "mA",
    "volt": "V",
    "volts": "V",
    "v": "V",
    "percent": "%",
    "per mille": "permille",
    "‰": "permille",
}

_LEVERS = {"ncm": "cN m", "nmm": "mN m"}


def unit(quantity: str, text: str) -> Unit | None:
    """Answer the unit of a quantity that a text means; None where it means none."""
    known = UNITS[quantity]
    word = " ".join(text.replace("·", " ").replace("*", " ").split())
    if quantity == EFFORT and word.replace(" ", "").replace(".", "").replace("-", "").lower().endswith("nm"):
        prefix = word.replace(" ", "").replace(".", "").replace("-", "")[:-2]
        return known.get(f"{prefix}N m")
    if quantity == EFFORT and (lever := _LEVERS.get(word.replace(" ", "").replace(".", "").lower())):
        return known[lever]
    for candidate in (word, _SPELLINGS.get(word.lower(), ""), _SPELLINGS.get(text.strip().lower(), "")):
        if candidate in known:
            return known[candidate]
    return known.get(word.lower())


def unit_of(owner: str, quantity: str, text: str) -> Unit:
    """Answer the unit that a text means; DynError, which says what there is, where it means none."""
    found = unit(quantity, text)
    if found is None:
        raise DynError(
            f"{owner}: '{shortened(text, 40)}' is no unit of {quantity}: use {listed(UNITS[quantity], 20)}",
            element=owner,
        )
    return found
