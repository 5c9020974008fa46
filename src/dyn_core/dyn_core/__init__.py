# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics from a URDF, in modified Denavit-Hartenberg notation: a library without ROS.

It loads robots, compiles their dynamics functions, simulates and controls them, and identifies their
parameters from logs. It may import NumPy and PyYAML, single folders a few more libraries, and never ROS or
`dyn_nodes`. Begin with robot/robot_files.py (`load_robot`), then model/fixed_base/compiled_model.py
(`compile_model`); docs/architecture.md has the map of the folders.

The public names are those of `__init__.pyi`. Each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
