#!/usr/bin/env bash
# Fetches and builds the channels of other languages that `npm run test:interop` drives, into .ci/cache/interop. Versions are
# pinned: go-channel/go.mod and go.sum, java-channel/pom.xml and the plugin below. Where packages come from is the machine's
# own setting of Go and Maven.
# What cannot be had is named in one line, the last one, and the exit code is 1.
set -u
cd "$(dirname "$0")"
here=$PWD
out=$(cd ../.. && pwd)/.ci/cache/interop
dependency_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
mkdir -p "$out/java"

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
# Debian's Go is older than grpc-go asks for.
command -v go >/dev/null || fail "no go on the PATH: install the Go that test/interop/go-channel/go.mod names"

cd "$here/go-channel" || exit 1
go mod download || fail "cannot fetch the Go modules of test/interop/go-channel/go.sum"
go build -mod=readonly -trimpath -o "$out/go-channel" . || fail "cannot build test/interop/go-channel"

cd "$here/java-channel" || exit 1
# Anew, so that no jar of an older version stays on the class path.
rm -rf "$out/java/lib" "$out/java/classes"
mvn -q -B -ntp "$dependency_plugin:copy-dependencies" -DincludeScope=runtime "-DoutputDirectory=$out/java/lib" ||
  fail "cannot fetch the Maven artifacts of test/interop/java-channel/pom.xml"
javac --release 17 -Xlint:all,-classfile -Werror -cp "$out/java/lib/*" -d "$out/java/classes" src/*.java ||
  fail "cannot compile test/interop/java-channel"
echo "interop peers in ${out#"$(cd "$here/../.." && pwd)/"}: go-channel, java-channel"
