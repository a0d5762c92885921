#!/usr/bin/env python3
"""Serves a folder as a bucket of S3, for reading, and delays each answer.

    benchmarks/folder_store.py FOLDER --latency SECONDS

Of the protocol, it has what readers of runs send: listings and ranges of objects; it checks no
signature. It takes a fraction of the CPU of a server for all of the protocol, which would otherwise
be most of what a benchmark on the same machine measures. It prints its address. GET /-/requests
is answered by the number of the requests of before, which it sets to 0.
"""

import argparse
import asyncio
import bisect
import pathlib
import re
import urllib.parse
from xml.sax.saxutils import escape

PAGE = 1000
LISTING = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><KeyCount>{count}</KeyCount>\
<IsTruncated>{more}</IsTruncated>{token}{contents}{prefixes}</ListBucketResult>"""
CONTENT = """<Contents><Key>{key}</Key><Size>{size}</Size><ETag>&quot;{tag}&quot;</ETag>\
<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"""


class Bucket:
    """The files below a folder, as they were at the start."""

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        files = (path for path in folder.rglob("*") if path.is_file())
        self._sizes = {str(path.relative_to(folder)): path.stat().st_size for path in files}
        self._keys = sorted(self._sizes, key=str.encode)
        self._bytes = [key.encode() for key in self._keys]

    def list(self, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = max(query.get("start-after", ""), query.get("continuation-token", ""))
        start = bisect.bisect_left(self._bytes, prefix.encode())
        if after:
            start = max(start, bisect.bisect_right(self._bytes, after.encode()))
        contents, prefixes, last = [], [], ""
        most = min(PAGE, int(query.get("max-keys", PAGE)))
        more = False
        for key in self._keys[start:]:
            if not key.startswith(prefix):
                break
            if len(contents) + len(prefixes) == most:
                more = True
                break
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                common = prefix + rest[: rest.index(delimiter) + 1]
                if common not in prefixes:
                    prefixes.append(common)
            else:
                size = self._sizes[key]
                contents.append(CONTENT.format(key=escape(key), size=size, tag=size))
            last = key
        token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else ""
        text = LISTING.format(
            count=len(contents) + len(prefixes),
            more=str(more).lower(),
            token=token,
            contents="".join(contents),
            prefixes="".join(
                f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
                for each in prefixes
            ),
        )
        return text.encode()

    def read(self, key: str, first: int, last: int | None) -> tuple[bytes, int] | None:
        """The bytes of a range, its last one included, and the size of the object."""
        size = self._sizes.get(key)
        if size is None:
            return None
        with (self._folder / key).open("rb") as file:
            file.seek(first)
            return file.read(size if last is None else last - first + 1), size


class Connection(asyncio.Protocol):
    requests = 0

    def __init__(self, bucket: Bucket, latency: float):
        self._bucket, self._latency = bucket, latency
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, self._received = self._received.split(b"\r\n\r\n", 1)
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            if target == "/-/requests":
                self._send("200 OK", str(Connection.requests).encode())
                Connection.requests = 0
                continue
            Connection.requests += 1
            asyncio.get_running_loop().call_later(
                self._latency, self._answer, method, target, head.decode()
            )

    def _answer(self, method: str, target: str, head: str) -> None:
        if self._transport.is_closing():
            return
        path, _, query = target.partition("?")
        _, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        if not key:
            self._send("200 OK", self._bucket.list(dict(urllib.parse.parse_qsl(query))))
            return
        found = re.search(r"(?im)^range: bytes=(\d+)-(\d*)", head)
        first = int(found[1]) if found else 0
        last = int(found[2]) if found and found[2] else None
        read = self._bucket.read(key, first, last)
        if read is None:
            self._send("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>")
            return
        body, size = read
        part = f"Content-Range: bytes {first}-{first + len(body) - 1}/{size}\r\n"
        if found:
            self._send("206 Partial Content", body, part, is_head=method == "HEAD")
        else:
            self._send("200 OK", body, is_head=method == "HEAD")

    def _send(self, status: str, body: bytes, more: str = "", is_head: bool = False) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode()
        self._transport.write(head if is_head else head + body)


async def serve(folder: pathlib.Path, latency: float) -> None:
    bucket = Bucket(folder)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(bucket, latency), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--latency", type=float, default=0)
    options = parser.parse_args()
    asyncio.run(serve(options.folder, options.latency))


if __name__ == "__main__":
    main()
