"""Random damage to folders of logs, each with what must still hold if it is read all the same."""

import gzip
import io
import json
import math
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LINES = (".csv", ".jsonl", ".ndjson", ".jsonlines", "_score.json", "_result.json")
"""Ends of names of files of a record a line."""


@dataclass(frozen=True)
class Claim:
    """What must hold of the cells that are still read.

    Attributes
    ----------
    equal
        Cells that are as in the whole logs have the value that they have there.
    none_new
        There are none but those of the whole logs; of repeated attempts fewer may be left.
    none_lost
        There are all of them.
    in_content
        Part of a file is gone, which logs that count their samples must notice.
    places
        In how many places something else stands now: of each at most two cells may have another
        value, that of what stood there and that of what does. None where it may be any number.
    """

    equal: bool = False
    none_new: bool = False
    none_lost: bool = False
    in_content: bool = False
    places: int | None = None


NOTHING = Claim()
LOSS = Claim(equal=True, none_new=True)
CUT = Claim(equal=True, none_new=True, in_content=True)
KNOWN = Claim(equal=True)
SAME = Claim(equal=True, none_new=True, none_lost=True)
MORE = Claim(equal=True, none_lost=True)
ONE = Claim(places=1)

# --- bytes ----------------------------------------------------------------------------------


def cut(content, chance):
    return content[: chance.randrange(len(content) + 1)], CUT


def flip(content, chance):
    changed = bytearray(content)
    places = chance.choice([1, 1, 2, 8])
    for _ in range(places):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed), Claim(places=places)


def put_in(content, chance):
    place = chance.randrange(len(content) + 1)
    noise = chance.choice([b"\x00", b"\xff\xfe", b'"', b"\n", b",", b"}", b"\xef\xbb\xbf", b"\r"])
    return content[:place] + noise + content[place:], ONE


def drop_a_line(content, chance):
    lines = content.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines), CUT


def repeat_a_line(content, chance):
    """Somewhere behind the first."""
    lines = content.split(b"\n")
    lines.insert(chance.randrange(1, len(lines) + 1), chance.choice(lines))
    return b"\n".join(lines), SAME


def reorder_lines(content, chance):
    """All but the first."""
    first, *lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join([first, *lines]), SAME


def mistype(content, chance):
    """Another value or no value at a random place of a JSON document or of a line of them."""
    try:
        documents = [json.loads(content)]
    except ValueError:
        try:
            documents = [json.loads(line) for line in content.splitlines()]
        except ValueError:
            return flip(content, chance)
    if not documents:
        return flip(content, chance)
    documents[k] = mistyped(documents[k := chance.randrange(len(documents))], chance)
    return "\n".join(map(json.dumps, documents)).encode(), ONE


STRANGE = [
    None,
    True,
    -1,
    2,
    1e400,
    math.nan,
    "",
    "x",
    [],
    {},
    [1],
    {"a": 1},
    10**30,
    "\ud800",
    0.5,
]


def mistyped(value, chance):
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        action = chance.random()
        if action < 0.15:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: mistyped(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], mistyped(value[place], chance), *value[place + 1 :]]
    return chance.choice(STRANGE)


LINE_DAMAGE = (drop_a_line, repeat_a_line, reorder_lines)
DAMAGE = [cut, flip, put_in, *LINE_DAMAGE, mistype, mistype, mistype]


def damage_bytes(content, name, chance):
    """Damage some bytes; lines are records in files of some names only."""
    if not content:
        return b"\x00", NOTHING
    how = chance.choice(DAMAGE)
    changed, claim = how(content, chance)
    if how in LINE_DAMAGE and (not name.endswith(LINES) or content.startswith(b"[")):
        claim = NOTHING if how is reorder_lines else ONE
    return changed, claim


# --- what is packed -------------------------------------------------------------------------


def damage_zip(content, chance):
    """Damage a member of an archive, or what members there are, and pack it again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(list(members))
    action = chance.randrange(5)
    if action == 0:
        del members[name]
        claim = CUT
    elif action == 1:
        members[f"{name.removesuffix('.json')}_again.json"] = members[name]
        claim = NOTHING
    elif action == 2:
        order = list(members)
        chance.shuffle(order)
        members = {name: members[name] for name in order}
        claim = SAME
    else:
        members[name], claim = damage_bytes(members[name], name, chance)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue(), claim


def damage_gzip(content, name, chance):
    changed, claim = damage_bytes(gzip.decompress(content), name.removesuffix(".gz"), chance)
    return gzip.compress(changed), claim


def damage_table(content, chance):
    """Drop, rename, retype or empty a column of a Parquet file, or change its rows."""
    table = pq.read_table(io.BytesIO(content))
    k = chance.randrange(table.num_columns)
    name, column = table.column_names[k], table.column(k)
    rows = list(range(len(table)))
    action = chance.choice(["drop", "rename", "type", "null", "values", "cut", "repeat", "fields"])
    claim = KNOWN
    if action == "drop":
        table = table.remove_column(k)
    elif action == "rename":
        names = [*table.column_names[:k], chance.choice(["x", *table.column_names])]
        table = table.rename_columns([*names, *table.column_names[k + 1 :]])
        claim = NOTHING
    elif action == "type":
        words = [None if each is None else str(each) for each in column.to_pylist()]
        table = table.set_column(k, name, pa.array(words))
    elif action == "null":
        table = table.set_column(k, name, pa.nulls(len(table), column.type))
    elif action == "values":
        values = column.to_pylist()
        values[chance.choice(rows)] = None
        table = table.set_column(k, name, pa.array(values, column.type))
    elif action == "cut":
        table = table.slice(0, chance.choice(rows))
        claim = LOSS
    elif action == "repeat":
        table = table.take([*rows, chance.choice(rows)])
    elif pa.types.is_struct(column.type) and column.type.num_fields > 1:
        field = column.type.field(chance.randrange(column.type.num_fields)).name
        kept = [
            {key: value for key, value in each.items() if key != field}
            for each in column.to_pylist()
        ]
        table = table.set_column(k, name, pa.array(kept))
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue(), claim


def damage_file(path, chance):
    """Damage the bytes of a file or, half of the time, what is packed in it."""
    content = path.read_bytes()
    inside = chance.random() < 0.5
    if inside and path.suffix == ".gz":
        changed, claim = damage_gzip(content, path.name, chance)
    elif inside and path.suffix == ".eval":
        changed, claim = damage_zip(content, chance)
    elif inside and path.suffix == ".parquet":
        changed, claim = damage_table(content, chance)
    elif path.suffix in (".gz", ".eval", ".parquet"):
        changed, claim = chance.choice([cut, flip, put_in])(content, chance)
        if path.suffix == ".parquet":  # one entry of a dictionary stands for many values
            claim = NOTHING
    else:
        changed, claim = damage_bytes(content, path.name, chance)
    path.write_bytes(changed)
    return claim


# --- the folder -----------------------------------------------------------------------------


def delete(path, others, chance):
    path.unlink()
    return LOSS


def empty(path, others, chance):
    path.write_bytes(b"")
    return LOSS


def swap(path, others, chance):
    other = chance.choice(others)
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)
    return NOTHING


def another_name(path, others, chance):
    """A name of the same or another suffix, here or where another file is."""
    folder = chance.choice([path, *others]).parent
    stem, dot, suffix = path.name.partition(".")
    names = [
        path.name,
        f"x{path.name}",
        f"{stem}x{dot}{suffix}",
        f"{path.name}.bak",
        f"{stem}.json",
        path.name.upper(),
        f"{path.name}.gz",
        chance.choice(others).name,
    ]
    return folder / chance.choice(names)


def rename(path, others, chance):
    target = another_name(path, others, chance)
    if target.exists():
        return swap(path, others, chance)
    path.rename(target)
    return KNOWN if target.parent == path.parent else NOTHING


def copy(path, others, chance):
    target = another_name(path, others, chance)
    if target.exists():
        return swap(path, others, chance)
    shutil.copy(path, target)
    return MORE if target.parent == path.parent else NOTHING


STRUCTURE = [delete, empty, swap, rename, copy]


def damage(folder: Path, chance) -> tuple[Claim, str | None]:
    """Damage a file of a folder, or what files there are.

    Returns
    -------
    claim, name
        What must hold still, and the only file that is not as it was; None where others are.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    if chance.random() < 0.25:
        how = chance.choice(STRUCTURE)
        others = [each for each in files if each != path] or [path]
        claim = how(path, others, chance)
        return claim, str(path.relative_to(folder)) if how in (delete, empty) else None
    return damage_file(path, chance), str(path.relative_to(folder))
