"""The setting that names a service. (SPEC SV-SET)"""

import subprocess
import sys
from typing import Any

import pytest
from llm_server import LlmServer, says

from verdict_core.context.ask import Request
from verdict_core.errors import EXIT_INPUT, BadConfig
from verdict_core.services.command import Command
from verdict_core.services.openai_chat import Chat
from verdict_core.services.setting import service_of


def test_a_command_is_split_as_a_shell_does_it_and_keeps_what_a_shell_would_replace() -> None:
    """SV-SET-1."""
    service = service_of("command:judge --model 'a b' \"$HOME\" *.md; ls:x")
    assert service == Command(["judge", "--model", "a b", "$HOME", "*.md;", "ls:x"])


@pytest.mark.parametrize(
    ("setting", "model", "base_url"),
    [
        ("openai:llama3.2:3b@http://localhost:11434/v1", "llama3.2:3b", "http://localhost:11434/v1"),
        ("openai:@cf/meta/x@https://example.org/v1", "@cf/meta/x", "https://example.org/v1"),
        ("openai:deepseek-chat@https://api.deepseek.com", "deepseek-chat",
         "https://api.deepseek.com"),
        ("openai:m@http://[::1]:8080/v1/", "m", "http://[::1]:8080/v1/"),
    ],
)  # fmt: skip
def test_an_endpoint_is_a_model_at_an_address(setting: str, model: str, base_url: str) -> None:
    """SV-SET-1."""
    assert service_of(setting) == Chat(model, base_url)


@pytest.mark.parametrize("setting", ["command:true", "openai:m@http://localhost/v1"])
def test_the_deadline_is_handed_on(setting: str) -> None:
    usual: Any = service_of(setting)
    given: Any = service_of(setting, deadline_s=2.5)
    assert (usual.deadline_s, given.deadline_s) == (8, 2.5)


REFUSED = [
    "",
    "secret",
    "secret:x",
    "Command:secret",
    " command:secret",
    "command",
    "command:",
    "command:  ",
    "command:judge 'secret",
    "command:secret \\",
    "openai:",
    "openai:secret",
    "openai:secret@",
    "openai:@http://localhost/v1",
    "openai:m@localhost/secret",
    "openai:m@http://user:secret@localhost/v1",
    "openai:m@http://localhost/v1?key=secret",
]


@pytest.mark.parametrize("setting", REFUSED)
def test_any_other_setting_is_refused_and_not_repeated(setting: str) -> None:
    """SV-SET-2."""
    with pytest.raises(BadConfig) as caught:
        service_of(setting)
    error = caught.value
    assert (error.code, error.path, error.exit_status) == ("bad_config", "--service", EXIT_INPUT)
    assert "secret" not in str(error) + repr(error)


def test_the_path_says_where_the_setting_stands() -> None:
    with pytest.raises(BadConfig, match=r"^VERDICT_CORE_SERVICE: bad_config: expected command:"):
        service_of("x", path="VERDICT_CORE_SERVICE")


def test_without_the_package_an_endpoint_is_refused_and_a_command_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(BadConfig, match=r"pip install 'verdict-core\[services\]'"):
        service_of("openai:m@http://localhost/v1")
    assert service_of("command:true") == Command(["true"])


def test_the_client_is_loaded_when_it_is_asked_and_not_before() -> None:
    code = """
import sys
import verdict_core
assert not [name for name in sys.modules if name.startswith("verdict_core.services")]
from verdict_core.context.ask import Request
from verdict_core.services.setting import service_of
service_of("command:true")
service = service_of(sys.argv[1], deadline_s=30)
print("openai" in sys.modules, "pydantic" in sys.modules)
service.ask(Request("state"))
print("openai" in sys.modules)
"""
    with LlmServer(says("{}")) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, f"openai:m@{server.base_url}"],
            capture_output=True,
            check=True,
            timeout=60,
        )
    assert done.stdout.split() == [b"False", b"False", b"True"]


def test_what_is_named_can_be_asked() -> None:
    assert service_of("command:printf '{}'").ask(Request("state")) == b"{}"
    with LlmServer(says("{}")) as server:
        assert service_of(f"openai:m@{server.base_url}").ask(Request("state")) == b"{}"
