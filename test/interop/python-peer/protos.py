"""The interop messages, compiled from test/interop/protos when they are loaded."""

import os
import sys

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protos"))
empty = grpc.protos("interop/empty.proto")
messages = grpc.protos("interop/messages.proto")
test = grpc.services("interop/test.proto")
