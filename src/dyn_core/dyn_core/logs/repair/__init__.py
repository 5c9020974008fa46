# SPDX-License-Identifier: Apache-2.0
"""Repair and checks of logs: time stamps, gaps, anomalies, plausibility."""
