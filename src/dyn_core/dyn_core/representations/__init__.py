# SPDX-License-Identifier: Apache-2.0
"""The formulations of dynamics that the literature compares, written plainly, to be compared.

Nothing else uses them: what models compute with is in `dyn_core.dynamics`.
"""
