#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP/2 server that answers every gRPC call in one way: h2_server.py MODE CERT KEY CA

Prints its port, and serves until it is killed. The modes are those of tests/netns/store_hostile_test.sh."""
import socket
import ssl
import sys
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events

MODE, CERT, KEY, CA = sys.argv[1:5]
# StatusResponse: version 3.5.33, leader 5
GOOD = b"\x12\x063.5.33\x20\x05"
refused = False  # for "refused-once" and "refused-later": once true, they answer like etcd
OK = [(":status", "200"), ("content-type", "application/grpc")]


def framed(msg, flag=0, length=None):
    return bytes([flag]) + (len(msg) if length is None else length).to_bytes(4, "big") + msg


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def answer(c, stream, sock):
    """Sends the answer to one call; a mode that waits flushes it first."""
    def flush():
        sock.sendall(c.data_to_send())

    trailers = [("grpc-status", "0")]
    global refused
    if not refused and (MODE == "refused-once" or (MODE == "refused-later" and stream > 1)):
        refused = True
        c.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
    elif MODE == "goaway":
        c.close_connection(last_stream_id=0)
    elif MODE == "rst":
        c.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
    elif MODE == "close":
        sock.shutdown(socket.SHUT_RDWR)
    elif MODE == "silent":
        time.sleep(60)
    elif MODE == "html":
        c.send_headers(stream, [(":status", "200"), ("content-type", "text/html")])
        c.send_data(stream, b"<html>" * 1000, end_stream=True)
    elif MODE == "http503":
        c.send_headers(stream, [(":status", "503"), ("content-type", "text/plain")], end_stream=True)
    elif MODE == "headers":
        c.send_headers(stream, OK)
        # Trailers of 8 MB in frames of which none is marked as the last (a CONTINUATION flood).
        block = c.encoder.encode([(f"x-{i}", "y" * 1000) for i in range(16)])
        flush()
        sock.sendall(frame(1, 0, stream, block[:16000]))
        for _ in range(500):
            sock.sendall(frame(9, 0, stream, block[:16000]))
        time.sleep(60)
    elif MODE == "denied":
        c.send_headers(stream, OK + [("grpc-status", "7"), ("grpc-message", "no%20such luck%0a")], end_stream=True)
    else:
        body = {"compressed": framed(GOOD, 1), "large": framed(b"x", 0, 0x7FFFFFFF), "two": framed(GOOD) * 2,
                "half": framed(GOOD)[:-3], "none": b"", "junk": framed(b"\x0b\xff" + GOOD)}.get(MODE, framed(GOOD))
        c.send_headers(stream, OK)
        if MODE == "drip":
            for i in range(len(body) - 1):
                c.send_data(stream, body[i : i + 1])
                flush()
                time.sleep(1)
        if MODE == "no-status":
            c.send_data(stream, body, end_stream=True)
            return
        if body:
            c.send_data(stream, body)
        c.send_headers(stream, trailers, end_stream=True)


def serve(sock):
    try:
        sock = context.wrap_socket(sock, server_side=True)
        c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        if MODE == "http1":
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ngrpc-status: 0\r\n"
                         b"content-length: %d\r\n\r\n" % len(framed(GOOD)) + framed(GOOD))
            while sock.recv(65536):
                pass
            return
        c.initiate_connection()
        sock.sendall(c.data_to_send())
        while True:
            data = sock.recv(65536)
            if not data:
                return
            for event in c.receive_data(data):
                if isinstance(event, h2.events.StreamEnded):
                    answer(c, event.stream_id, sock)
            sock.sendall(c.data_to_send())
    except OSError:
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT, KEY)
context.load_verify_locations(CA)
context.verify_mode = ssl.CERT_REQUIRED
context.set_alpn_protocols(["http/1.1"] if MODE == "http1" else ["h2"])
if MODE == "tls12":
    context.maximum_version = ssl.TLSVersion.TLSv1_2
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
