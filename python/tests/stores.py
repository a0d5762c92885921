"""Object stores on this machine: a server, a bucket of it, and faults before it."""

import contextlib
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

FAULT_PROXY = pathlib.Path(__file__).resolve().parents[2] / "tests/support/fault_proxy.py"


class Store:
    """A bucket of a server, seen by another client."""

    def __init__(self, endpoint, scheme="s3"):
        self.scheme = scheme
        self.bucket = f"runs-{uuid.uuid4()}"
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )
        self.client.create_bucket(
            Bucket=self.bucket,
            CreateBucketConfiguration={"LocationConstraint": os.environ["AWS_REGION"]},
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


def connect(endpoint, monkeypatch, scheme="s3"):
    """Returns a new bucket, which smdebug finds with the variables of the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    return Store(endpoint, scheme)


@contextlib.contextmanager
def moto_server():
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if found := re.search(r"Running on (http://\S+)", line):
                break
        # It logs each request, and waits if nobody reads that.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield found[1]
        finally:
            process.terminate()


@contextlib.contextmanager
def fault_proxy(server, *faults, latency=0, seed=0):
    """The address of a proxy before a server."""
    arguments = [word for fault in faults for word in ("--fault", fault)]
    command = [
        sys.executable,
        FAULT_PROXY,
        server,
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


def faults_made(proxy):
    """Kind -> how often."""
    with urllib.request.urlopen(f"{proxy}/-/faults", timeout=10) as answer:
        return json.load(answer)
