"""What a transform must not reach: its result would not be a function of its sample, its code and its parameters.

A list of the doors that are commonly walked through, by dotted path: the clock, chance, the environment, files, the network, and code
made from text. It cannot see what a package does inside, or a file opened through a method of a value.
"""

from __future__ import annotations

from typing import Final

_CODE: Final = "code made while it runs cannot be seen beforehand"
_CLOCK: Final = "the result would depend on when it runs"
_CHANCE: Final = "the result would differ from run to run"
_WORLD: Final = "the result would depend on what lies around it, such as files or settings"

_REASONS: Final = {
    _CODE: "builtins.eval builtins.exec builtins.compile builtins.__import__ builtins.globals builtins.locals importlib runpy",
    _CLOCK: "time.time time.time_ns time.localtime time.gmtime time.monotonic time.perf_counter datetime.datetime.now "
    "datetime.datetime.utcnow datetime.datetime.today datetime.date.today",
    _CHANCE: "builtins.hash builtins.id random secrets os.urandom os.getpid uuid.uuid1 uuid.uuid4 numpy.random tempfile.mktemp",
    _WORLD: "builtins.open builtins.input io.open codecs.open os.environ os.getenv os.listdir os.scandir os.walk os.open "
    "os.getcwd pathlib.Path sys.argv sys.modules glob shutil socket subprocess urllib.request http ftplib smtplib "
    "sqlite3",
}
_REFUSED: Final = {path: reason for reason, paths in _REASONS.items() for path in paths.split()}
# Generators that are told their seed are functions of it.
_ALLOWED: Final = frozenset(
    {
        "random.Random", "numpy.random.default_rng", "numpy.random.Generator", "numpy.random.RandomState",
        "numpy.random.SeedSequence", "numpy.random.PCG64", "numpy.random.Philox", "numpy.random.MT19937", "numpy.random.SFC64",
    }
)  # fmt: skip


def why_refused(dotted: str) -> str | None:
    """Why a path such as `time.time` or `random.choice` must not be reached; None where it may."""
    parts = dotted.split(".")
    prefixes = [".".join(parts[: count + 1]) for count in range(len(parts))]
    if any(prefix in _ALLOWED for prefix in prefixes):
        return None
    return next((_REFUSED[prefix] for prefix in prefixes if prefix in _REFUSED), None)
