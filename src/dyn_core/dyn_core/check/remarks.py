# SPDX-License-Identifier: Apache-2.0
"""What the readers had to guess or to leave out."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.place import finding_of_sentence
from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity


def remarks(subject: Subject) -> Iterator[Finding]:
    """Answer each remark of the readers."""
    return (finding_of_sentence(Severity.WARNING, remark) for remark in subject.remarks)
