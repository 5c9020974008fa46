# SPDX-License-Identifier: Apache-2.0
"""Let tests import the helpers beside them, in every import mode of pytest, and share the processor."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Tests run at the same time: threads of linear algebra, which wait for each other by turning in circles,
# would take twice the time of the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
