"""What can be wrong with a profile, a reference or a correction."""

from __future__ import annotations

from headrace.errors import FinalError


class ProfileError(FinalError, ValueError):
    """A stored profile cannot be read, or two profiles do not belong together."""


class ReferenceProfileError(FinalError, ValueError):
    """A reference profile cannot be built or read."""


class CorrectionError(FinalError, ValueError):
    """A sampling correction would be wrong: bad rates, rows without one, or applied a second time."""
