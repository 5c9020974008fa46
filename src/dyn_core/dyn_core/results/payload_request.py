# SPDX-License-Identifier: Apache-2.0
"""A payload as the request of the service `~/set_payload` of the nodes: a file, and a command to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from dyn_core.identification.payload.payload_parameters import Payload
from dyn_core.results.parameter_text import quoted

DIGITS = 12
NODE = "/feedforward"
_NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def payload_text(payload: Payload, made: Sequence[str]) -> str:
    """Answer a payload as YAML: the request of `dyn_msgs/srv/SetPayload`, with deviations as comments.

    Args:
        payload: the payload.
        made: how it was made, a line each.
    """
    return "\n".join([*_lines(payload, made), ""])


def service_call(payload: Payload, node: str = NODE) -> str:
    """Answer the command that tells a node of a payload, for a shell."""
    return f"ros2 service call {node}/set_payload dyn_msgs/srv/SetPayload {shlex.quote(request(payload))}"


def request(payload: Payload) -> str:
    """Answer a payload as a request on one line of YAML."""
    m, x, y, z, *inertia = (_number(value.value) for value in payload.values)
    moments = ", ".join(f"{name}: {value}" for name, value in zip(_NAMES, inertia, strict=True))
    body = f"m: {m}, com: {{x: {x}, y: {y}, z: {z}}}, {moments}"
    return f"{{payload: {{link_name: {quoted(payload.link)}, inertia: {{{body}}}}}}}"


def _lines(payload: Payload, made: Sequence[str]) -> Iterator[str]:
    m, x, y, z, *inertia = (
        (
            _number(value.value),
            f"{value.unit}, deviation {value.deviation:.2g}" if value.shown else f"{value.unit}, not shown",
        )
        for value in payload.values
    )
    yield "# What a link holds: mass, centre of mass in the frame of the link, inertia about it."
    yield from (f"# {' '.join(line.split())}" for line in made)
    yield from (f"# {' '.join(remark.split())}" for remark in payload.remarks)
    yield f'# ros2 service call {NODE}/set_payload dyn_msgs/srv/SetPayload "$(cat FILE)"'
    yield "payload:"
    yield f"  link_name: {quoted(payload.link)}"
    yield "  inertia:"
    yield f"    m: {m[0]}   # {m[1]}"
    yield "    com:"
    for name, (value, comment) in zip("xyz", (x, y, z), strict=True):
        yield f"      {name}: {value}   # {comment}"
    for name, (value, comment) in zip(_NAMES, inertia, strict=True):
        yield f"    {name}: {value}   # {comment}"


def _number(value: float) -> str:
    """A number that every reader of YAML takes for one: with a point."""
    text = f"{value + 0.0:.{DIGITS}g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"
