#!/usr/bin/env bash
# The command line and the server on every Node.js that is supported: demonstration, import, promote, serve, a few requests,
# a workbook that is verified, SIGTERM. One line a version. Release ids and the workbook's SHA-256 must be the same on all.
#
#   tools/deploy/smoke.sh [MAJOR…]       20 22 24 when none is given
#
# A version that is not the one on the PATH is fetched from the package registry (packages node-<platform>-<arch>).
# Ends with 0 when every version passed, 1 when one failed, 77 when none failed and one could not be fetched.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
versions=("$@")
[ $# -gt 0 ] || versions=(20 22 24)
# Folders of the system are made by mktemp: TMPDIR says where.
work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT

# In: address and key; where the workbook goes. Every answer must be 200; what it says is checked lightly.
client=$(cat <<'JS'
const [address, key, file] = process.argv.slice(1)
const { writeFileSync } = await import('node:fs')
async function ask(path, body) {
  const headers = path.startsWith('/v1') ? { authorization: `Bearer ${key}` } : {}
  const init = body ? { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) } : { headers }
  const answer = await fetch(address + path, init)
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`)
  return answer
}
const must = (holds, what) => { if (!holds) throw new Error(what) }
const query = { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['state'] }
must((await (await ask('/health')).json()).data.status === 'ok', '/health is not ok')
must((await (await ask('/ready')).json()).data.status === 'ready', '/ready is not ready')
must((await (await ask('/v1/facilities?uf=RR&limit=2')).json()).data.length === 2, '/v1/facilities gives no two facilities')
const { data } = await (await ask('/v1/analytics/query', query)).json()
must(data.some(({ metrics }) => metrics.bed_capacity_existing > 0), 'the query counts no bed')
const workbook = await ask('/v1/analytics/exports/xlsx', { ...query, title: 'Leitos' })
writeFileSync(file, Buffer.from(await workbook.arrayBuffer()))
console.log(workbook.headers.get('x-artifact-sha256'))
JS
)

# Prints the path of a Node.js of a major version. @returns 1 when it cannot be fetched
node_of() {
  if [ "$(node -p 'process.versions.node.split(".")[0]')" = "$1" ]; then
    node -p process.execPath
    return
  fi
  local package
  package="node-$(node -p '`${process.platform}-${process.arch}`')"
  npm install --no-save --no-audit --no-fund --ignore-scripts --prefix "$work/node-$1" "$package@$1" >"$work/fetch-$1.log" 2>&1 &&
    "$work/node-$1/node_modules/$package/bin/node" -p process.execPath 2>>"$work/fetch-$1.log"
}

# Everything once, in a folder of its own. Prints what must be the same on every version; says on stderr what failed.
smoke() {
  local node=$1 home=$2 started address key ids status
  mkdir -p "$home"
  # No setting of the caller's environment reaches the programs.
  local run=(env -i "PATH=$(dirname "$node"):/usr/bin:/bin" "TMPDIR=$home" HOST=127.0.0.1 PORT=0 "SUS_RELEASES_DIR=$home/releases" "$node" tools/sus-data.js)
  "${run[@]}" demo --scale small --out "$home/demo" --json >/dev/null || return 1
  ids=$("${run[@]}" import "$home/demo" --json) || return 1
  ids=$("$node" -p 'const { demography, cnes, analytics } = JSON.parse(process.argv[1]); `${demography} ${cnes} ${analytics}`' "$ids") || return 1
  "${run[@]}" promote "${ids##* }" >/dev/null || return 1
  key=$("${run[@]}" keys create --name smoke --capabilities all | tail -n 1)
  "${run[@]}" serve >"$home/serve.log" 2>&1 &
  server=$!
  started=$SECONDS
  until address=$(sed -n 's/.*"address":"\([^"]*\)","msg":"listening".*/\1/p' "$home/serve.log") && [ -n "$address" ]; do
    if ! kill -0 "$server" 2>/dev/null || [ $((SECONDS - started)) -ge 60 ]; then
      cat "$home/serve.log" >&2
      return 1
    fi
    sleep 0.1
  done
  local sha256
  sha256=$("$node" --input-type=module -e "$client" "$address" "$key" "$home/report.xlsx") || return 1
  "${run[@]}" verify-report "$home/report.xlsx" >"$home/verify.log" 2>&1 || { cat "$home/verify.log" >&2; return 1; }
  grep -q reproduced "$home/verify.log" || { echo "verify-report does not say reproduced" >&2; return 1; }
  kill -TERM "$server"
  wait "$server"
  status=$?
  server=
  [ "$status" -eq 0 ] || { echo "serve ended with code $status after SIGTERM" >&2; return 1; }
  echo "$ids $sha256" >"$home/same"
}

failed=0
skipped=0
first=
for version in "${versions[@]}"; do
  started=$SECONDS
  if ! node=$(node_of "$version"); then
    skipped=$((skipped + 1))
    echo "node $version: skipped, its package cannot be fetched here ($(grep -m 1 "npm error" "$work/fetch-$version.log"))"
    continue
  fi
  home="$work/$version"
  if ! smoke "$node" "$home"; then
    failed=$((failed + 1))
    echo "node $version: FAILED"
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    server=
    continue
  fi
  same=$(cat "$home/same")
  : "${first:=$same}"
  if [ "$same" != "$first" ]; then
    failed=$((failed + 1))
    echo "node $version: FAILED, releases or workbook differ: $same, not $first"
    continue
  fi
  echo "node $("$node" -p process.versions.node): passed in $((SECONDS - started)) s; ${same#* * }"
done
[ "$failed" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || exit 77
