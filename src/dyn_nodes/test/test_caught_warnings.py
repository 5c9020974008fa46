# SPDX-License-Identifier: Apache-2.0
"""Warnings that several threads catch at a time."""

from __future__ import annotations

import threading
import warnings

from dyn_core import ModelWarning
from dyn_nodes.caught_warnings import caught_warnings


def test_each_thread_gets_its_own_and_nothing_stays_switched_off() -> None:
    before = (warnings.showwarning, list(warnings.filters))
    caught: dict[int, set[str]] = {}
    together = threading.Barrier(8)

    def load(k: int) -> None:
        together.wait()
        for _ in range(50):
            with caught_warnings() as mine:
                for _ in range(20):
                    warnings.warn(f"robot {k}", ModelWarning, stacklevel=1)
            caught.setdefault(k, set()).update(str(w.message) for w in mine)
            assert len(mine) == 20

    threads = [threading.Thread(target=load, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == {k: {f"robot {k}"} for k in range(8)}
    assert (warnings.showwarning, list(warnings.filters)) == before
