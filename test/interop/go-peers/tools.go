//go:build tools

// Package main holds grpc-go's own interop client and server in go.mod and go.sum; install-peers.sh builds them by name.
package main

import (
	_ "google.golang.org/grpc/interop/client"
	_ "google.golang.org/grpc/interop/server"
)
