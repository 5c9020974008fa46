# SPDX-License-Identifier: Apache-2.0
"""Import a library and load one robot, in an interpreter of its own; print how long each takes (s).

`python load_once.py library what path`: the library is dyn_core, pinocchio or mujoco; dyn_core loads
"all functions" or those that are named.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable


def main() -> None:
    """Import, load, print."""
    library, what, path = sys.argv[1:]
    start = time.perf_counter()
    importlib.import_module(library)
    imported = time.perf_counter() - start
    load = LOADERS[library](what, path)
    start = time.perf_counter()
    load()
    print(imported, time.perf_counter() - start)


def _dyn_core(what: str, path: str) -> Callable[[], object]:
    import dyn_core

    warnings.simplefilter("ignore", dyn_core.ModelWarning)

    def all_functions() -> object:
        return dyn_core.compile_model(dyn_core.load_robot(path, mimic=False), backend="c")

    def one_function() -> object:
        from dyn_core.facade.runnable import runnables
        from dyn_core.model.fixed_base.dynamics_programs import traced

        robot = dyn_core.load_robot(path, mimic=False)
        return runnables([traced(robot, what.replace(" ", "_"))], "c")

    return all_functions if what == "all functions" else one_function


def _pinocchio(_: str, path: str) -> Callable[[], object]:
    import pinocchio as pin

    def load() -> object:
        model = pin.buildModelFromUrdf(path)
        return model, model.createData()

    return load


def _mujoco(_: str, path: str) -> Callable[[], object]:
    import mujoco
    from mujoco_peer import rigid_bodies

    text = rigid_bodies(path)

    def load() -> object:
        model = mujoco.MjModel.from_xml_string(text)
        return model, mujoco.MjData(model)

    return load


LOADERS = {"dyn_core": _dyn_core, "pinocchio": _pinocchio, "mujoco": _mujoco}

if __name__ == "__main__":
    main()
