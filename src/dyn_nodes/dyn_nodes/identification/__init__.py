# SPDX-License-Identifier: Apache-2.0
"""Node `identification`: excitation, recording, and estimation of dynamic parameters.

It may import common/. Begin with node.py, then session.py. Heavy work runs in another process, by the class
`Job` of common/.
"""
