#!/usr/bin/env bash
# Debian's Chromium, for test/dashboard. Says which package is missing where it cannot be installed.
set -euo pipefail
if [ -x /usr/bin/chromium ]; then
  echo "chromium is there: $(/usr/bin/chromium --version)"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 ||
  { echo 'cannot install the Debian package chromium, which test/dashboard needs at /usr/bin/chromium'; exit 1; }
/usr/bin/chromium --version
