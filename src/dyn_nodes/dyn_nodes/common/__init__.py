# SPDX-License-Identifier: Apache-2.0
"""What several nodes share: clocks, qos, parameters and checks of data, and the folders below."""
