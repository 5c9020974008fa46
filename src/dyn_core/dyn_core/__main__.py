# SPDX-License-Identifier: Apache-2.0
"""``python -m dyn_core`` is the command ``dyn``."""

import sys

from dyn_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
