"""Objects in an S3 bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Self, TypeVar

from s3fs import S3FileSystem
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
    wait_random,
)

from mtlirt.errors import InputError
from mtlirt.storage.s3_errors import S3_ERRORS, explained, is_expired, is_passing

T = TypeVar("T")

TIMEOUTS = {"connect_timeout": 5, "read_timeout": 30}
"""Seconds that botocore waits for a connection, and for the next bytes of an answer."""

PATIENCE: dict[str, Any] = {
    "stop": stop_after_attempt(5) | stop_after_delay(60),
    "wait": wait_exponential(multiplier=0.1) + wait_random(0, 0.1),
}
"""How often and how long to try again, in seconds."""

KEYS_PER_REMOVAL = 1000
"""The most that S3 takes in one request."""


@dataclass(frozen=True)
class S3Backend:
    """The keys under `prefix` of a bucket, where names are relative to it.

    It holds no credentials. botocore finds them in each process by itself: environment, profile
    (``AWS_PROFILE``), role of the machine; so it does the server, if it is not that of AWS
    (``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL`` or ``endpoint_url`` of the profile).

    botocore also tries again by itself what a busy server refuses and what a bad connection drops
    (``AWS_MAX_ATTEMPTS``, ``AWS_RETRY_MODE``). Here is only what it leaves: answers that break
    off, exclusive writes that collide, and credentials that expire, for which it takes those that
    a new session finds.
    """

    bucket: str
    prefix: str

    @classmethod
    def at(cls, url: str) -> Self:
        """The backend of an ``s3://BUCKET/PREFIX`` URL."""
        bucket, _, prefix = url.removeprefix("s3://").rstrip("/").partition("/")
        if not bucket:
            raise InputError(f"{url}: names no bucket, expected s3://BUCKET/FOLDER")
        if "@" in bucket or ":" in bucket:
            raise InputError(
                "a URL before whose bucket stands something, like credentials: expected "
                "s3://BUCKET/FOLDER, and credentials in the environment (AWS_ACCESS_KEY_ID)"
            )
        return cls(bucket, prefix)

    @property
    def url(self) -> str:
        """The URL of the prefix."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def write_new(self, path: str, data: bytes) -> None:
        """Create an object; FileExistsError where there is one of other bytes.

        Where there is one of exactly these bytes, it is taken for this write: one whose answer was
        lost is sent again, and then finds itself. So let the bytes tell who writes them, as
        manifests do by their run id.
        """
        try:
            self._do(lambda files: files.pipe_file(self._location(path), data, mode="create"))
        except FileExistsError:
            if self.read(path) != data:
                raise

    def put(self, path: str, data: bytes) -> None:
        """Create an object or replace it."""
        self._do(lambda files: files.pipe_file(self._location(path), data))

    def read(self, path: str) -> bytes:
        """The bytes of an object; FileNotFoundError where there is none."""
        return bytes(self._do(lambda files: files.cat_file(self._location(path))))

    def names(self, folder: str) -> list[str]:
        """Sorted names in a folder as they are now, empty where there is none."""
        start = self._folder_key(folder)
        keys: set[str] = set()
        for page in self._pages(Prefix=start, Delimiter="/"):
            keys |= {entry["Key"] for entry in page.get("Contents", [])}
            keys |= {entry["Prefix"] for entry in page.get("CommonPrefixes", [])}
        return sorted(key.removeprefix(start).rstrip("/") for key in keys - {start})

    def remove_folder(self, folder: str) -> None:
        """Remove all objects of a folder, and what stands for empty folders on some servers."""
        start = self._folder_key(folder)
        pages = self._pages(Prefix=start)
        names = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        insides = {each for name in names for each in PurePosixPath(name).parents}
        folders = [f"{each}/" for each in insides if f"{each}/".startswith(start)]
        keys = [{"Key": name} for name in [*names, *sorted(folders, key=len, reverse=True)]]
        for first in range(0, len(keys), KEYS_PER_REMOVAL):
            batch = keys[first : first + KEYS_PER_REMOVAL]
            answer = self._call("delete_objects", Delete={"Objects": batch, "Quiet": True})
            if errors := answer.get("Errors"):
                raise OSError(f"{errors[0]['Key']} stays ({errors[0]['Code']})")

    def _pages(self, **arguments: Any) -> list[dict[str, Any]]:
        """The answers to a listing, each of up to 1000 keys."""
        pages = [self._call("list_objects_v2", **arguments)]
        while pages[-1].get("IsTruncated"):
            arguments["ContinuationToken"] = pages[-1]["NextContinuationToken"]
            pages.append(self._call("list_objects_v2", **arguments))
        return pages

    def _key(self, path: str) -> str:
        return "/".join(part for part in (self.prefix, path) if part)

    def _folder_key(self, folder: str) -> str:
        """What the keys in a folder begin with."""
        key = self._key(folder)
        return f"{key}/" if key else ""

    def _location(self, path: str) -> str:
        return f"{self.bucket}/{self._key(path)}"

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        return self._do(lambda files: files.call_s3(method, Bucket=self.bucket, **arguments))

    def _do(self, request: Callable[[S3FileSystem], T]) -> T:
        """Do it, again if that may help; errors are OSErrors that say what to do."""
        files = _connection()

        def renew(state: RetryCallState) -> None:
            error = state.outcome and state.outcome.exception()
            if error and is_expired(error):
                files.connect(refresh=True)

        retrying = Retrying(
            retry=retry_if_exception(is_passing), before_sleep=renew, reraise=True, **PATIENCE
        )
        try:
            return retrying(request, files)
        except S3_ERRORS as error:
            told = explained(error)
        raise told


def _connection() -> S3FileSystem:
    """The file system of this process: no caches, and one request an object."""
    files = S3FileSystem(use_listings_cache=False, max_concurrency=1, config_kwargs=TIMEOUTS)
    files.retries = 1  # s3fs's own would multiply botocore's: 25 attempts, each with its timeout
    return files
