"""What went wrong at an S3 server, and what to do about it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from aiohttp import ClientPayloadError
from botocore import exceptions

S3_ERRORS = (OSError, exceptions.BotoCoreError, ClientPayloadError, ValueError, RuntimeError)
"""What s3fs raises; the last two are for an endpoint, or renewed credentials, of no use."""

ANSWER_DAMAGED = (
    ClientPayloadError,
    exceptions.FlexibleChecksumError,
    exceptions.ResponseStreamingError,
    TimeoutError,
)
EXPIRED = {
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidToken",
    "RequestExpired",
    "TokenRefreshRequired",
}

WRONG_KEY = "wrong credentials: correct the access key and its secret"
ADVICE = {
    "InvalidAccessKeyId": WRONG_KEY,
    "SignatureDoesNotMatch": WRONG_KEY,
    "NoSuchBucket": "there is no such bucket: create it, or correct the URL",
    "RequestTimeTooSkewed": "the clock of this machine is wrong: set it",
}
ADVICE_BY_KIND = (
    (
        exceptions.NoCredentialsError,
        "no credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    ),
    (PermissionError, "access denied: use credentials that may list, read, write and delete there"),
    (FileNotFoundError, "nothing of S3 is there: correct the URL or AWS_ENDPOINT_URL"),
    (
        (exceptions.ConnectionError, exceptions.HTTPClientError, *ANSWER_DAMAGED),
        "no whole answer from the S3 server: check the network and AWS_ENDPOINT_URL, run again",
    ),
)


def is_expired(error: BaseException) -> bool:
    """Whether newer credentials may help."""
    return _code(error) in EXPIRED or "credentials are still expired" in str(error)


def is_passing(error: BaseException) -> bool:
    """Whether it may go well next time, and botocore does not try that itself."""
    damaged = isinstance(error, ANSWER_DAMAGED) and not _answer(error)
    return damaged or is_expired(error) or _status(error) == HTTPStatus.CONFLICT


def explained(error: Exception) -> OSError:
    """The error to raise instead: what to do in one line, and nothing that is secret.

    Don't chain it to the original: that holds the server's answer, in which S3 repeats an expired
    session token, and Dask sends an exception with its causes to other machines.
    """
    code = _code(error)
    if _status(error) == HTTPStatus.PRECONDITION_FAILED:
        return FileExistsError(code)
    if code == "NoSuchKey":
        return FileNotFoundError(code)
    if is_expired(error):
        return OSError(f"credentials expired: renew them and run again ({code or error})")
    told = _answer(error).get("Error", {}).get("Message", "")
    detail = f"{code}: {told}" if code else str(_origin(error))
    return OSError(f"{_advice(error)} ({' '.join(detail.split())[:300]})")


def _advice(error: Exception) -> str:
    if _status(error) >= HTTPStatus.INTERNAL_SERVER_ERROR or _status(error) == HTTPStatus.CONFLICT:
        return "the S3 server fails: run again later, or correct AWS_ENDPOINT_URL"
    if code := _code(error):
        otherwise = "the S3 server refuses"
    else:
        otherwise = "cannot ask an S3 server: correct the URL or the AWS settings"
    by_kind = (advice for kinds, advice in ADVICE_BY_KIND if isinstance(error, kinds))
    return ADVICE.get(code) or next(by_kind, otherwise)


def _code(error: BaseException) -> str:
    return str(_answer(error).get("Error", {}).get("Code", ""))


def _status(error: BaseException) -> int:
    return int(_answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _answer(error: BaseException) -> dict[str, Any]:
    """What the server answered, empty where it did not."""
    return getattr(_origin(error), "response", None) or {}


def _origin(error: BaseException) -> BaseException:
    """The error of botocore or aiohttp that s3fs and fsspec have dressed up."""
    while error.__cause__:
        error = error.__cause__
    return error
