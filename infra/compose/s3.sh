#!/bin/sh
# Starts SeaweedFS as an S3 service with one bucket, `trials`, and the keys of the environment.
set -eu
umask 077
folder=${S3_FOLDER:-/data}
host=${S3_HOST:-0.0.0.0}
cat >"$folder/s3.json" <<KEYS
{"identities": [{"name": "tiltyard",
  "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}],
  "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
KEYS
exec weed "-logdir=$folder" mini "-dir=$folder" -ip=127.0.0.1 "-ip.bind=$host" "-s3.port=${S3_PORT:-8333}" \
  "-s3.config=$folder/s3.json" -s3.autoCreateBucket=false -bucket=trials -webdav=false -admin.ui=false \
  -s3.port.iceberg=0 -s3.port.lance=0 -master.telemetry=false
