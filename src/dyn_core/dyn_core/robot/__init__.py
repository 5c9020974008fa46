# SPDX-License-Identifier: Apache-2.0
"""The robot as immutable data, and its files: URDF, side file and SYMORO+ .par.

May import `core` and `symbolic`. Sub-folders: `mdh` (frames), `side_file`, `urdf`, `par`; each may import
those before it. Only `robot_files.py` and `moving_base.py` import sub-folders. Begin with `robot.py` for
the data, with `robot_files.py` for loading and writing, with `dynamic_parameters.py` for names of parameters.
"""
