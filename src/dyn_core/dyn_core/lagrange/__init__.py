# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form with names for parameters, lengths and positions, customised or expanded.

May import `core` to `codegen`; only `expanded_form.py` uses SymPy. Begin with `listing.py` (customised form)
or `expanded_form.py`. The numeric Lagrange functions of a model are in
`model/fixed_base/lagrange_functions.py`.
"""
