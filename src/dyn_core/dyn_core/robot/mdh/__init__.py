# SPDX-License-Identifier: Apache-2.0
"""Frames in modified Denavit-Hartenberg notation, and the direct geometric model.

May import `core`, `symbolic` and the modules of `robot` that hold data. Begin with `frames.py`
for how frames are chosen, with `direct_geometry.py` for the transform of a joint.
"""
