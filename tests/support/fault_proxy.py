#!/usr/bin/env python3
"""A proxy before a server of HTTP, which does what networks and busy stores do.

    tests/support/fault_proxy.py UPSTREAM [--latency SECONDS] [--fault KIND:SHARE ...] [--seed N]

It prints its address. A GET of /-/faults returns how often it made each fault, as JSON, one of
/-/requests the first lines of all requests, "GET /bucket/key", and one of /-/keys the ids of the
access keys that signed them, each once and in the order of their first use. Faults:

| kind | what the client gets |
| --- | --- |
| 429, 500, 503 | this status in place of the answer |
| reset | a closed connection in place of the answer |
| lost | a closed connection: the server has carried the request out |
| cut | half of the body, then a closed connection |
| short | half of the body, with a length that says that it is all of it |
| slow | the answer a second later |
| stuck | half of the answer, then nothing |
| endless | half of the body, then a blank each tenth of a second, without end |
| twice | the answer, and once more before the next one |
| stale | for a listing, the answer of the first time |
| garbage | for a listing, the page of a login form |
"""

import argparse
import asyncio
import collections
import json
import random
import re
import sys
import urllib.parse

ERROR = (
    "<?xml version='1.0'?><Error><Code>{code}</Code><Message>made by the proxy</Message></Error>"
)
CODES = {"429": "TooManyRequests", "500": "InternalError", "503": "SlowDown"}
FORM = b"<!DOCTYPE html><html><body><form>Please log in</form></body></html>"
ONLY_LISTINGS = ("stale", "garbage")


class Message:
    """A request or an answer."""

    def __init__(self, head: bytes, body: bytes = b""):
        self.first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.headers = [tuple(line.split(": ", 1)) for line in lines]
        self.body = body

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def set_length(self, length: int) -> None:
        self.set_end("Content-Length", str(length))

    def set_chunked(self) -> None:
        self.set_end("Transfer-Encoding", "chunked")

    def set_end(self, name: str, value: str) -> None:
        others = ("content-length", "transfer-encoding")
        self.headers = [pair for pair in self.headers if pair[0].lower() not in others]
        self.headers.append((name, value))

    def head(self) -> bytes:
        lines = [self.first, *(": ".join(pair) for pair in self.headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


async def read_message(reader: asyncio.StreamReader, has_body: bool = True) -> Message | None:
    """Returns None at the end of the connection."""
    try:
        message = Message(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.IncompleteReadError:
        return None
    if not has_body:
        return message
    if message.header("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            message.body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    elif length := int(message.header("content-length") or 0):
        message.body = await reader.readexactly(length)
    return message


class Proxy:
    def __init__(self, upstream: str, latency: float, faults: dict[str, float], seed: int):
        parts = urllib.parse.urlsplit(upstream)
        self.upstream = (parts.hostname, parts.port)
        self.latency, self.faults = latency, faults
        self.random = random.Random(seed)
        self.made = collections.Counter()
        self.requests: list[str] = []
        self.keys: dict[str, None] = {}
        self.idle = []  # connections to the server
        self.listings = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_message(reader)) and await self.answer(
                request, reader, writer
            ):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(
        self, request: Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Returns whether the connection stays open."""
        if " /-/faults " in request.first:
            self.send(writer, "200 OK", json.dumps(self.made).encode())
            return True
        if " /-/requests " in request.first:
            self.send(writer, "200 OK", json.dumps(self.requests).encode())
            return True
        if " /-/keys " in request.first:
            self.send(writer, "200 OK", json.dumps(list(self.keys)).encode())
            return True
        self.requests.append(request.first.rpartition(" ")[0])
        if found := re.search(r"Credential=([^/]+)/", request.header("authorization") or ""):
            self.keys[found[1]] = None
        await asyncio.sleep(self.latency)
        fault = self.choose(request)
        if fault == "reset":
            return False
        if fault in CODES:
            self.send(writer, f"{fault} Error", ERROR.format(code=CODES[fault]).encode())
            return True
        if fault == "garbage":
            self.send(writer, "200 OK", FORM)
            return True
        answer = await self.forward(request)
        if fault == "lost":
            return False
        if fault == "slow":
            await asyncio.sleep(1)
        if fault == "stuck":
            whole = answer.head() + answer.body
            writer.write(whole[: len(whole) // 2])
            await reader.read()  # until the client closes the connection
            return False
        if fault == "endless":
            await self.send_endlessly(answer, writer)
        if "list-type" in request.first:
            first = self.listings.setdefault(request.first, answer)
            answer = first if fault == "stale" else answer
        if request.first.startswith("HEAD "):
            writer.write(answer.head())
            return True
        answer.set_length(len(answer.body))
        half = len(answer.body) // 2
        if fault == "short":
            answer.set_length(half)
            writer.write(answer.head() + answer.body[:half])
            return True
        if fault == "cut":
            writer.write(answer.head() + answer.body[:half])
            await writer.drain()
            return False
        writer.write((answer.head() + answer.body) * (2 if fault == "twice" else 1))
        return True

    def choose(self, request: Message) -> str | None:
        """Returns the kind of the fault to make, if any."""
        number = self.random.random()
        for kind, share in self.faults.items():
            if number < share:
                if kind in ONLY_LISTINGS and "list-type" not in request.first:
                    return None
                if kind == "endless" and request.first.startswith("HEAD "):
                    return None
                self.made[kind] += 1
                return kind
            number -= share
        return None

    async def forward(self, request: Message) -> Message:
        request.set_length(len(request.body))
        while True:
            used_before = bool(self.idle)
            reader, writer = (
                self.idle.pop() if used_before else await asyncio.open_connection(*self.upstream)
            )
            writer.write(request.head() + request.body)
            is_head = request.first.startswith("HEAD ")
            answer = await read_message(reader, not is_head)
            if answer is None and used_before:  # the server has closed it
                continue
            if answer is None:
                raise ConnectionResetError("the server sent no answer")
            # Swift sends the end of a body that it does not send.
            if is_head or answer.header("connection") == "close":
                writer.close()
            else:
                self.idle.append((reader, writer))
            return answer

    @staticmethod
    async def send_endlessly(answer: Message, writer: asyncio.StreamWriter) -> None:
        """Returns by an error, once the client closes the connection."""
        answer.set_chunked()
        half = answer.body[: len(answer.body) // 2]
        writer.write(answer.head() + (chunk(half) if half else b""))
        while True:
            await writer.drain()
            await asyncio.sleep(0.1)
            writer.write(chunk(b" "))

    @staticmethod
    def send(writer: asyncio.StreamWriter, status: str, body: bytes) -> None:
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def fault_of(text: str) -> tuple[str, float]:
    kind, _, share = text.partition(":")
    return kind, float(share)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("upstream")
    parser.add_argument("--latency", type=float, default=0, help="seconds before each answer")
    parser.add_argument("--fault", type=fault_of, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    proxy = Proxy(options.upstream, options.latency, dict(options.fault), options.seed)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=1 << 20)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)
