"""Writers for tests, also as processes of their own, of which some don't live to the end."""

import os
import signal
from pathlib import Path

from mtlirt.storage.root import open_root

DIED = 7
"""Exit status of a writer that died as it was told; an error gives 1."""


def commit(root, content=b"content", **options):
    with root.draft("responses") as draft:
        draft.write("table", content, rows=1)
        return draft.commit(**options)


def set_environment(variables):
    os.environ.update(variables)


def commit_at(url, content):
    """The version that it became."""
    return commit(open_root(url), content).version


def overwrite(url, version, content):
    """Change the table of a version where it lies, as nothing of ours does."""
    root = open_root(url)
    root.put(root.manifest(version).by_name["table"].path, content)


def write_and_die(url, writer, times, death=None):
    """Commit so many versions of two files, and die where `death` says in one more."""
    root = open_root(url)
    for number in range(times + 1):
        doomed = number == times
        if doomed and death is None:
            return
        with root.draft("responses") as draft:
            draft.write("first", f"{writer} {number} first".encode())
            if doomed and death == "between two files":
                os._exit(DIED)
            draft.write("second", f"{writer} {number} second".encode())
            if doomed and death == "before the manifest":
                os.kill(os.getpid(), signal.SIGKILL)
            draft.commit()


def die_while_committing_locally(url):
    """Die with the manifest written, but under a temporary name."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    root = open_root(url)
    with root.draft("responses") as draft:
        draft.write("table", b"of the dead")
        Path.hardlink_to = die
        draft.commit()
