# SPDX-License-Identifier: Apache-2.0
"""A URDF link, as a frame fixed to a body."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg.transform import Transform


@dataclass(frozen=True)
class LinkFrame:
    """Frame of a URDF link; links that fixed joints hold together share one body.

    Attributes:
        name: name of the link.
        body: index of the body that carries the link; 0 is the base.
        T_body_link: placement of the link's frame in the frame of the body.
    """

    name: str
    body: int
    T_body_link: Transform
