"""`python -m local`: what `bin/run` executes."""

from __future__ import annotations

import sys

from local.cli import main

sys.exit(main())
