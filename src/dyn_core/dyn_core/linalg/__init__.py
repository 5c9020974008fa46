# SPDX-License-Identifier: Apache-2.0
"""Small linear algebra over generic scalars: see `scalar` for what a scalar is."""
