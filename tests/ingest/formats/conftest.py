"""What comes of logs."""

import io
import struct
import zipfile
import zlib

import pyarrow as pa
import pytest

from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices


@pytest.fixture
def read(cells_of):
    """Read sources: (model, domain, document) -> value, and the report.

    Options named as `Choices` has them are choices.
    """

    def read(*sources, **options):
        names = set(Choices.__dataclass_fields__) & set(options)
        choices = Choices(**{name: options.pop(name) for name in names})
        options = {"poor_domains": "keep", **options}
        responses, report = ingest(list(sources), choices=choices, **options)
        documents = responses.items["document"]
        cells = {
            (model, domain, documents[domain, item]): value
            for (model, domain, item), value in cells_of(responses).items()
        }
        return cells, report

    return read


@pytest.fixture(scope="session")
def zstandard_zip():
    """Write an archive of members compressed with Zstandard, as Python does from 3.14 on."""

    def zstandard_zip(members):
        plain = io.BytesIO()
        with zipfile.ZipFile(plain, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members.items():
                archive.writestr(name, pa.compress(content, codec="zstd", asbytes=True))
            infos = archive.infolist()
        packed = bytearray(plain.getvalue())
        entry = archive.start_dir
        for info, content in zip(infos, members.values(), strict=True):
            crc = struct.pack("<L", zlib.crc32(content))
            for start, at in ((info.header_offset, 8), (entry, 10)):
                packed[start + at : start + at + 2] = struct.pack("<H", 93)
                packed[start + at + 6 : start + at + 10] = crc
                packed[start + at + 14 : start + at + 18] = struct.pack("<L", len(content))
            entry += 46 + len(info.filename.encode()) + len(info.extra) + len(info.comment)
        return bytes(packed)

    return zstandard_zip
