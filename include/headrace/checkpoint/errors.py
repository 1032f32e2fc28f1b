"""What can be wrong with a checkpoint. A damaged one is skipped by name; a start from zero is never guessed."""

from __future__ import annotations

from headrace.errors import FinalError


class PartRefused(FinalError, TypeError):
    """A part is of a kind that cannot be stored, or cannot be read as what it was stored as."""


class CheckpointsDamaged(FinalError):
    """Checkpoints were saved and none of them can be restored."""


class CheckpointContended(FinalError):
    """Another process saves checkpoints under the same name: two trainings would overwrite each other's progress."""


class TrainingInterrupted(FinalError):
    """The training was told to stop, and its state is saved."""
