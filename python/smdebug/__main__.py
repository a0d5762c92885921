"""`python -m smdebug` is the command `smdebug`."""

import sys

from smdebug.cli import main

sys.exit(main())
