# SPDX-License-Identifier: Apache-2.0
"""Dates and times of the day, as programs write them, in seconds."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_DATE_TIME = re.compile(
    r"(\d{4})[-/](\d{2})[-/](\d{2})[T ](\d{1,2}):(\d{2}):(\d{2})([.,]\d+)?(Z|[+-]\d{2}:?\d{2})?"
)
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})([.,]\d+)?")


def seconds_of(text: str) -> float | None:
    """Answer seconds since 1970, or since midnight where there is no date; None where the text is no time.

    The offset of a time zone, which does not change during a log, is left out.
    """
    match = _DATE_TIME.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        except ValueError:
            return None
        return moment.timestamp() + _fraction(match.group(7))
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = (int(part) for part in match.groups()[:3])
    return 3600.0 * hour + 60.0 * minute + second + _fraction(match.group(4))


def _fraction(text: str | None) -> float:
    return float("0." + text[1:]) if text else 0.0
