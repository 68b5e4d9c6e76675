#!/usr/bin/env bash
# The installed command on every Node.js that is supported: demonstration, import, promote, serve, a few requests, a workbook
# that is verified, SIGTERM. What runs is what the image holds (Containerfile): dist/, tools/sus-data.js, package.json and the
# packages of production. One line a version. Release ids and the workbook's SHA-256 must be the same on all, and so must the ids of
# real published files where they are beside the checkout (../shared/data): their text has bytes that versions decode differently.
#
#   tools/deploy/smoke.sh [VERSION…]       20.19.0 22.12.0 22 24 when none is given; after npm ci
#
# A version that is not the one on the PATH is fetched from the package registry (packages node-<platform>-<arch>).
# Ends with 0 when every version passed, 1 when one failed, 77 when none failed and one could not be fetched.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
versions=("$@")
# The first is the oldest that package.json takes. 22.12 decodes Windows-1252 as no version before or after it does.
[ $# -gt 0 ] || versions=(20.19.0 22.12.0 22 24)
# IBGE's list and census, names of procedures, admissions, beds, services, outpatient production.
real=()
for path in ibge/RELATORIO_DTB_BRASIL_MUNICIPIO_2022.csv ibge/tabela9514.csv sigtap/202510 sih/RDAC2203.dbc cnes/dbc/LTRR0610.dbc \
  cnes/dbc/SRES0609.dbc sia/PAAC2310.dbc; do
  [ ! -e "../shared/data/$path" ] || real+=("$PWD/../shared/data/$path")
done
# Folders of the system are made by mktemp: TMPDIR says where.
work=$(mktemp -d)
server=
finish() {
  # Each version ends its server when it ends.
  jobs -p | xargs -r kill 2>/dev/null
  wait
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

# Prints the path of a Node.js of a version or a major version. @returns 1 when it cannot be fetched
node_of() {
  case "$(node -p process.versions.node)" in
    "$1" | "$1".*)
      node -p process.execPath
      return
      ;;
  esac
  local package
  package="node-$(node -p '`${process.platform}-${process.arch}`')"
  npm install --no-save --no-audit --no-fund --ignore-scripts --prefix "$work/node-$1" "$package@$1" >"$work/fetch-$1.log" 2>&1 &&
    "$work/node-$1/node_modules/$package/bin/node" -p process.execPath 2>>"$work/fetch-$1.log"
}

# What the image holds, in a folder: packages as links where the system can, so that this takes a second.
app="$work/app"
assemble() {
  mkdir -p "$app/tools" &&
    cp package.json package-lock.json "$app" &&
    cp -R dist "$app/dist" &&
    cp tools/sus-data.js "$app/tools" &&
    { cp -al node_modules "$app/node_modules" 2>/dev/null || cp -R node_modules "$app/node_modules"; } &&
    # npm writes its list of packages in place: a link would change that of the checkout.
    cp --remove-destination node_modules/.package-lock.json "$app/node_modules/.package-lock.json" &&
    (cd "$app" && npm prune --omit=dev --ignore-scripts --no-audit --no-fund) >"$work/prune.log" 2>&1
}

# npm's own check that every package of the lock file takes a Node.js, by path and version. Installs nothing.
takes() {
  local npm
  npm=$(readlink -f "$(command -v npm)")
  "$1" "$npm" ci --dry-run --offline --engine-strict --ignore-scripts --no-audit --no-fund >"$work/engines-$2.log" 2>&1 ||
    { cat "$work/engines-$2.log" >&2; return 1; }
}

# Everything once, in a folder of its own. Prints what must be the same on every version; says on stderr what failed.
smoke() {
  local node=$1 home=$2 started address key ids status
  mkdir -p "$home"
  # No setting of the caller's environment reaches the programs. What is deprecated in this Node.js fails.
  local run=(env -i "PATH=$(dirname "$node"):/usr/bin:/bin" "TMPDIR=$home" NODE_OPTIONS=--throw-deprecation HOST=127.0.0.1 PORT=0 "SUS_RELEASES_DIR=$home/releases" "$node" "$app/tools/sus-data.js")
  "${run[@]}" demo --scale small --out "$home/demo" --json >/dev/null || return 1
  ids=$("${run[@]}" import "$home/demo" --json) || return 1
  ids=$("$node" -p 'const { demography, cnes, sih, analytics } = JSON.parse(process.argv[1]); `${demography} ${cnes} ${sih} ${analytics}`' "$ids") || return 1
  "${run[@]}" promote "${ids##* }" >/dev/null || return 1
  key=$("${run[@]}" keys create --name smoke --capabilities all | tail -n 1)
  : >"$home/serve.log"
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
  local published=
  if [ ${#real[@]} -gt 0 ]; then
    published=$("${run[@]}" import "${real[@]}" --releases "$home/real" --json) || return 1
    published=$("$node" -p 'const { demography, cnes, sih, sia, analytics } = JSON.parse(process.argv[1]); `${demography} ${cnes} ${sih} ${sia} ${analytics}`' "$published") || return 1
  fi
  echo "$ids $published $sha256" >"$home/same"
}

if ! assemble; then
  cat "$work/prune.log" >&2
  echo "the packages of production could not be put together; run npm ci first"
  exit 1
fi
# One version, in a process of its own. Says how it went, and ends with the code of the script.
check() {
  local node version=$1 home="$work/$1" started=$SECONDS same
  trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null' EXIT
  if ! node=$(node_of "$version"); then
    echo "node $version: skipped, its package cannot be fetched here ($(grep -m 1 "npm error" "$work/fetch-$version.log"))"
    exit 77
  fi
  if ! takes "$node" "$version" || ! smoke "$node" "$home"; then
    echo "node $version: FAILED"
    exit 1
  fi
  same=$(cat "$home/same")
  echo "node $("$node" -p process.versions.node): passed in $((SECONDS - started)) s; ${same#* * }"
}

# Two at a time: each waits for its own server and child processes, so one would leave a core idle.
failed=0
skipped=0
running=()
finished() {
  wait "${running[0]}"
  case $? in
    0) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
  esac
  running=("${running[@]:1}")
}
for version in "${versions[@]}"; do
  [ ${#running[@]} -lt 2 ] || finished
  (check "$version") &
  running+=($!)
done
while [ ${#running[@]} -gt 0 ]; do finished; done

first=
for version in "${versions[@]}"; do
  same=$(cat "$work/$version/same" 2>/dev/null) || continue
  : "${first:=$same}"
  if [ "$same" != "$first" ]; then
    failed=$((failed + 1))
    echo "node $version: FAILED, releases or workbook differ: $same, not $first"
  fi
done
[ "$failed" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || exit 77
