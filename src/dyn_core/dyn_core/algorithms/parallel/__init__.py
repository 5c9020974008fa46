# SPDX-License-Identifier: Apache-2.0
"""Parallel robots: a platform that legs connect to the base (Khalil 2010, sec. 5; Khalil-Guegan 2004)."""
