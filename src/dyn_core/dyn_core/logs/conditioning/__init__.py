# SPDX-License-Identifier: Apache-2.0
"""Conditioning: from a log to filtered, evenly sampled signals with derivatives.

May import core and logs.log. Begin in signals.py.
"""
