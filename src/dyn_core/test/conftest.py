# SPDX-License-Identifier: Apache-2.0
"""Let tests import the helpers beside them, share the processor, and hear Ctrl-C."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Tests run at the same time: threads of linear algebra, which wait for each other by turning in circles,
# would take twice the time of the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What a shell runs in the background ignores Ctrl-C, and so do its children, of which tests interrupt some.
signal.signal(signal.SIGINT, signal.default_int_handler)
