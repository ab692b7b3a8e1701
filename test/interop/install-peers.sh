#!/usr/bin/env bash
# Fetches and builds the peers of other languages that `npm run test:interop` drives, into .ci/cache/interop. Versions are
# pinned: go.mod and go.sum, pom.xml and the plugin below, python-peer/requirements.txt. Where packages come from is the
# machine's own setting of Go, Maven and pip.
# What cannot be had is named in one line, the last one, and the exit code is 1.
set -u
cd "$(dirname "$0")"
here=$PWD
out=$(cd ../.. && pwd)/.ci/cache/interop
dependency_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
mkdir -p "$out"

fail() {
  echo "$1" >&2
  exit 1
}

# need COMMAND DEBIAN-PACKAGE: what the machine has already is taken as it is.
need() {
  command -v "$1" >/dev/null && return
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || fail "no $1 on the PATH: install the Debian package $2"
  apt-get update -q && apt-get install -q -y --no-install-recommends "$2" || fail "cannot install the Debian package $2"
}

need javac openjdk-17-jdk-headless
need mvn maven
need python3 python3
# A Debian Python is without the means to make a venv.
python3 -c 'import ensurepip' 2>/dev/null || need python3-venv python3-venv
# Debian's Go is older than grpc-go asks for.
command -v go >/dev/null || fail "no go on the PATH: install the Go that test/interop/go-channel/go.mod names"

# go_peer DIR PACKAGE BINARY
go_peer() {
  (cd "$here/$1" && go build -mod=readonly -trimpath -o "$out/$3" "$2") || fail "cannot build $2 in test/interop/$1"
}

for dir in go-channel go-peers; do
  (cd "$here/$dir" && go mod download) || fail "cannot fetch the Go modules of test/interop/$dir/go.sum"
done
go_peer go-channel . go-channel
go_peer go-peers . go-flaky
go_peer go-peers google.golang.org/grpc/interop/client go-interop-client
go_peer go-peers google.golang.org/grpc/interop/server go-interop-server

# java_peer DIR CLASSES
java_peer() {
  cd "$here/$1" || exit 1
  # Anew, so that no jar of an older version stays on the class path.
  rm -rf "${out:?}/$2"
  mvn -q -B -ntp "$dependency_plugin:copy-dependencies" -DincludeScope=runtime "-DoutputDirectory=$out/$2/lib" ||
    fail "cannot fetch the Maven artifacts of test/interop/$1/pom.xml"
  javac --release 17 -Xlint:all,-classfile,-processing -Werror -proc:none -cp "$out/$2/lib/*" -d "$out/$2/classes" src/*.java ||
    fail "cannot compile test/interop/$1"
}

java_peer java-channel java
java_peer java-interop java-interop

rm -rf "$out/python"
python3 -m venv "$out/python" || fail "cannot make a Python venv"
"$out/python/bin/pip" install -q --no-deps -r "$here/python-peer/requirements.txt" ||
  fail "cannot install the Python packages of test/interop/python-peer/requirements.txt"
echo "interop peers in ${out#"$(cd "$here/../.." && pwd)/"}: grpc-go, grpc-java, grpcio"
