# SPDX-License-Identifier: Apache-2.0
"""Why a message is not used."""

from __future__ import annotations


class Rejection(ValueError):
    """A message is not used; the sentence names the joint and the cause.

    Attributes:
        cause: what is the same in all sentences about this cause, though numbers in them differ.
    """

    def __init__(self, sentence: str, cause: str | None = None) -> None:
        """Keep the sentence; without a cause it is its own."""
        super().__init__(sentence)
        self.cause = sentence if cause is None else cause
