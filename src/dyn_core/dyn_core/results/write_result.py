# SPDX-License-Identifier: Apache-2.0
"""A result as four files."""

from __future__ import annotations

from pathlib import Path

from dyn_core.identification.output.identification_result import result_text
from dyn_core.identification.output.result_directory import write_directory
from dyn_core.results.parameter_text import parameter_text
from dyn_core.results.report_page import report_page
from dyn_core.results.result import FILES, Result


def write_result(result: Result, target: Path) -> None:
    """Write the files of a result, all or none; DynError where they cannot be written.

    Args:
        result: what to write.
        target: the directory, as `check_place` answers it.
    """
    unseen = {parameter.name for parameter in result.identified.standard if not parameter.identifiable}
    texts = (
        parameter_text(result.loaded.robot, result.parameters, unseen),
        result.urdf.text,
        report_page(result),
        result_text(result),
    )
    write_directory(target, dict(zip(FILES, texts, strict=True)))
