"""A worker whose network is cut off in the middle of a round, and comes back."""

import shutil
import subprocess
import uuid
from dataclasses import dataclass

import dask
import pytest
from distributed import Client, LocalCluster

from mtlirt.cluster.launch import OWN_SCHEDULER

TTL = {"distributed.scheduler.worker-ttl": "6s"}
"""Long enough for the scheduler to be held up on a busy machine, which looks the same."""

CABLE = "cable"


@dataclass(frozen=True)
class Network:
    """A network namespace, with a cable to this machine.

    Attributes
    ----------
    name
        Of the namespace.
    host
        This machine's address at the cable.
    """

    name: str
    host: str

    @property
    def within(self):
        """What runs a command in it."""
        return ["ip", "netns", "exec", self.name]

    def cable(self, state):
        """Cut it, "down", or mend it, "up"."""
        ip("-netns", self.name, "link", "set", CABLE, state)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def network():
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip (iproute2)")
    name = f"mtlirt{uuid.uuid4().hex[:8]}"
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"a network namespace cannot be made here: {error.stderr.strip()}")
    try:
        subnet = f"198.18.{uuid.uuid4().bytes[0]}"  # a range for tests of networks
        ip("link", "add", name, "type", "veth", "peer", "name", CABLE, "netns", name)
        ip("address", "add", f"{subnet}.1/24", "dev", name)
        ip("link", "set", name, "up")
        ip("-netns", name, "address", "add", f"{subnet}.2/24", "dev", CABLE)
        ip("-netns", name, "link", "set", CABLE, "up")
        yield Network(name, f"{subnet}.1")
    finally:
        ip("netns", "delete", name)


@pytest.mark.parametrize(
    ("silence", "options"),
    [(TTL, ["--no-nanny"]), pytest.param({}, [], marks=pytest.mark.slow)],
    ids=["a worker", "a worker and its nanny, as long as it takes"],
)
def test_a_worker_that_is_cut_off_is_given_up(
    disturbed_fit, undisturbed, network, worker_of, tmp_path, silence, options
):
    with (
        dask.config.set(OWN_SCHEDULER | silence),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host=network.host,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        worker_of(cluster.scheduler_address, tmp_path, *options, within=network.within) as far,
    ):
        client.wait_for_workers(2, timeout=60)

        def mend():
            assert len(client.nthreads()) == 1
            return lambda: network.cable("up")

        after = {3: lambda: lambda: network.cable("down"), 6: mend}
        disturbed_fit(cluster.scheduler_address, after=after).assert_equals(undisturbed)
        if "--no-nanny" in options:  # a nanny may put another in its place
            assert far.wait(60) is not None
