"""The hook goes into a harness's settings and out again; nothing else changes. (SPEC HK-INST)"""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gitrepo import isolate, snapshot
from hook_world import Answer, World, new_world
from running import Run

from verdict_core.errors import Unwritable
from verdict_core.hosts import settings_file
from verdict_core.hosts.hook_settings import added, dumped, parsed, taken_out

# How each harness is told where the user's settings are, and what the file is called.
PLACES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json"),
}
HARNESSES = tuple(PLACES)
THEIRS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ],
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [{"type": "command", "command": "echo it's", "unknown": 1e3}]
            }
        ],
        "PreCompact": []
    },
    "unknown \\u00e9": [null, {"z": 1, "a": 2}]
}
"""


def project_file(tmp_path: Path, harness: str) -> Path:
    _, folder, name = PLACES[harness]
    return tmp_path / folder / name


def handlers(path: Path, event: str) -> list[dict[str, Any]]:
    groups = json.loads(path.read_bytes())["hooks"][event]
    return [handler for group in groups for handler in group["hooks"]]


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_hook_goes_into_the_project_and_out_again(
    tmp_path: Path, command: Run, harness: str
) -> None:
    """HK-INST-1, HK-INST-7: a file that only install made is gone then."""
    path = project_file(tmp_path, harness)
    assert command("hook", "install", harness, "--project").returncode == 0
    (before,) = handlers(path, "PreCompact")
    assert before["type"] == "command"
    assert handlers(path, "SessionStart") == [before]
    groups = json.loads(path.read_bytes())["hooks"]["SessionStart"]
    assert [group["matcher"] for group in groups] == ["compact"]
    assert command("hook", "uninstall", harness).returncode == 0
    assert not path.exists()


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("is_named", [True, False])
def test_the_users_settings_are_where_the_harness_looks(
    tmp_path: Path, command: Run, harness: str, is_named: bool
) -> None:
    """HK-INST-1."""
    variable, folder, name = PLACES[harness]
    named = tmp_path / "elsewhere"
    env = {variable: str(named) if is_named else ""}
    done = command("hook", "install", harness, "--user", env=env)
    path = (named if is_named else tmp_path / "home" / folder) / name
    assert handlers(path, "PreCompact")
    assert done.stdout.decode().startswith(f"{path}: installed\n")
    assert not project_file(tmp_path, harness).exists()


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_installed_command_runs_from_any_directory(
    tmp_path: Path, command: Run, harness: str
) -> None:
    """HK-INST-2: through a shell, with a state directory that has a space in its name, and without
    taking a file of the project for a module."""
    given = ("--deadline", "4", "--wait-min", "3", "--state-dir", "my state")
    assert command("hook", "install", harness, *given).returncode == 0
    (handler,) = handlers(project_file(tmp_path, harness), "PreCompact")
    words = shlex.split(handler["command"])
    assert words[:6] == [sys.executable, "-P", "-m", "verdict_core", "hook", harness]
    assert words[6:] == ["--deadline", "4", "--state-dir", str(tmp_path / "my state")]
    assert handler["timeout"] > 4
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("verdict_core", "json", "attrs"):
        (trap / f"{name}.py").write_text("raise SystemExit('a module of the project')\n")
    done = subprocess.run(
        ["/bin/sh", "-c", handler["command"]], input=b"{}", capture_output=True, cwd=trap,
        check=False,
    )  # fmt: skip
    assert b"payload could not be read" in done.stdout
    assert (tmp_path / "my state" / "hooks" / "journal.jsonl").exists()


@pytest.mark.parametrize("harness", HARNESSES)
def test_what_else_is_there_stays_in_its_order(tmp_path: Path, command: Run, harness: str) -> None:
    """HK-INST-3, HK-INST-7: keys that nobody knows, other hooks, and an empty list of theirs."""
    path = project_file(tmp_path, harness)
    path.parent.mkdir()
    path.write_text(THEIRS)
    assert command("hook", "install", harness).returncode == 0
    theirs, now = json.loads(THEIRS), json.loads(path.read_bytes())
    assert list(now) == list(theirs)
    assert list(now["hooks"]) == list(theirs["hooks"])
    assert now["hooks"]["SessionStart"][:1] == theirs["hooks"]["SessionStart"]
    assert now["hooks"]["Stop"] == theirs["hooks"]["Stop"]
    assert now["unknown \u00e9"] == theirs["unknown \u00e9"]
    assert b'\n    "model"' in path.read_bytes()
    assert command("hook", "uninstall", harness).returncode == 0
    left = json.loads(path.read_bytes())
    theirs["hooks"].pop("PreCompact")
    assert json.dumps(left) == json.dumps(theirs)


def test_a_file_that_is_indented_with_tabs_stays_so(tmp_path: Path, command: Run) -> None:
    """HK-INST-3: byte for byte, where it is written as most programs write JSON."""
    path = project_file(tmp_path, "codex")
    path.parent.mkdir()
    before = json.dumps(json.loads(THEIRS) | {"hooks": {"Stop": []}}, indent="\t") + "\n"
    path.write_text(before.replace("\\u00e9", "\u00e9"), encoding="utf-8")
    whole = path.read_bytes()
    assert command("hook", "install", "codex").returncode == 0
    assert path.read_bytes() != whole
    assert command("hook", "uninstall", "codex").returncode == 0
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"hooks": {', "invalid_json"),
        (b'{"a": 1, // why\n "b": 2}', "invalid_json"),
        (b'{"a": 1, "a": 2}', "duplicate_key"),
        (b"[]", "wrong_type"),
        (b'{"hooks": []}', "wrong_type"),
        (b'{"hooks": {"Stop": {}}}', "wrong_type"),
        (b'{"hooks": {"PreCompact": ["x"]}}', "wrong_type"),
        (b'{"hooks": {"PreCompact": [{"hooks": "x"}]}}', "wrong_type"),
        (b"\xef\xbb\xbf{}", "byte_order_mark"),
        (b'{"a": "\xff"}', "invalid_utf8"),
    ],
)
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_file_that_is_not_understood_stays_as_it_is(
    tmp_path: Path, command: Run, content: bytes, code: str, action: str
) -> None:
    """HK-INST-4."""
    path = project_file(tmp_path, "codex")
    path.parent.mkdir()
    path.write_bytes(content)
    before = path.stat()
    done = command("hook", action, "codex")
    assert done.returncode == 3
    assert code in done.stderr.decode()
    assert str(path) in done.stderr.decode()
    assert b"nothing was changed" in done.stderr
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("harness", HARNESSES)
def test_installing_again_changes_nothing(tmp_path: Path, command: Run, harness: str) -> None:
    """HK-INST-5: and an older one of ours is replaced, wherever it stands."""
    path = project_file(tmp_path, harness)
    command("hook", "install", harness)
    whole, before = path.read_bytes(), path.stat().st_mtime_ns
    again = command("hook", "install", harness)
    assert b"nothing to change" in again.stdout
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (whole, before)
    old = whole.replace(sys.executable.encode(), b"/old/venv/bin/python")
    assert old != whole
    path.write_bytes(old)
    command("hook", "install", harness)
    assert path.read_bytes() == whole


def test_two_harnesses_hooks_in_one_file_are_told_apart() -> None:
    """HK-INST-5, HK-INST-7."""
    ours = "/p -P -m verdict_core hook codex"
    one = added({}, "codex", ours, 60)
    both = added(one, "claude-code", "/p -P -m verdict_core hook claude-code", 60)
    assert taken_out(both, "claude-code") == one
    assert taken_out(one, "claude-code") == one
    assert taken_out(one, "codex") == {}
    shared = {"hooks": {"PreCompact": [{"hooks": [
        {"type": "command", "command": "theirs"}, {"type": "command", "command": ours},
        {"type": "command", "command": "it's broken"}, {"type": "prompt"}, "odd",
    ]}]}}  # fmt: skip
    left = taken_out(shared, "codex")["hooks"]["PreCompact"][0]["hooks"]
    assert left == [
        {"type": "command", "command": "theirs"},
        {"type": "command", "command": "it's broken"},
        {"type": "prompt"},
        "odd",
    ]


def test_a_file_is_dumped_as_it_was_indented() -> None:
    """HK-INST-3: no file, and one on a single line, get two spaces."""
    for like in (None, b"", b'{"a": 1}'):
        assert parsed(like) == ({"a": 1} if like else {})
        assert dumped({"a": 1}, like=like) == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_dry_run_prints_the_file_and_writes_nothing(
    tmp_path: Path, command: Run, harness: str
) -> None:
    """HK-INST-8."""
    done = command("hook", "install", harness, "--dry-run")
    path = project_file(tmp_path, harness)
    head, _, rest = done.stdout.decode().partition("\n")
    assert head == f"{path} would be:"
    assert not path.parent.exists()
    command("hook", "install", harness)
    assert rest.encode() == path.read_bytes()
    done = command("hook", "uninstall", harness, "--dry-run")
    assert done.stdout.decode() == f"{path} would be:\n{{}}\n"
    assert rest.encode() == path.read_bytes()


def test_the_user_is_told_what_is_left_to_do(command: Run) -> None:
    """HK-INST-9: a hook that Codex does not trust never runs, and Codex says nothing."""
    said = command("hook", "install", "codex").stdout.decode()
    assert "Hooks need review" in said
    assert "trust" in said
    assert "names the Python of this machine" in said
    said = command("hook", "install", "claude-code", "--user").stdout.decode()
    assert "start Claude Code anew" in said
    assert "this machine" not in said


@pytest.mark.parametrize(
    "option", [("--deadline", "never"), ("--wait-min", "x"), ("--service", "nobody")]
)
def test_a_setting_that_every_firing_would_refuse_is_refused_at_once(
    tmp_path: Path, command: Run, option: tuple[str, str]
) -> None:
    """HK-INST-2."""
    done = command("hook", "install", "codex", *option)
    assert done.returncode == 3
    assert option[0].encode() in done.stderr
    assert not (tmp_path / ".codex").exists()


def test_the_mode_of_the_file_stays(tmp_path: Path, command: Run) -> None:
    """HK-INST-6."""
    path = project_file(tmp_path, "codex")
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o640)
    inode = path.stat().st_ino
    command("hook", "install", "codex")
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_ino != inode
    assert os.listdir(path.parent) == [path.name]


def test_a_link_is_followed_and_stays_one(tmp_path: Path, command: Run) -> None:
    """HK-INST-6: the settings of many are links into a repository of their own."""
    real = tmp_path / "dotfiles" / "hooks.json"
    real.parent.mkdir()
    real.write_text("{}")
    home = tmp_path / "codex"
    home.mkdir()
    (home / "hooks.json").symlink_to(real)
    assert (
        command("hook", "install", "codex", "--user", env={"CODEX_HOME": str(home)}).returncode == 0
    )
    assert (home / "hooks.json").is_symlink()
    assert handlers(real, "PreCompact")


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_out_of_the_project_is_not_followed(
    tmp_path: Path, command: Run, is_folder: bool
) -> None:
    """HK-INST-6: a project of somebody else's names no file of the user's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "hooks.json").write_text("{}")
    project = tmp_path / "project"
    project.mkdir()
    if is_folder:
        (project / ".codex").symlink_to(outside)
    else:
        (project / ".codex").mkdir()
        (project / ".codex" / "hooks.json").symlink_to(outside / "hooks.json")
    done = command("hook", "install", "codex", cwd=project)
    assert done.returncode == 3
    assert b"unwritable" in done.stderr
    assert (outside / "hooks.json").read_text() == "{}"


def test_what_somebody_else_wrote_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    """HK-INST-6."""
    path = tmp_path / "settings.json"
    path.write_text("theirs")
    for after in (b"ours", None):
        with pytest.raises(Unwritable, match="meanwhile"):
            settings_file.replaced(path, b"before", after, inside=None)
        assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["settings.json"]
    with pytest.raises(Unwritable, match="meanwhile"):
        settings_file.replaced(tmp_path / "gone.json", b"before", b"ours", inside=None)


def test_a_directory_that_cannot_be_written_is_a_refusal(tmp_path: Path, command: Run) -> None:
    """HK-INST-6."""
    (tmp_path / ".codex").write_text("a file")
    done = command("hook", "install", "codex")
    assert done.returncode == 3
    assert b".codex" in done.stderr
    (tmp_path / ".claude" / "settings.json").mkdir(parents=True)
    done = command("hook", "install", "claude-code")
    assert done.returncode == 3
    assert b"unreadable" in done.stderr


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_installed_hook_blocks_lands_passes_and_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harness: str
) -> None:
    """HK-STOP-1, HK-STOP-3, HK-BACK-1: from its installation to its removal, with real payloads;
    and of the repository nothing but a ref and its objects is another."""
    isolate(monkeypatch, tmp_path / "home")
    world = new_world(tmp_path)
    state = ("--state-dir", str(world.state))
    ours(world, "install", harness, *state)
    path = world.repo.path / PLACES[harness][1] / PLACES[harness][2]
    world.repo.commit()
    world.repo.write("new.py")
    world.record(harness, "write the tests")
    before = snapshot(world.repo.path)

    assert fired(world, path, harness, "PreCompact:manual").is_stop
    world.wait_ten_seconds()
    assert not fired(world, path, harness, "PreCompact:manual").is_stop
    session = json.loads(world.payload(harness, "PreCompact:manual"))
    same = {name: session[name] for name in ("session_id", "transcript_path")}
    given = fired(world, path, harness, "SessionStart:compact", **same)
    assert '- todos: "write the tests"' in given.text
    assert '- uncommitted: "new.py"' in given.text

    after = snapshot(world.repo.path)
    # The times of a directory change where something goes in.
    files = {name: what for name, what in before.items() if not stat.S_ISDIR(what[0])}
    assert {name: after[name] for name in files} == files
    new = after.keys() - before.keys()
    assert new
    assert all(name.startswith((".git/objects/", ".git/refs/verdict-core")) for name in new)
    ours(world, "uninstall", harness)
    assert not path.exists()


def ours(world: World, *arguments: str) -> None:
    command = [sys.executable, "-P", "-m", "verdict_core", "hook", *arguments]
    subprocess.run(command, cwd=world.repo.path, check=True, capture_output=True)


def fired(world: World, path: Path, harness: str, key: str, **changes: Any) -> Answer:
    """What the command in the settings answers, started as the harness does it: by a shell."""
    (handler,) = handlers(path, key.partition(":")[0])
    done = subprocess.run(
        ["/bin/sh", "-c", handler["command"]], input=world.payload(harness, key, **changes),
        capture_output=True, cwd=world.repo.path, check=False,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)
