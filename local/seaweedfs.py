"""SeaweedFS for one house: a real S3 server, on loopback only, with keys of its own.

Readiness is a real write and read: the S3 gateway answers before the first volume can take bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.environment import BUCKET, REGION
from local.keys import Keys
from local.places import Places, write_private
from local.ports import GRPC_OFFSET, Ports
from local.processes import Command

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NAME: Final = "seaweedfs"
_PROBE: Final = "headrace-probe"


def prepare(places: Places, ports: Ports, keys: Keys) -> Command:
    """Write the server's key file; how to start it."""
    key_file = places.seaweedfs / "s3.json"
    identity = {
        "name": "headrace",
        "credentials": [{"accessKey": keys.s3_access_key, "secretKey": keys.s3_secret_key}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    write_private(key_file, json.dumps({"identities": [identity]}) + "\n")
    options = {
        "dir": str(places.seaweedfs),
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.port": str(ports.master),
        "master.telemetry": "false",
        "master.electionTimeout": "1s",
        "master.volumeSizeLimitMB": "1024",
        "volume.port": str(ports.volume),
        "volume.max": "200",  # a bucket claims seven volumes at once; an empty volume costs nothing
        "volume.preStopSeconds": "0",
        "filer.port": str(ports.filer),
        "filer.localSocket": str(places.sockets / "filer.sock"),
        "s3.port": str(ports.s3),
        "s3.localSocket": str(places.sockets / "s3.sock"),
        "s3.config": str(key_file),
        "s3.port.iceberg": "0",
        "s3.port.lance": "0",
    }
    program = Path(sys.executable).parent / "weed"
    arguments = [str(program), "server", "-filer", "-s3", *(f"-{name}={value}" for name, value in options.items())]
    return Command(name=NAME, arguments=arguments)


def remove_sockets(ports: Ports) -> None:
    """Remove what a killed server leaves in the system's temporary folder, where it insists on having sockets."""
    for part, port in (("master", ports.master), ("volume", ports.volume), ("filer", ports.filer), ("s3", ports.s3)):
        Path(f"/tmp/seaweedfs-{part}-grpc-{port + GRPC_OFFSET}.sock").unlink(missing_ok=True)  # noqa: S108 - its own fixed name


def client(ports: Ports, keys: Keys) -> S3Client:
    """An S3 client of this house, whatever AWS variables the calling process has."""
    session = botocore.session.Session(session_vars={"profile": (None, None, None, None), "config_file": (None, None, "", None)})
    return boto3.Session(botocore_session=session).client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{ports.s3}",
        region_name=REGION,
        aws_access_key_id=keys.s3_access_key,
        aws_secret_access_key=keys.s3_secret_key,
        config=Config(
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            connect_timeout=2,
            read_timeout=60,
            retries={"max_attempts": 1},
        ),
    )


def is_ready(s3: S3Client) -> bool:
    """Whether the bucket (made when missing) takes an object and gives it back."""
    try:
        if BUCKET not in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}:
            s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key=_PROBE, Body=b"ready")
        answer = s3.get_object(Bucket=BUCKET, Key=_PROBE)["Body"].read()
        s3.delete_object(Bucket=BUCKET, Key=_PROBE)
    except (BotoCoreError, ClientError):
        return False
    return answer == b"ready"
