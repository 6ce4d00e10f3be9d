"""An OpenAI-compatible chat endpoint as the service, asked through the `openai` package.

In: a base address, a model's name, a request, and a key out of the environment. Out: the text of
the model's answer, unread, or NoAnswer with exactly one detail. Laws: one deadline over all of it,
the look-up of a name and the retry too; no more than `tries` requests; the key goes to the host
that was named and into nothing that can be read later. (SPEC SV-CHAT, SV-TIME)
"""

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from verdict_core import wire
from verdict_core.context.ask import OPTIONS, Detail, NoAnswer, Request
from verdict_core.errors import BadConfig, InvalidJson, VerdictCoreError
from verdict_core.services.keys import BadKey, hide_keys, key
from verdict_core.services.reply import DEADLINE_S, REPLY_BYTES, seconds, unfenced

PAUSE_S = 0.25
"""Seconds before the repetition where the endpoint names none. (SPEC SV-CHAT-5)"""

_VISIBLE = re.compile(r"[!-~]+")
_RETRY_AFTER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")

# How an HTTP status reads; any other below 500 is misconfigured, and from 500 on unreachable.
_STATUSES = {408: Detail.UNREACHABLE, 429: Detail.RATE_LIMITED}
_REPEATED = (Detail.UNREACHABLE, Detail.RATE_LIMITED)
_ENDINGS = {
    "content_filter": Detail.DECLINED,
    "refusal": Detail.DECLINED,
    "length": Detail.TRUNCATED,
}

_SCHEMA = {
    "type": "object",
    "properties": {
        "choice": {"type": "string", "enum": [str(option) for option in OPTIONS]},
        "score": {"type": "number"},
    },
    "required": ["choice", "score"],
    "additionalProperties": False,
}
_PREFERRED: Mapping[str, Any] = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": _SCHEMA},
    },
    "temperature": 0,
}
# What stands in place of a parameter that an endpoint refuses by name: DeepSeek and older
# llama.cpp know no schema, and some models take no temperature.
_INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "response_format": {"response_format": {"type": "json_object"}},
    "temperature": {},
}


def _address(_: Any, attribute: Any, value: str) -> None:
    try:
        parts = urlsplit(value)
        sound = parts.port != 0 and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        sound = False
    if not (
        sound
        and value.startswith(("http://", "https://"))
        and _VISIBLE.fullmatch(value)
        and not {"?", "#"} & set(value)
    ):
        raise BadConfig(
            "expected an http:// or https:// address without user, query and fragment",
            path=attribute.name,
        )


def _name(_: Any, attribute: Any, value: Any) -> None:
    try:
        wire.text(value, attribute.name)
    except VerdictCoreError as error:
        raise BadConfig(error.message, path=attribute.name) from None


def _count(_: Any, attribute: Any, value: Any) -> None:
    if type(value) is not int or value < 1:
        raise BadConfig("expected an integer of 1 or more", path=attribute.name)


@frozen
class Chat:
    """`model` as the endpoint calls it; `base_url` of the endpoint, such as
    `http://localhost:11434/v1`; `deadline_s`, seconds that one asking may take; `tries`, how many
    requests that may be. Raises BadConfig. (SPEC SV-CHAT-1)"""

    model: str = field(validator=_name)
    base_url: str = field(validator=_address)
    deadline_s: float = field(default=DEADLINE_S, validator=seconds)
    tries: int = field(default=2, validator=_count)
    # Parameters that this endpoint refused: it is not asked twice for every answer.
    refused: set[str] = field(factory=set, init=False, eq=False, repr=False)

    def ask(self, request: Request, /) -> bytes:
        """The text of the model's answer. Raises NoAnswer with any detail but bad_choice and
        bad_score. (SPEC SV-CHAT-2 to SV-CHAT-6, SV-TIME-1)"""
        asking = _Asking(self, wire.compact(request.payload()).decode())
        # The client has a time limit for each operation and none for all of them, and looking up
        # a name has no limit at all. A daemon, so that not even that holds up the exit.
        Thread(target=asking.run, name="verdict-core-chat", daemon=True).start()
        try:
            outcome = asking.outcome.get(timeout=asking.left())
        except Empty:
            outcome = (Detail.TIMEOUT, f"no answer within {self.deadline_s:g} s")
        finally:
            asking.stop()
        if isinstance(outcome, bytes):
            return outcome
        raise NoAnswer(*outcome)


class _Failed(Exception):
    """A try that gave no answer. `repeat_after` is in seconds, None where repeating cannot help."""

    def __init__(self, detail: Detail, why: str, repeat_after: float | None = None) -> None:
        super().__init__(why)
        self.detail = detail
        self.why = why
        self.repeat_after = repeat_after


class _Asking:
    """One asking: its clock, its sockets, and how it ended. Only bytes, or a detail and fixed
    words, come out of it: the errors of the client hold the request, and so the key."""

    def __init__(self, chat: Chat, text: str) -> None:
        self.outcome: SimpleQueue[bytes | tuple[Detail, str]] = SimpleQueue()
        self._chat = chat
        self._messages = [{"role": "user", "content": text}]
        self._headers: dict[str, Any] = {"Accept-Encoding": "identity"}
        self._ends = monotonic() + chat.deadline_s
        self._stopped = Event()
        self._sockets: list[socket.socket] = []
        self._refusal: _Failed | None = None

    def left(self) -> float:
        return max(0.0, self._ends - monotonic())

    def run(self) -> None:
        outcome: bytes | tuple[Detail, str] = (Detail.UNREACHABLE, "asking broke down")
        try:
            outcome = self._tried()
        except _Failed as failed:
            outcome = (failed.detail, failed.why)
        finally:
            self.outcome.put(outcome)

    def stop(self) -> None:
        """Nothing is sent or waited for any more."""
        self._stopped.set()
        for connected in self._sockets:
            # Not close: the number of a closed socket goes to the next file that is opened, and
            # the other thread would read from that one.
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _tried(self) -> bytes:
        with self._client() as client:
            for _ in range(self._chat.tries - 1):
                try:
                    return answer_in(self._fetch(client))
                except _Failed as failed:
                    pause = failed.repeat_after
                    if pause is None or pause >= self.left() or self._stopped.wait(pause):
                        raise
            return answer_in(self._fetch(client))

    def _fetch(self, client: Any) -> bytes:
        """The body of one answer with a status of 2xx, REPLY_BYTES of it and at most a chunk."""
        self._refusal = None
        try:
            with client.chat.completions.with_streaming_response.create(
                model=self._chat.model,
                messages=self._messages,
                timeout=self.left(),
                extra_headers=self._headers,
                **self._parameters(),
            ) as response:
                return _bounded(response.http_response)
        except Exception as error:
            # Whatever the client and the packages below it raise on the way. Nothing but the
            # network and the endpoint takes part in it.
            if self._refusal is not None:
                raise self._refusal from None
            if self.left() == 0:
                raise _Failed(Detail.TIMEOUT, "no time is left") from None
            raise _Failed(Detail.UNREACHABLE, type(error).__name__, PAUSE_S) from None

    def _client(self) -> Any:
        try:
            secret = key()
            import openai

            hide_keys()
            hooks: dict[str, Any] = {"request": [self._before], "response": [self._after]}
            # Given outright: a variable that the client reads can name another one.
            self._headers["Authorization"] = f"Bearer {secret}" if secret else openai.Omit()
            return openai.OpenAI(
                api_key=secret or "none",
                base_url=self._chat.base_url,
                max_retries=0,
                http_client=openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False),
            )
        except BadKey as error:
            why = f"{error} holds what is no visible ASCII character"
            raise _Failed(Detail.MISCONFIGURED, why) from None
        except Exception as error:  # not installed, or a proxy or certificates that are not there
            why = f"the client cannot be set up: {type(error).__name__}"
            raise _Failed(Detail.MISCONFIGURED, why) from None

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for name, value in _PREFERRED.items():
            parameters |= _INSTEAD[name] if name in self._chat.refused else {name: value}
        return parameters

    def _before(self, request: Any) -> None:
        request.extensions["trace"] = self._trace

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self._stopped.is_set():
                self.stop()

    def _after(self, response: Any) -> None:
        """Stop at an answer that is none, before the client reads all of it into memory."""
        status = response.status_code
        if 200 <= status <= 299:
            return
        other = Detail.UNREACHABLE if status >= 500 else Detail.MISCONFIGURED
        detail = _STATUSES.get(status, other)
        self._refusal = _Failed(detail, f"HTTP status {status}")
        if self._gives_way(response):
            self._refusal.repeat_after = 0.0
        elif detail in _REPEATED:
            self._refusal.repeat_after = _pause(response.headers.get("retry-after"))
        raise self._refusal

    def _gives_way(self, response: Any) -> bool:
        """Whether a refusal names a parameter that can be asked for otherwise."""
        if response.status_code not in (400, 422, 500, 501):
            return False
        said = b""
        with suppress(Exception):  # the status stands, whatever becomes of its explanation
            said = _bounded(response)
        names = {name for name in _INSTEAD if name.encode() in said} - self._chat.refused
        self._chat.refused.update(names)
        return bool(names)


def answer_in(body: bytes) -> bytes:
    """The text of the one answer in a chat completion. Raises _Failed: declined, truncated or
    unreadable. (SPEC SV-CHAT-3, SV-CHAT-4)"""
    if len(body) > REPLY_BYTES:
        raise _Failed(Detail.UNREADABLE, f"more than {REPLY_BYTES} bytes")
    try:
        completion = wire.parse(body)
    except InvalidJson as error:
        raise _Failed(Detail.UNREADABLE, f"no JSON: {error.code}") from None
    match completion:
        case {"choices": [{"message": {**message}} as choice]}:
            pass
        case _:
            raise _Failed(Detail.UNREADABLE, "not exactly one message")
    if message.get("refusal"):
        raise _Failed(Detail.DECLINED, "the model refused")
    for ending in (choice.get("finish_reason"), choice.get("stop_reason")):
        if isinstance(ending, str) and ending in _ENDINGS:
            raise _Failed(_ENDINGS[ending], f"the model ended with {ending}")
    content = message.get("content")
    if not isinstance(content, str):
        raise _Failed(Detail.UNREADABLE, "no text")
    return unfenced(content.encode())


def _bounded(response: Any) -> bytes:
    """Body bytes as they come, so that a compressed one can grow no larger."""
    body = b""
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > REPLY_BYTES:
            break
    return body


def _pause(retry_after: str | None) -> float | None:
    """Seconds until a repetition; None where only a date is named, which the deadline will not
    see."""
    if retry_after is None:
        return PAUSE_S
    return float(retry_after) if _RETRY_AFTER.fullmatch(retry_after) else None
