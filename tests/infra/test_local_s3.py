"""The S3 service for trying things out: what it prints is enough for a shell, and Ctrl-C ends it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

ROOT = Path(__file__).parents[2]
COMMAND = "python infra/local_s3.py --env --folder s3-data"
LINES = 5


@pytest.mark.slow
def test_the_documented_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    """As docs/shards.md gives it, with nothing on standard input; the lines are read by a shell."""
    assert COMMAND in (ROOT / "docs/shards.md").read_text()
    arguments = COMMAND.replace("infra/", f"{ROOT}/infra/").split()[1:]
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            printed = "".join(process.stdout.readline() for _ in range(LINES))
            environ = read_by_a_shell(printed)
            bucket = re.findall(r"s3://(\w+)/NAME", printed)[0]
            client = boto3.client(
                "s3",
                endpoint_url=environ["AWS_ENDPOINT_URL_S3"],
                aws_access_key_id=environ["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=environ["AWS_SECRET_ACCESS_KEY"],
                region_name=environ["AWS_DEFAULT_REGION"],
            )
            client.put_object(Bucket=bucket, Key="first", Body=b"1")
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def read_by_a_shell(lines: str) -> dict[str, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{lines}\nenv -0"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
        text=True,
    )
    return dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)
