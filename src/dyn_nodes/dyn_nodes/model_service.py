# SPDX-License-Identifier: Apache-2.0
"""Service ~/load_model: another robot, or the present one again, without a restart."""

from __future__ import annotations

from collections.abc import Callable

from dyn_core import DynError
from dyn_msgs.srv import LoadModel
from dyn_nodes import messages
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import Done
from dyn_nodes.deferred_service import Answer, DeferredService
from dyn_nodes.model_source import LoadedModel


class ModelService:
    """The service, which answers when the robot is in use or known to be bad."""

    def __init__(
        self,
        node: ManagedNode,
        ask: Callable[[str, Done], None],
        present: Callable[[], LoadedModel | None],
    ) -> None:
        """Offer it.

        Args:
            node: the node.
            ask: loads the robot of a text, and says afterwards why it is not used, or None.
            present: answers the model in use.
        """
        self._node = node
        self._ask = ask
        self._present = present
        self._service = DeferredService(node, LoadModel, "~/load_model", self._on_request)

    def close(self) -> None:
        """Offer it no more."""
        self._service.close()

    def _on_request(self, request: LoadModel.Request, answer: Answer) -> None:
        def done(problem: DynError | None) -> None:
            response = answer.response
            response.success = problem is None
            response.message = "" if problem is None else one_line(str(problem))
            present = self._present()
            if present is not None:
                response.model = messages.model_info(present, self._node.get_clock().now().to_msg())
            answer.send()

        self._ask(request.robot_description, done)
