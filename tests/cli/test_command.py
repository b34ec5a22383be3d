from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow
from hedgerow import cli

HEAVY = ("torch", "matplotlib", "pandas", "sklearn", "pyarrow", "jinja2")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hedgerow", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["hedgerow", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    code = stopped.value.code
    return code if isinstance(code, int) else 0


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text("animal,bird\nanimal,fish\nbird,robin\nbird,wren\n")
    return "tree.csv"


@pytest.mark.parametrize(
    "program",
    [
        "import hedgerow",
        "import sys; sys.argv[1:] = ['--help']\nfrom hedgerow.cli import main\ntry: main()\nexcept SystemExit: 0",
    ],
)
def test_nothing_heavy_is_loaded(program: str) -> None:
    check = f"import sys; print('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{check}"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.rstrip().endswith("loaded: []")


def test_doctor_in_a_process_of_its_own(tree: str) -> None:
    done = run("doctor", tree)
    assert done.returncode == 0
    assert "tree.csv is a sound tree" in done.stdout
    assert done.stderr == ""


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"hedgerow {hedgerow.__version__}\n"
    assert call(monkeypatch, "--help") == 0
    assert "hedgerow train glyphs-quick" in capsys.readouterr().out
    assert call(monkeypatch, "doctor", "--help") == 0
    assert "--tree-format" in capsys.readouterr().out


def test_problems_are_status_1(
    tree: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(tree).write_text("a,b\nb,a\n")
    assert call(monkeypatch, "doctor", tree, "--json", "found.json") == 1
    assert "a -> b -> a" in capsys.readouterr().out
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert found["ok"] is False
    assert found["problems"][0]["kind"] == "cycle"


def test_all_options_of_the_doctor(tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("labels.txt").write_text("robin\nwren\n")
    Path("scores.csv").write_text("robin,wren,fish\n1,0,0\n")
    Path("titles.json").write_text('{"robin": "Rotkehlchen"}')
    Path("tree.dat").write_text(Path(tree).read_text())
    options = [
        "--labels",
        "labels.txt",
        "--scores",
        "scores.csv",
        "--titles",
        "titles.json",
        "--tree-format",
        "edges",
    ]
    assert call(monkeypatch, "doctor", "tree.dat", *options, "--json", "found.json") == 0
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert found["scores"]["kind"] == "leaves"
    assert found["labels"]["examples"] == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["doctor", "absent.csv"], "absent.csv does not exist"),
        (["doctor", "tree.csv", "--tree-format", "xml"], "no tree format 'xml'"),
        (["doctor", "tree.csv", "--labels", "absent.txt"], "absent.txt does not exist"),
        (["doctor", "tree.csv", "--json", "nowhere/found.json"], "does not exist. Create it first"),
        (["doctor", "[/red].csv"], "[/red].csv does not exist"),
        (["doctor", "."], ". is a folder, not a file"),
        (["doctor", ""], ". is a folder, not a file"),
        (["evaluate", "tree.csv", "--tree", "."], ". is a folder, not a file"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    tree: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    part: str,
) -> None:
    assert call(monkeypatch, *arguments) == 2
    message = capsys.readouterr().err
    assert part in message
    assert "Traceback" not in message


@pytest.mark.parametrize("arguments", [["doctor"], ["dcotor", "tree.csv"], ["doctor", "tree.csv", "--colour"]])
def test_bad_usage_is_status_2(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    assert call(monkeypatch, *arguments) == 2


def test_interruption_is_status_130(tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.doctor.examine", interrupt)
    assert call(monkeypatch, "doctor", tree) == 130


@pytest.mark.parametrize("arguments", ["--help", "evaluate --help", "train glyphs-quick --show"])
def test_nobody_reads_the_help(arguments: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m hedgerow {arguments} 2>&1 | true"
    subprocess.run(["bash", "-c", command], check=True, timeout=60)  # noqa: S607


def test_a_closed_pipe_is_quiet(tree: str) -> None:
    lines = "".join(f"root,a name that is long enough to fill a pipe {i}\n" for i in range(10))
    Path(tree).write_text(lines)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m hedgerow doctor {tree} | true"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(("given", "expected"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_that_wait_sleep_unless_the_user_says_otherwise(given: dict[str, str], expected: str) -> None:
    code = (
        "import os, sys; from hedgerow import cli; sys.argv = ['hedgerow', '--version']\n"
        "try: cli.main()\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules; print(os.environ['OMP_WAIT_POLICY'])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"} | given
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["doctor", "tree.csv"], ["--version"], ["doctor", "tree.csv", "--json", "/dev/full"]]
)
def test_a_full_disk_is_one_message(arguments: list[str], tree: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hedgerow", *arguments],
            stdout=None if "--json" in arguments else full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "cannot be written: No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_name_of_a_file_does_not_command_the_terminal(tree: str) -> None:
    done = run("doctor", "a\x1b[2J\x9b.csv")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\x9b" not in done.stderr
    assert r"a\x1b[2J\x9b.csv does not exist" in done.stderr
