# SPDX-License-Identifier: Apache-2.0
"""Goals of an action, looked at before the client library makes Python objects of them.

rclpy keeps the interpreter while it makes a goal, more than a second for 100 000 points. It makes goals from
a structure in C, in which the counts stand.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unique_identifier_msgs.msg import UUID

from dyn_core import DynError
from dyn_nodes.common.data_checks import Rejection

_Convert = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
"""A function of the library of a message that makes its Python object from its structure."""
_ID_BYTES = 16
Look = Callable[[int], Rejection | DynError | None]
"""Returns why a goal is refused, from the address of its structure; None where it is not."""


@dataclass(frozen=True)
class UnbuiltRequest:
    """A request for a goal that is refused: its goal is the reason."""

    goal_id: UUID
    goal: Rejection | DynError


def looked_at(kind: Any, look: Look) -> Any:
    """Return a type of action for servers, whose goals are looked at before they are built.

    The structure of a goal follows that of its identifier. Goals that are refused, or that cannot be built,
    are the reason. `kind` itself is returned where rclpy makes goals in another way.
    """
    request = kind.Impl.SendGoalService.Request
    try:
        type(request).__import_type_support__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        convert = _Convert(pointer(type(request)._CONVERT_TO_PY, None))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
    except (AttributeError, TypeError, ValueError):
        return kind

    def converted(address: int) -> Any:
        try:
            problem = look(address + _ID_BYTES)
            if problem is None:
                return convert(address)
        except Exception as error:  # of text that is not UTF-8
            problem = Rejection("message-unreadable", message="goal", reason=error)
        identifier = (ctypes.c_uint8 * _ID_BYTES).from_address(address)
        return UnbuiltRequest(UUID(uuid=list(identifier)), problem)

    own = _Convert(converted)
    made = capsule(ctypes.cast(own, ctypes.c_void_p), None, None)
    meta = type("LookedAt", (type(request),), {"_CONVERT_TO_PY": made, "function": own})
    requests = {"Request": meta("Request", (), {}), "Response": kind.Impl.SendGoalService.Response}
    services = {"SendGoalService": type("SendGoalService", (), requests)}
    return type(kind.__name__, (kind,), {"Impl": type("Impl", (kind.Impl,), services)})
