"""The client's side of gRPC's interop cases (doc/interop-test-descriptions.md of gRPC) on grpcio."""

import queue

import grpc

from protos import empty, messages, test

ECHO_INITIAL = ("x-grpc-test-echo-initial", "test_initial_metadata_value")
ECHO_TRAILING = ("x-grpc-test-echo-trailing-bin", b"\xab\xab\xab")
REQUEST_SIZES = (27182, 8, 1828, 45904)
RESPONSE_SIZES = (31415, 9, 2653, 58979)
# Time for a case that must not hang (s).
BOUND = 20


def equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"got {found!r}, want {wanted!r}")


def payload(size):
    return messages.Payload(body=bytes(size))


def large():
    return messages.SimpleRequest(response_size=314159, payload=payload(271828))


def asks(size, request=0):
    return messages.StreamingOutputCallRequest(
        response_parameters=[messages.ResponseParameters(size=size)], payload=payload(request)
    )


def fails(call, code, details=None):
    """`call` must end with this status."""
    try:
        call()
    except grpc.RpcError as error:
        equal(error.code(), code)
        if details is not None:
            equal(error.details(), details)
        return
    raise AssertionError(f"ended OK, want {code}")


def empty_unary(stub):
    equal(stub.EmptyCall(empty.Empty(), timeout=BOUND), empty.Empty())


def large_unary(stub):
    equal(len(stub.UnaryCall(large(), timeout=BOUND).payload.body), 314159)


def client_compressed_unary_noprobe(stub):
    for compression in (grpc.Compression.Gzip, grpc.Compression.NoCompression):
        request = large()
        request.expect_compressed.value = compression is grpc.Compression.Gzip
        answer = stub.UnaryCall(request, timeout=BOUND, compression=compression)
        equal(len(answer.payload.body), 314159)


def client_compressed_streaming_noprobe(stub):
    requests = [messages.StreamingInputCallRequest(payload=payload(size)) for size in (27182, 45904)]
    answer = stub.StreamingInputCall(iter(requests), timeout=BOUND, compression=grpc.Compression.Gzip)
    equal(answer.aggregated_payload_size, 73086)


def server_compressed_unary(stub):
    for compressed in (True, False):
        request = large()
        request.response_compressed.value = compressed
        equal(len(stub.UnaryCall(request, timeout=BOUND).payload.body), 314159)


def client_streaming(stub):
    requests = [messages.StreamingInputCallRequest(payload=payload(size)) for size in REQUEST_SIZES]
    equal(stub.StreamingInputCall(iter(requests), timeout=BOUND).aggregated_payload_size, 74922)


def sizes(answers):
    return tuple(len(answer.payload.body) for answer in answers)


def server_streaming(stub):
    request = messages.StreamingOutputCallRequest(
        response_parameters=[messages.ResponseParameters(size=size) for size in RESPONSE_SIZES]
    )
    equal(sizes(stub.StreamingOutputCall(request, timeout=BOUND)), RESPONSE_SIZES)


def server_compressed_streaming(stub):
    request = messages.StreamingOutputCallRequest(
        response_parameters=[
            messages.ResponseParameters(size=31415, compressed=messages.BoolValue(value=True)),
            messages.ResponseParameters(size=92653, compressed=messages.BoolValue(value=False)),
        ]
    )
    equal(sizes(stub.StreamingOutputCall(request, timeout=BOUND)), (31415, 92653))


def ping_pong(stub):
    outgoing = queue.Queue()
    answers = stub.FullDuplexCall(iter(outgoing.get, None), timeout=BOUND)
    for request, size in zip(REQUEST_SIZES, RESPONSE_SIZES):
        outgoing.put(asks(size, request))
        equal(len(next(answers).payload.body), size)
    outgoing.put(None)
    equal(sizes(answers), ())


def empty_stream(stub):
    equal(sizes(stub.FullDuplexCall(iter(()), timeout=BOUND)), ())


def has(metadata, wanted):
    equal([pair[1] for pair in metadata if pair[0] == wanted[0]], [wanted[1]])


def custom_metadata(stub):
    metadata = (ECHO_INITIAL, ECHO_TRAILING)
    answer, call = stub.UnaryCall.with_call(large(), timeout=BOUND, metadata=metadata)
    equal(len(answer.payload.body), 314159)
    has(call.initial_metadata(), ECHO_INITIAL)
    has(call.trailing_metadata(), ECHO_TRAILING)
    stream = stub.FullDuplexCall(iter([asks(314159, 271828)]), timeout=BOUND, metadata=metadata)
    equal(sizes(stream), (314159,))
    has(stream.initial_metadata(), ECHO_INITIAL)
    has(stream.trailing_metadata(), ECHO_TRAILING)


def status_code_and_message(stub):
    text = "test status message"
    status = messages.EchoStatus(code=2, message=text)
    unary = messages.SimpleRequest(response_status=status)
    fails(lambda: stub.UnaryCall(unary, timeout=BOUND), grpc.StatusCode.UNKNOWN, text)
    duplex = messages.StreamingOutputCallRequest(response_status=status)
    fails(lambda: sizes(stub.FullDuplexCall(iter([duplex]), timeout=BOUND)), grpc.StatusCode.UNKNOWN, text)


def special_status_message(stub):
    text = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"
    request = messages.SimpleRequest(response_status=messages.EchoStatus(code=2, message=text))
    fails(lambda: stub.UnaryCall(request, timeout=BOUND), grpc.StatusCode.UNKNOWN, text)


def unimplemented_method(stub):
    fails(lambda: stub.UnimplementedCall(empty.Empty(), timeout=BOUND), grpc.StatusCode.UNIMPLEMENTED)


def cancel_after_begin(stub):
    outgoing = queue.Queue()
    call = stub.StreamingInputCall.future(iter(outgoing.get, None), timeout=BOUND)
    call.cancel()
    outgoing.put(None)
    equal(call.code(), grpc.StatusCode.CANCELLED)


def cancel_after_first_response(stub):
    outgoing = queue.Queue()
    outgoing.put(asks(31415, 27182))
    call = stub.FullDuplexCall(iter(outgoing.get, None), timeout=BOUND)
    equal(len(next(call).payload.body), 31415)
    call.cancel()
    outgoing.put(None)
    fails(lambda: next(call), grpc.StatusCode.CANCELLED)


def timeout_on_sleeping_server(stub):
    outgoing = queue.Queue()
    outgoing.put(messages.StreamingOutputCallRequest(payload=payload(27182)))
    call = stub.FullDuplexCall(iter(outgoing.get, None), timeout=0.001)
    fails(lambda: next(call), grpc.StatusCode.DEADLINE_EXCEEDED)
    outgoing.put(None)


def unimplemented_service(stub):
    fails(lambda: stub.UnimplementedCall(empty.Empty(), timeout=BOUND), grpc.StatusCode.UNIMPLEMENTED)


def run(name, port):
    """Runs one case on a channel of its own; throws what went wrong."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        if name == "unimplemented_service":
            unimplemented_service(test.UnimplementedServiceStub(channel))
        else:
            globals()[name](test.TestServiceStub(channel))
