#!/usr/bin/env bash
# Sends thousands of drawn requests, right and wrong, to a server, and holds its answers against its API document.
#   tools/validators/schemathesis.sh ADDRESS KEY [OPTIONS OF SCHEMATHESIS]
# Needs Schemathesis 4 (pip install schemathesis). Findings that are none are listed with their reasons in schemathesis.toml and
# right_requests.py beside this file. About 20,000 cases: --max-examples 200; 28,000 with 320 in twelve minutes. The key needs a rate that lets
# them pass, and the server a release of every area.
set -eu
address=$1 key=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# It leaves examples where it runs.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 SCHEMATHESIS_HOOKS=right_requests \
  "${SCHEMATHESIS:-schemathesis}" --config-file "$here/schemathesis.toml" run "$address/openapi.json" \
  --header "Authorization: Bearer $key" --no-shrink --continue-on-failure --request-timeout 60 "$@"
