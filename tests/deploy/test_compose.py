"""The compose file: its parts fit each other, and what it runs takes its commands."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

import botocore.session
import dask.config
import pytest
import s3fs
import typer
import yaml
from distributed import Client
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker
from packaging.requirements import Requirement

from mtlirt.cli.app import app
from mtlirt.cluster.launch import OWN_SCHEDULER
from mtlirt.jobs.read import read_job

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXT = (DEPLOY / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
EXAMPLE = dict(
    line.split("=", 1)
    for line in (DEPLOY / "example.env").read_text().splitlines()
    if line and not line.startswith("#")
)
README = (DEPLOY / "README.md").read_text()

every_service = pytest.mark.parametrize("name", SERVICES)
our_services = pytest.mark.parametrize("name", OURS)


def interpolated(value):
    """A string with the values of example.env for its variables."""
    return re.sub(r"\$\{(\w+):[-?][^}]*\}", lambda found: EXAMPLE[found[1]], value)


def arguments(name):
    """What a service of our image runs: the program and its arguments."""
    service = OURS[name]
    return [*map(interpolated, [*service.get("entrypoint", ["mtlirt"]), *service["command"]])]


def parse_mtlirt(words):
    """Parse the arguments of mtlirt as the program does, without running it."""
    context, name, command = None, "mtlirt", typer.main.get_command(app)
    while hasattr(command, "resolve_command"):
        context = command.context_class(command, info_name=name, parent=context)
        name, command, words = command.resolve_command(context, words)
    return command.make_context(name, words, parent=context).params


def parse(words):
    """Parse a command line with what it calls."""
    match words:
        case ["mtlirt", *rest]:
            return parse_mtlirt(rest)
        case ["dask", "scheduler", *rest]:
            return dask_scheduler.make_context("scheduler", rest).params
        case ["dask", "worker", *rest]:
            return dask_worker.make_context("worker", rest).params
        case ["python", "-c", code]:
            return {"code": compile(code, "compose.yaml", "exec")}
    raise AssertionError(f"what would run {words}?")


def environment(name):
    return {key: interpolated(value) for key, value in SERVICES[name]["environment"].items()}


# What is in the file


@every_service
def test_dependencies_are_services_that_can_fulfil_them(name):
    for other, how in SERVICES[name].get("depends_on", {}).items():
        needed = SERVICES[other]
        assert "profiles" not in needed, f"{other} would not start"
        match how["condition"]:
            case "service_healthy":
                assert "healthcheck" in needed
            case "service_completed_successfully":
                assert "restart" not in needed
            case other_condition:
                pytest.fail(other_condition)


@every_service
def test_volumes_are_declared_or_beside_the_file(name):
    for volume in SERVICES[name].get("volumes", []):
        source, target, *_ = volume.split(":")
        assert target.startswith("/")
        assert (
            (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
        )


def test_declared_volumes_are_used():
    mounted = [volume.split(":")[0] for s in SERVICES.values() for volume in s.get("volumes", [])]
    assert set(COMPOSE["volumes"]) <= set(mounted)


def test_compiled_code_is_kept_where_the_image_puts_it():
    (folder,) = re.findall(r"NUMBA_CACHE_DIR=(\S+)", (DEPLOY / "Dockerfile").read_text())
    for name in ("worker", "refit", "simulate", "mtlirt"):
        assert f"compiled:{folder}" in SERVICES[name]["volumes"]


@our_services
def test_our_image_is_the_one_of_this_version(name):
    service = OURS[name]
    assert service["image"] == f"mtlirt:{PROJECT['version']}"
    assert (DEPLOY / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()


def test_the_other_image_is_pinned_to_a_server_that_creates_exclusively():
    (name,) = set(SERVICES) - set(OURS)
    image, _, tag = SERVICES[name]["image"].partition(":")
    assert image == "chrislusf/seaweedfs"
    assert tuple(map(int, tag.split("."))) > (4, 16)


@every_service
def test_values_of_the_environment_are_strings(name):
    assert {type(value) for value in SERVICES[name].get("environment", {}).values()} <= {str}


@every_service
def test_secrets_come_from_outside_and_have_no_default(name):
    for key, value in SERVICES[name].get("environment", {}).items():
        if re.search(r"KEY|SECRET|TOKEN|PASSWORD", key):
            assert re.fullmatch(r"\$\{\w+:\?[^}$]+\}", value), key


def test_the_example_holds_every_variable_and_no_more():
    assert set(re.findall(r"\$\{(\w+)", TEXT)) == set(EXAMPLE)
    secrets = [value for key, value in EXAMPLE.items() if re.search("KEY|SECRET", key)]
    assert len(secrets) == 2
    for secret in secrets:
        assert "trial-only" in secret
        assert secret not in TEXT
    assert ".env" in (DEPLOY / ".gitignore").read_text().split()


def test_nothing_is_published():
    assert not [name for name, service in SERVICES.items() if "ports" in service]


@our_services
def test_programs_are_in_the_image(name):
    installed = {Requirement(line).name for line in PROJECT["dependencies"]} | {PROJECT["name"]}
    scripts = entry_points(group="console_scripts")
    programs = {"python"} | {script.name for script in scripts if script.dist.name in installed}
    assert arguments(name)[0] in programs
    check = OURS[name].get("healthcheck")
    assert check is None or (check["test"][0] == "CMD" and check["test"][1] in programs)


# S3


def test_whoever_needs_s3_has_its_address_and_key():
    for name in ("bucket", "worker", "simulate", "refit", "mtlirt"):
        endpoint = urlsplit(environment(name)["AWS_ENDPOINT_URL"])
        assert endpoint.hostname == SERVICES["s3"]["hostname"] == "s3"
        assert f"-s3.port={endpoint.port}" in SERVICES["s3"]["command"]
        for key, value in environment("s3").items():
            assert environment(name)[key] == value
    assert f"-ip={SERVICES['s3']['hostname']}" in SERVICES["s3"]["command"]
    assert urlsplit(SERVICES["s3"]["healthcheck"]["test"][-1]).port == endpoint.port


def test_bucket_names_go_into_paths_not_into_host_names(monkeypatch):
    for key, value in environment("refit").items():
        monkeypatch.setenv(key, value)
    client = botocore.session.get_session().create_client("s3")
    url = client.generate_presigned_url("head_bucket", Params={"Bucket": "mtlirt"})
    assert url.startswith("http://s3:8333/mtlirt?")


def test_the_bucket_is_created_once_and_is_the_one_of_all_urls(s3_access):
    before = set(s3fs.S3FileSystem(skip_instance_cache=True).ls(""))
    _, *rest = arguments("bucket")
    for _ in range(2):
        done = subprocess.run([sys.executable, *rest], capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
    (bucket,) = set(s3fs.S3FileSystem(skip_instance_cache=True).ls("")) - before
    job = (DEPLOY / "jobs" / "refit.toml").read_text()
    urls = re.findall(r"s3://[\w/-]+", TEXT + README + job)
    assert {urlsplit(url).netloc for url in urls} == {bucket}


# Dask


def test_the_scheduler_is_set_up_as_our_own_ones_are():
    set_up = SERVICES["scheduler"]["environment"]
    assert all(name.startswith("DASK_DISTRIBUTED__") for name in set_up)
    assert len(set_up) == len(OWN_SCHEDULER)
    known = dask.config.merge(*dask.config.defaults)
    asked = dask.config.collect_env(set_up)
    for key, value in OWN_SCHEDULER.items():
        assert dask.config.get(key, default="unknown", config=known) != "unknown"
        assert dask.config.get(key, config=asked) == value


def test_the_scheduler_starts_as_asked_and_its_healthcheck_tells_that_it_is_up(tmp_path):
    file = tmp_path / "scheduler.json"
    moved = {"8786": "0", ":8787": "127.0.0.1:0"}
    words = [moved.get(word, word) for word in arguments("scheduler")[1:]]
    place = ["--host", "127.0.0.1", "--scheduler-file", str(file)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words, *place],
            env=os.environ | environment("scheduler"),
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(300):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            found = client.run_on_scheduler(
                lambda: {key: dask.config.get(key) for key in OWN_SCHEDULER}
            )
        assert found == OWN_SCHEDULER
        port = json.loads(file.read_text())["services"]["dashboard"]
        assert healthcheck("scheduler", port) == 0
    finally:
        process.terminate()
        process.wait(30)
    assert healthcheck("scheduler", port) != 0


def healthcheck(name, port):
    """The exit status of a service's health check, asked of another port of this machine."""
    _, program, *words = SERVICES[name]["healthcheck"]["test"]
    assert program == "python"
    words = [word.replace(":8787/", f":{port}/") for word in words]
    return subprocess.run([sys.executable, *words], capture_output=True).returncode


# Commands and the job


@our_services
def test_commands_are_taken(name, capsys):
    words = arguments(name)
    if words == ["mtlirt", "--help"]:
        assert typer.main.get_command(app)(words[1:], standalone_mode=False) == 0
        assert "Commands:" in capsys.readouterr().out
    else:
        assert parse(words)


def test_commands_that_are_wrong_are_not_taken():
    with pytest.raises(typer.TyperException, match="--nope"):
        parse(["mtlirt", "run", "/jobs/refit.toml", "--nope"])


def test_the_job_is_one_and_fits_the_services():
    path = parse(arguments("refit"))["job"]
    assert f"./jobs:{path.parent}:ro" in SERVICES["refit"]["volumes"]
    job = read_job(DEPLOY / "jobs" / path.name)
    scheduler = job.cluster.options.scheduler
    address = urlsplit(scheduler)
    assert address.hostname == "scheduler"
    assert str(address.port) == parse(arguments("scheduler"))["port"]
    assert parse(arguments("worker"))["scheduler"] == scheduler
    assert parse(arguments("simulate"))["out"] == job.responses.url


def test_the_steps_of_the_readme_are_taken():
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL))
    steps = re.findall(r"^\$ (.*)$", blocks.replace("\\\n", ""), re.MULTILINE)
    runs = 0
    for step in steps:
        words = shlex.split(step, comments=True)
        if words[:3] != ["docker", "compose", "run"]:
            continue
        runs += 1
        position = next(k for k, word in enumerate(words) if word in SERVICES)
        name, *own = words[position:]
        assert SERVICES[name]["profiles"] == ["job"]
        if own:
            assert parse([*SERVICES[name].get("entrypoint", ["mtlirt"]), *own])
    assert runs == 6
    assert f"SeaweedFS {SERVICES['s3']['image'].rpartition(':')[2]}" in README
