# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a simulated robot follows a motion under PD control, without and with feedforward."""
