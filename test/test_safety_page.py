# SPDX-License-Identifier: Apache-2.0
"""The page about bad input names tests that there are."""

from __future__ import annotations

import re

from robot_files import ROOT


def test_each_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+|test/\w+\.py)`", (ROOT / "docs" / "safety.md").read_text()))
    files = [*ROOT.glob("test/test_*.py"), *ROOT.glob("src/*/test/test_*.py")]
    known = {
        name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    known |= {file.stem for file in files} | {f"test/{file.name}" for file in files}
    assert len(named) > 40
    assert named <= known
