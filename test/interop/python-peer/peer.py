"""grpcio as client and as server, as told on standard input: one JSON object a line, as go-channel/main.go tells, and

    {"seq":1,"op":"serve"}  -> {"seq":1,"port":1234,"flakyPort":1235}; with "tls" as in open both ask for a certificate
    {"seq":2,"op":"case","name":"empty_unary","port":1234}  -> {"seq":2} or {"seq":2,"failure":"why"}
"""

import base64
import json
import os
import queue
import sys
import threading

import grpc

import cases
import servers
from servers import read

say_lock = threading.Lock()


def say(reply):
    with say_lock:
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def lines(metadata):
    """Binary values in base64, as on the wire."""
    return [
        [key, base64.b64encode(value).decode() if key.endswith("-bin") else value]
        for key, value in metadata or ()
    ]


def from_lines(pairs):
    return [
        (key, base64.b64decode(value) if key.endswith("-bin") else value)
        for key, value in pairs or ()
    ]


def credentials(files):
    """Paths of PEM files: whom the channel trusts, and what it shows, if anything."""
    own = {}
    if "cert" in files:
        own = {"private_key": read(files["key"]), "certificate_chain": read(files["cert"])}
    return grpc.ssl_channel_credentials(root_certificates=read(files["ca"]), **own)


class Call:
    def __init__(self, channel, request):
        self.outgoing = queue.Queue()
        self.call = None
        compression = grpc.Compression.Gzip if request.get("gzip") else None
        timeout = request["deadlineMs"] / 1000 if "deadlineMs" in request else None
        options = {
            "metadata": from_lines(request.get("metadata")),
            "compression": compression,
            "timeout": timeout,
        }
        self.answers = None
        if request["kind"] == "serverStream":
            method = channel.unary_stream(request["method"])
            self.call = method(request["message"].encode(), **options)
            threading.Thread(target=self.read, args=(request["seq"],), daemon=True).start()
            return
        if request["kind"] == "unary":
            method = channel.unary_unary(request["method"])
            self.call = method.future(request["message"].encode(), **options)
        else:
            method = channel.stream_unary(request["method"])
            self.call = method.future(iter(self.outgoing.get, None), **options)
        self.call.add_done_callback(lambda _: self.done(request["seq"]))

    def read(self, seq):
        self.answers = []
        try:
            for message in self.call:
                self.answers.append(message.decode())
        except grpc.RpcError:
            pass  # The call has its status.
        self.done(seq)

    def results(self):
        return [self.call.result().decode()] if self.answers is None else self.answers

    def done(self, seq):
        self.outgoing.put(None)
        code = self.call.code()
        say(
            {
                "seq": seq,
                "status": code.value[0],
                "message": self.call.details() or "",
                "messages": self.results() if code is grpc.StatusCode.OK else [],
                "headers": lines(self.call.initial_metadata()),
                "trailers": lines(self.call.trailing_metadata()),
            }
        )


class Peer:
    def __init__(self):
        self.channels = {}
        self.calls = {}

    def carry_out(self, request):
        op = request["op"]
        seq = request.get("seq")
        if op == "version":
            say({"seq": seq, "message": grpc.__version__})
        elif op == "open":
            # Its own retries are off: neither a policy nor the transparent ones.
            options = [("grpc.enable_retries", 0), ("grpc.service_config_disable_resolution", 1)]
            if "tls" in request:
                # Whether it comes to a connection is what the calls are to show.
                channel = grpc.secure_channel(request["target"], credentials(request["tls"]), options=options)
            else:
                channel = grpc.insecure_channel(request["target"], options=options)
                grpc.channel_ready_future(channel).result(timeout=5)
            self.channels[request["channel"]] = channel
            say({"seq": seq, "message": ""})
        elif op == "call":
            self.calls[seq] = Call(self.channels[request["channel"]], request)
        elif op == "send":
            self.calls[request["call"]].outgoing.put(request["message"].encode())
        elif op == "finish":
            self.calls[request["call"]].outgoing.put(None)
        elif op == "cancel":
            self.calls[request["call"]].call.cancel()
        elif op == "close":
            self.channels.pop(request["channel"]).close()
            say({"seq": seq, "message": ""})
        elif op == "serve":
            port, flaky_port = servers.serve(request.get("tls"))
            say({"seq": seq, "message": "", "port": port, "flakyPort": flaky_port})
        elif op == "case":
            try:
                cases.run(request["name"], request["port"])
                say({"seq": seq, "message": ""})
            except Exception as error:  # What a case throws is its result.
                say({"seq": seq, "message": "", "failure": f"{type(error).__name__}: {error}"})
        else:
            say({"seq": seq, "message": "", "fault": f"cannot do op {op}"})


def main():
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            peer.carry_out(request)
        except Exception as error:
            say({"seq": request.get("seq"), "message": "", "fault": f"{type(error).__name__}: {error}"})
    sys.stdout.flush()
    # Threads of servers and channels do not keep it.
    os._exit(0)


main()
