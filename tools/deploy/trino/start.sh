#!/usr/bin/env bash
# One node of a Trino cluster over a folder of releases, in the foreground: SIGTERM ends it. fetch.sh fetches what it runs.
#
#   tools/deploy/trino/start.sh coordinator FOLDER SHARED
#   tools/deploy/trino/start.sh worker FOLDER SHARED
#
# FOLDER   the node's own: its settings and logs; made anew at every start
# SHARED   the folder that all nodes see under the same path: releases/ (a folder or a link) is in it, and meta/, where Trino
#          keeps which tables there are; both are made where they are not
#
#   SUS_TRINO_HOME         what fetch.sh made; ~/.cache/sus-data/trino without it
#   TRINO_PORT             port of this node (8081)
#   TRINO_HOST             address that this node listens on and is known by (127.0.0.1)
#   TRINO_COORDINATOR      address of the coordinator, for workers (http://127.0.0.1:8081)
#   TRINO_MEMORY           heap of this node (2G); a query may use 60 percent of it
#   TRINO_COORDINATOR_WORKS  true: the coordinator works, too, as on a single machine (false)
#   TRINO_SECRET           shared by the nodes, where TRINO_HOST is not this machine alone
#   TRINO_ETC              a folder of settings of your own: its config.properties is added to that of this script, its other
#                          files (catalog/sus.properties, password-authenticator.properties) take the place of those written here
#
# Without TRINO_ETC there is no TLS and nobody is asked who they are: bind it to addresses that only the API servers and the nodes
# reach. docs/trino.md has settings for TLS, passwords, tokens and object storage.
set -u
role=${1:?coordinator or worker}
folder=${2:?a folder for this node}
shared=${3:?the folder that all nodes share}
home=${SUS_TRINO_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/sus-data/trino}
port=${TRINO_PORT:-8081}
host=${TRINO_HOST:-127.0.0.1}
memory=${TRINO_MEMORY:-2G}
[ -d "$home/server" ] || { echo "Trino is not in $home: tools/deploy/trino/fetch.sh fetches it" >&2; exit 1; }
mkdir -p "$folder" "$shared/meta" || exit 1
[ -e "$shared/releases" ] || mkdir "$shared/releases" || exit 1
folder=$(cd "$folder" && pwd)
shared=$(cd "$shared" && pwd)
etc=$folder/etc
mkdir -p "$etc/catalog"

case "$role" in
  coordinator)
    isCoordinator=true
    coordinator=http://$host:$port
    ;;
  worker)
    isCoordinator=false
    coordinator=${TRINO_COORDINATOR:-http://127.0.0.1:8081}
    ;;
  *)
    echo "the first word is coordinator or worker" >&2
    exit 1
    ;;
esac

cat >"$etc/node.properties" <<NODE
node.environment=sus_data
node.id=$role-$port
node.internal-address=$host
node.bind-ip=$host
NODE

# Heap that queries may use: what is left is for what Trino itself holds.
megabytes=$(numfmt --from=iec "$memory" | awk '{ print int($1 / 1048576) }')
{
  echo "coordinator=$isCoordinator"
  [ "$isCoordinator" = false ] || echo "node-scheduler.include-coordinator=${TRINO_COORDINATOR_WORKS:-false}"
  echo "http-server.http.port=$port"
  echo "discovery.uri=$coordinator"
  echo "query.max-memory-per-node=$((megabytes * 6 / 10))MB"
  echo "memory.heap-headroom-per-node=$((megabytes * 2 / 10))MB"
  echo "catalog.management=static"
  # A statement that nobody fetches rows of any more is ended: its API server is gone.
  echo "query.client.timeout=1m"
  # A worker that is gone is known to be within seconds, so that the statement that it worked on ends with an error.
  echo "exchange.max-error-duration=20s"
  [ "$isCoordinator" = false ] || printf '%s\n' query-manager.required-workers-max-wait=5s query.remote-task.max-error-duration=20s failure-detector.expiration-grace-interval=10s
  [ -z "${TRINO_SECRET:-}" ] || echo "internal-communication.shared-secret=$TRINO_SECRET"
} >"$etc/config.properties"

cat >"$etc/jvm.config" <<JVM
-server
-Xmx$memory
-XX:+UseG1GC
-XX:+ExitOnOutOfMemoryError
-XX:-OmitStackTraceInFastThrow
-XX:ReservedCodeCacheSize=256M
-Djdk.attach.allowAttachSelf=true
-Dfile.encoding=UTF-8
--enable-native-access=ALL-UNNAMED
JVM

cat >"$etc/log.properties" <<LOG
io.trino=WARN
LOG

cat >"$etc/catalog/sus.properties" <<CATALOG
connector.name=hive
hive.metastore=file
hive.metastore.catalog.dir=local:///meta
fs.native-local.enabled=true
local.location=$shared
hive.security=allow-all
hive.parquet.use-column-names=true
hive.non-managed-table-writes-enabled=false
CATALOG

if [ -n "${TRINO_ETC:-}" ]; then
  own=$(mktemp)
  cat "$etc/config.properties" "$TRINO_ETC/config.properties" >"$own" 2>/dev/null
  cp -R "$TRINO_ETC/." "$etc/" && mv "$own" "$etc/config.properties" || exit 1
fi

export JAVA_HOME=$home/java-home
export PATH=$JAVA_HOME/bin:$PATH
exec "$home/server/bin/launcher" run --etc-dir "$etc" --data-dir "$folder/data"
