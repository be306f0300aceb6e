"""Native logs and tables -> Responses: readers of formats, and the rules they share."""

from mtlirt.ingest.files import ingest
from mtlirt.ingest.frames import from_tidy, from_wide
from mtlirt.ingest.report import IngestReport

__all__ = ["IngestReport", "from_tidy", "from_wide", "ingest"]
