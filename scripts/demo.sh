#!/usr/bin/env bash
# Runs the demo trial and prints its report. `--real` asks the real providers, with the keys in the environment.
set -euo pipefail
cd "$(dirname "$0")/.."
demo=specs/examples/demo
tiltyard=.venv/bin/tiltyard

if [ "${1:-}" = --real ]; then
  # Paid results are kept: a second start goes on where the first one stopped.
  out=demo-results/real
  "$tiltyard" run "$demo/trial.yaml" --out "$out"
else
  out=demo-results/scripted
  rm -rf "$out"
  "$tiltyard" run "$demo/trial.yaml" --out "$out" --model-script "$demo/model-script.yaml"
fi
echo
"$tiltyard" report "$out"
cat <<TEXT

Where to look next
  $tiltyard view $out  the same as pages in a browser, with every run
  $out/trial.json                 what was run, with what
  $out/runs/empty-default/map/claude/1/
                                                    one run: run.json, prompt.txt, raw.out, calls.jsonl, patch.diff, verify.log
  $demo/trial.yaml                     the spec; docs/spec.md explains each key
  $tiltyard init my-trial.yaml                your own trial
TEXT
