# SPDX-License-Identifier: Apache-2.0
"""Commands about logs and motions, one file each: identification, simulation, excitation."""
