# SPDX-License-Identifier: Apache-2.0
"""Code generation: trace algorithms for one robot, print the programs, compile and load them.

Imports `core`, `symbolic`, `robot` and `algorithms` only. Begin with `traced_program.py`. The
hand-written C headers are in `c/`; the emitters for use without dyn_core are in `languages/`.
"""
