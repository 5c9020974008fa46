# SPDX-License-Identifier: Apache-2.0
"""Compiled models: the dynamics functions of one robot, from `compile_model` and its variants.

The files here are shared by all models; `moving_base/` and `parallel/` also use `fixed_base/`. Imports `core`
to `codegen` only. Begin with `builder.py`, then `fixed_base/compiled_model.py`.
"""
