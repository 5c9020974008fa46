# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters from measured motion: linear models, estimators, and what to believe of them."""
