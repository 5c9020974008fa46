# SPDX-License-Identifier: Apache-2.0
"""Let tests import the helpers beside them, in every import mode of pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
