"""grpcio's server with gRPC's interop service, and a second one with the flaky backend of docs/interop.md."""

import threading
import time
from concurrent import futures

import grpc

from protos import empty, messages, test

GZIP = grpc.Compression.Gzip
SERVICE = "/hedgerow.interop.Flaky/"
codes = {code.value[0]: code for code in grpc.StatusCode}


def payload(size):
    return messages.Payload(body=bytes(size))


def echo_metadata(context):
    for key, value in context.invocation_metadata():
        if key == "x-grpc-test-echo-initial":
            context.send_initial_metadata(((key, value),))
        elif key == "x-grpc-test-echo-trailing-bin":
            context.set_trailing_metadata(((key, value),))


def end_as_asked(request, context):
    if request.response_status.code != 0:
        context.abort(codes[request.response_status.code], request.response_status.message)


class Interop(test.TestServiceServicer):
    def EmptyCall(self, request, context):
        return empty.Empty()

    def UnaryCall(self, request, context):
        if request.response_compressed.value:
            context.set_compression(GZIP)
        echo_metadata(context)
        end_as_asked(request, context)
        return messages.SimpleResponse(payload=payload(request.response_size))

    def answers(self, request, context):
        for wanted in request.response_parameters:
            time.sleep(wanted.interval_us / 1e6)
            if not wanted.compressed.value:
                context.disable_next_message_compression()
            yield messages.StreamingOutputCallResponse(payload=payload(wanted.size))

    def StreamingOutputCall(self, request, context):
        if any(wanted.compressed.value for wanted in request.response_parameters):
            context.set_compression(GZIP)
        yield from self.answers(request, context)

    def StreamingInputCall(self, requests, context):
        total = sum(len(request.payload.body) for request in requests)
        return messages.StreamingInputCallResponse(aggregated_payload_size=total)

    def FullDuplexCall(self, requests, context):
        echo_metadata(context)
        for request in requests:
            end_as_asked(request, context)
            yield from self.answers(request, context)


class Seen:
    """What came of the attempts of one call id."""

    def __init__(self):
        self.previous = []
        self.cancelled = 0


class Flaky(grpc.GenericRpcHandler):
    def __init__(self):
        self.changed = threading.Condition()
        self.calls = {}

    def service(self, details):
        if not details.method.startswith(SERVICE):
            return None
        method = details.method[len(SERVICE) :]
        metadata = details.invocation_metadata
        if method == "Thrice":
            return grpc.unary_stream_rpc_method_handler(lambda request, context: self.thrice(request))
        return grpc.stream_unary_rpc_method_handler(
            lambda requests, context: self.handle(method, metadata, requests, context)
        )

    def thrice(self, request):
        yield b"1 of 3"
        yield b"2 of 3"
        yield f"Thrice {len(request)} ".encode() + request[:16]

    def seen(self, first):
        """Under the lock."""
        return self.calls.setdefault(first["call-id"], Seen())

    def tell(self, first):
        """Answers when the call has as many attempts and cancels as the metadata asks for."""
        with self.changed:
            it = self.seen(first)
            self.changed.wait_for(
                lambda: len(it.previous) >= int(first.get("wait-attempts", 0))
                and it.cancelled >= int(first.get("wait-cancelled", 0))
            )
            return f"previous={','.join(it.previous)} cancelled={it.cancelled}".encode()

    def begin(self, first):
        with self.changed:
            it = self.seen(first)
            it.previous.append(first.get("grpc-previous-rpc-attempts", "0"))
            self.changed.notify_all()
            return len(it.previous)

    def ended_by_client(self, first):
        with self.changed:
            self.seen(first).cancelled += 1
            self.changed.notify_all()

    def handle(self, method, metadata, requests, context):
        first = {key: value for key, value in reversed(metadata)}
        if method == "Seen":
            return self.tell(first)
        attempt = self.begin(first)
        over = threading.Event()
        if not context.add_callback(over.set):
            over.set()
        try:
            received = b"".join(requests)
        except grpc.RpcError:
            # The cancel came before the end of the request.
            self.ended_by_client(first)
            raise
        if attempt <= int(first.get("fail-first", 0)):
            self.fail(first, context)
        if "hang" in first:
            over.wait()
            self.ended_by_client(first)
            context.abort(grpc.StatusCode.CANCELLED, "")
        echoed = tuple((key, value) for key, value in metadata if key.startswith("echo-"))
        if "answer-gzip" in first:
            context.set_compression(GZIP)
        context.send_initial_metadata(echoed)
        context.set_trailing_metadata(echoed)
        return f"{method} {len(received)} ".encode() + received[:16]

    def fail(self, first, context):
        if "early-headers" in first:
            context.send_initial_metadata((("early", "yes"),))
        if "details-bin" in first:
            context.set_trailing_metadata((("grpc-status-details-bin", first["details-bin"]),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "\u00e4\nb")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def listen(server, tls):
    if tls is None:
        return server.add_insecure_port("127.0.0.1:0")
    own = [(read(tls["key"]), read(tls["cert"]))]
    credentials = grpc.ssl_server_credentials(own, root_certificates=read(tls["ca"]), require_client_auth=True)
    return server.add_secure_port("127.0.0.1:0", credentials)


def serve(tls=None):
    """
    @param tls paths of PEM files: the CA of clients, our certificate and its key; None: cleartext
    @returns the ports of the interop server and of the flaky one
    """
    interop = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    test.add_TestServiceServicer_to_server(Interop(), interop)
    flaky = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    flaky.add_generic_rpc_handlers((Flaky(),))
    ports = tuple(listen(server, tls) for server in (interop, flaky))
    interop.start()
    flaky.start()
    # A server that nobody holds is stopped.
    serve.kept = (interop, flaky)
    return ports
