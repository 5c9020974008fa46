# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: PID control of the joints with a feedforward."""
