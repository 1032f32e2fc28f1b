"""Runs a command beside an S3 server of its own, in a temporary folder, and ends the server afterwards.

python -m bench.with_s3 python -m bench.loader --work /tmp/bench --peers /tmp/peers --s3
"""

from __future__ import annotations

import os
import subprocess
import sys

from bench import s3_server


def main() -> int:
    with s3_server.running(None) as server:
        return subprocess.run(sys.argv[1:], env={**os.environ, **server.environment}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
