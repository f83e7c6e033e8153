"""gRPC server and client in one process: unary calls, a server stream, a failing call.

``python grpc_peer.py ADDRESS`` makes the calls of :data:`CALLS` over one cleartext connection.
"""

import sys
from concurrent import futures

import grpc

#: Method, request bytes, response bytes, messages of the response, and the status code of each call.
CALLS = (
    ("Get", 300, 500, 1, 0),
    ("Get", 20_000, 100_000, 1, 0),
    ("Watch", 10, 3000, 5, 0),
    ("Miss", 10, 0, 0, 5),
    ("Get", 300, 0, 1, 0),
)
SERVICE = "example.Store"


def _serve(request, _):
    return bytes(int(request[:9]))


def _watch(request, _):
    for _number in range(5):
        yield bytes(int(request[:9]))


def _miss(_, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "not here")


def server(address):
    """Return a server that listens."""
    handlers = {
        "Get": grpc.unary_unary_rpc_method_handler(_serve),
        "Watch": grpc.unary_stream_rpc_method_handler(_watch),
        "Miss": grpc.unary_unary_rpc_method_handler(_miss),
    }
    made = grpc.server(futures.ThreadPoolExecutor(2))
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    made.add_insecure_port(address)
    made.start()
    return made


def call(channel, method, request_bytes, response_bytes):
    """Make one call and return the bytes of its response and its status code."""
    request = b"%09d" % response_bytes + bytes(request_bytes - 9)
    path = f"/{SERVICE}/{method}"
    try:
        if method == "Watch":
            return sum(len(each) for each in channel.unary_stream(path)(request)), 0
        return len(channel.unary_unary(path)(request)), 0
    except grpc.RpcError as error:
        return 0, error.code().value[0]


if __name__ == "__main__":
    listening = server(sys.argv[1])
    with grpc.insecure_channel(sys.argv[1]) as opened:
        for name, requested, size, messages, status in CALLS:
            assert call(opened, name, requested, size) == (size * messages, status)
        # The client closes after the server's GOAWAY: no frame comes behind a reset.
        listening.stop(1).wait()
