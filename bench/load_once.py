# SPDX-License-Identifier: Apache-2.0
"""Import a library and load one robot in a new interpreter; print both times (s).

`python load_once.py library what path`: the library is dyn_core, pinocchio or mujoco; dyn_core loads
"all functions" or the one that is named. With DYN_CACHE_DIR an empty directory the load is a cold one.
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
    module = importlib.import_module(library)
    if library == "dyn_core":  # imports the modules that are needed
        _ = module.load_robot, module.compile_model
    imported = time.perf_counter() - start
    load = LOADERS[library](what, path)
    start = time.perf_counter()
    load()
    print(imported, time.perf_counter() - start)


def _dyn_core(what: str, path: str) -> Callable[[], object]:
    import dyn_core

    warnings.simplefilter("ignore", dyn_core.ModelWarning)

    named = None if what == "all functions" else (what.replace(" ", "_"),)

    def load() -> object:
        robot = dyn_core.load_robot(path, mimic=False)
        return dyn_core.compile_model(robot, backend="c", functions=named)

    return load


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
