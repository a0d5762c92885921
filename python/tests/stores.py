"""Object stores on this machine: a server, a bucket of it, and faults before it."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.request
import uuid

import boto3
import botocore.config
import numpy as np
import pytest

from smdebug import _core
from smdebug.hook import BaseHook

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "tests/support"
# The names of the servers that tests run on. Swift is a real one with a part of the protocol: it
# has no conditional requests, checks signatures, and knows its own region only.
SERVERS = ("moto", pytest.param("swift", marks=pytest.mark.long))
# The exit code of tests/support/swift_server.
NOT_INSTALLED = 3
# A sixth of the requests fail: of six attempts at one of them, all do once in 47,000 requests.
SHARE = 1 / 6
QUICK = ("429", "500", "503", "reset", "lost", "cut", "short", "slow", "twice", "garbage")
# Each costs the longest silence of a server. HttpClient.GivesUpAnAnswerThatNeverEnds makes one.
ENDLESS = ("stuck", "endless")
FAULTS = pytest.mark.parametrize(
    "fault", [*QUICK, *(pytest.param(kind, marks=pytest.mark.long) for kind in ENDLESS)]
)


class VectorHook(BaseHook):
    """Saves a vector in each step."""

    @classmethod
    def make_framework(cls):
        return _core.pytorch_framework()

    def step(self, vector=(1.0, 1.0, 1.0, 1.0)):
        self._begin_step()
        self.save_tensor("gradient/a", np.asarray(vector), collections_to_write="gradients")


@dataclasses.dataclass(frozen=True)
class Server:
    """Where a server is, and who may use it."""

    address: str
    key: str = "AKIDEXAMPLE"
    secret: str = "secret"
    region: str = "eu-west-1"
    has_conditions: bool = True  # requests with If-None-Match


class Store:
    """A bucket of a server, seen by another client."""

    def __init__(self, server, scheme="s3"):
        self.scheme = scheme
        self.bucket = f"runs-{uuid.uuid4()}"
        self.client = boto3.client(
            "s3",
            endpoint_url=server.address,
            region_name=server.region,
            # boto3 reads those of the environment only once.
            aws_access_key_id=server.key,
            aws_secret_access_key=server.secret,
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )
        self.client.create_bucket(
            Bucket=self.bucket,
            CreateBucketConfiguration={"LocationConstraint": server.region},
        )

    def uri(self, prefix):
        return f"{self.scheme}://{self.bucket}/{prefix}"

    def upload(self, folder, prefix):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                key = f"{prefix}/{path.relative_to(folder)}"
                self.client.put_object(Bucket=self.bucket, Key=key, Body=path.read_bytes())

    def objects(self, prefix):
        """Key below the prefix -> bytes."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=f"{prefix}/"
        )
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {
            key.removeprefix(f"{prefix}/"): self.client.get_object(Bucket=self.bucket, Key=key)[
                "Body"
            ].read()
            for key in keys
        }


def connect(server, monkeypatch, scheme="s3"):
    """Returns a new bucket, which smdebug finds with the variables of the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
    monkeypatch.setenv("AWS_REGION", server.region)
    monkeypatch.setenv("AWS_DEFAULT_REGION", server.region)
    return Store(server, scheme)


@contextlib.contextmanager
def running_server(name, folder):
    """One of SERVERS, in processes of its own. Skips the test if it is not installed."""
    with moto_server() if name == "moto" else swift_server(folder) as server:
        yield server


@contextlib.contextmanager
def moto_server():
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if found := re.search(r"Running on (http://\S+)", line):
                break
        # It logs each request, and waits if nobody reads that.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield Server(found[1])
        finally:
            process.terminate()


@contextlib.contextmanager
def swift_server(folder):
    command = [SUPPORT / "swift_server", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        told = dict(word.split("=", 1) for word in process.stdout.readline().split())
        if not told and process.wait() == NOT_INSTALLED:
            pytest.skip("Swift is not installed: run tools/bootstrap --swift")
        try:
            yield Server(
                told["AWS_ENDPOINT_URL"],
                told["AWS_ACCESS_KEY_ID"],
                told["AWS_SECRET_ACCESS_KEY"],
                told["AWS_REGION"],
                has_conditions=False,
            )
        finally:
            process.terminate()


@contextlib.contextmanager
def fault_proxy(server, *faults, latency=0, seed=0):
    """The address of a proxy before a server."""
    arguments = [word for fault in faults for word in ("--fault", fault)]
    command = [
        sys.executable,
        SUPPORT / "fault_proxy.py",
        server.address,
        "--latency",
        latency,
        "--seed",
        seed,
        *arguments,
    ]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextlib.contextmanager
def making(fault, server, monkeypatch):
    """The address of a proxy with a fault, which smdebug uses from now on."""
    share = SHARE / 4 if fault == "slow" or fault in ENDLESS else SHARE
    if fault in ENDLESS:  # an attempt is over after 5 s of silence
        monkeypatch.setenv("SMDEBUG_STORAGE_TIMEOUT", "20")
    with fault_proxy(server, f"{fault}:{share}", seed=len(fault)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        yield proxy


def requests_made(proxy):
    """The requests that the proxy has seen so far: "GET /bucket/key"."""
    with urllib.request.urlopen(f"{proxy}/-/requests", timeout=10) as answer:
        return json.load(answer)


def keys_seen(proxy):
    """The ids of the access keys that signed these requests, in the order of their first use."""
    with urllib.request.urlopen(f"{proxy}/-/keys", timeout=10) as answer:
        return json.load(answer)


def faults_made(proxy):
    """Kind -> how often."""
    with urllib.request.urlopen(f"{proxy}/-/faults", timeout=10) as answer:
        return json.load(answer)
