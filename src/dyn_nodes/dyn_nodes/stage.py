# SPDX-License-Identifier: Apache-2.0
"""The stages of an identification, numbered as in dyn_msgs/IdentificationProgress."""

from enum import IntEnum


class Stage(IntEnum):
    """What is being done."""

    EXCITATION = 0
    MOTION = 1
    FILTERING = 2
    ESTIMATION = 3
    VALIDATION = 4
