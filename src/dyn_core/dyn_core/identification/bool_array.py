# SPDX-License-Identifier: Apache-2.0
"""Arrays that say which."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
