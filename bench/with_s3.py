"""Runs a command beside an S3 server of its own (SeaweedFS, loopback, free ports, a temporary folder), and ends the server afterwards.

python -m bench.with_s3 python -m bench.loader --work /tmp/bench --peers /tmp/peers --s3
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from local import processes, seaweedfs
from local.environment import Layout, house_environment, write_environment
from local.keys import house_keys
from local.places import Places
from local.ports import house_ports

_PATIENCE_SECONDS: Final = 60.0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bench-s3-") as folder:
        places = Places(home=Path(folder))
        places.create()
        keys, ports = house_keys(places.keys), house_ports(places.ports, None)
        environment = house_environment(os.environ, places, ports, keys, Layout(), cores=2)
        write_environment(places, ports, keys, environment)
        server = processes.start(seaweedfs.prepare(places, ports, keys), places, environment)
        try:
            client, deadline = seaweedfs.client(ports, keys), time.monotonic() + _PATIENCE_SECONDS
            while not seaweedfs.is_ready(client):
                if server.exit_code() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the S3 server did not start: see {places.home}")
                time.sleep(0.1)
            reached = {name: value for name, value in environment.items() if name.startswith("AWS_")}
            # What mosaicml-streaming calls the same address.
            reached["S3_ENDPOINT_URL"] = reached["AWS_ENDPOINT_URL"] = client.meta.endpoint_url
            return subprocess.run(sys.argv[1:], env={**os.environ, **reached}, check=False).returncode
        finally:
            processes.stop([server], patience_seconds=10)
            seaweedfs.remove_sockets(ports)


if __name__ == "__main__":
    sys.exit(main())
