"""The shop on a standalone cluster: on an object store, and in a folder that all machines see while a worker is lost.

One Spark application runs all of it, since starting one takes longest; the tests look at what it told.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests import postgresql
from tests.cluster import s3, shop
from tests.cluster.program import Job, Place, run
from tests.cluster.standalone import Cluster, cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def machines() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture(scope="module")
def jars() -> str | None:
    """What Spark needs for S3; None where it cannot be brought here."""
    ran = subprocess.run(["scripts/s3-jars"], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else None


@pytest.fixture(scope="module")
def told(
    machines: Cluster, jars: str | None, postgres: str, endpoint: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, shop.Told]:
    """What the shop told, by where it was."""
    places, settings = {}, machines.settings
    if jars is not None:
        catalog = postgresql.schema(postgres, "standalone")
        places["s3"] = Place(f"s3a://{s3.BUCKET}/standalone", catalog, s3.options(endpoint))
        settings |= {"spark.jars": jars, **s3.settings(endpoint)}
    folder = tmp_path_factory.mktemp("cluster") / "shop"
    places["folder"] = Place(str(folder), worker=machines.workers[1])
    job = Job(settings, list(places.values()), environment={"AWS_EC2_METADATA_DISABLED": "true"})
    return dict(zip(places, run(job), strict=True))


def test_the_same_changes_on_an_object_store(told: dict[str, shop.Told], expected: shop.Told) -> None:
    if "s3" not in told:
        pytest.skip("the jars for S3 could not be brought here")
    assert told["s3"] == expected


def test_the_same_changes_in_a_folder_though_a_worker_is_lost_in_a_wave(
    told: dict[str, shop.Told], expected: shop.Told
) -> None:
    assert told["folder"] == expected
