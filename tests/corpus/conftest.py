"""Object store on loopback: moto's server, which speaks S3 over HTTP."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUCKETS = count()


#: Separate process, with its own memory and threads. It ends when its standard input closes.
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Yield the store's address; obstore, polars and subprocesses find it in the environment."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen([sys.executable, "-c", _SERVER], **pipes) as server,
        pytest.MonkeyPatch.context() as environment,
    ):
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        environment.setenv("AWS_ENDPOINT_URL", endpoint)
        environment.setenv("AWS_ALLOW_HTTP", "true")
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_REGION", "us-east-1")
        yield endpoint


@pytest.fixture
def bucket(s3_endpoint: str) -> str:
    """Return the URL of an empty bucket for one test: tests never share a bucket."""
    name = f"bucket-{next(_BUCKETS)}"
    request = urllib.request.Request(f"{s3_endpoint}/{name}", method="PUT")
    urllib.request.urlopen(request).close()
    return f"s3://{name}"


@pytest.fixture(params=["local", "s3"])
def location(request: pytest.FixtureRequest) -> str:
    """Return a place for a dataset: a folder, and a prefix of a bucket."""
    if request.param == "local":
        return str(request.getfixturevalue("tmp_path") / "dataset")
    return f"{request.getfixturevalue('bucket')}/some/prefix"


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Yield the URL of a Dask cluster of three worker processes on loopback."""
    from distributed import LocalCluster

    # The scheduler serves HTTP even without a dashboard: a free port avoids a conflict with another test's
    # cluster.
    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as made:
        yield f"dask://{made.scheduler_address.removeprefix('tcp://')}"
