"""The key to an endpoint: out of the environment, and into nothing that can be read later.

In: the environment. Out: the key, or nothing. Law: it stands in the one header that it is for, and
never in a log, an error or a report. (SPEC SV-CHAT-7, SV-CHAT-8)
"""

import logging
import os
import re

NAMES = ("VERDICT_CORE_API_KEY", "OPENAI_API_KEY")
"""The first that is set counts, though it be to nothing, which says that there is no key.
(SPEC SV-CHAT-7)"""

_VISIBLE = re.compile(r"[!-~]*")
# The loggers of the client and of the packages below it that write down what headers hold.
_LOGGERS = (
    "openai._base_client",
    "httpx",
    "httpx2",
    *(
        f"{package}.{module}"
        for package in ("httpcore", "httpcore2")
        for module in ("connection", "http11", "http2", "proxy", "socks")
    ),
)


class BadKey(ValueError):
    """A key that no header can hold. Its message is the variable's name."""


def key() -> str:
    """The key, or nothing. Raises BadKey where no header may hold it: the layers below would show
    it in their complaint. (SPEC SV-CHAT-7)"""
    for name in NAMES:
        value = os.environ.get(name)
        if value is None:
            continue
        if not _VISIBLE.fullmatch(value):
            raise BadKey(name)
        return value
    return ""


class _NoKeys(logging.Filter):
    """Takes the keys out of a record: an endpoint may send one back in a header."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = shown = record.getMessage()
        for value in filter(None, map(os.environ.get, NAMES)):
            # Headers are logged as bytes are represented.
            shown = shown.replace(repr(value)[1:-1], "[key]").replace(value, "[key]")
        if shown != said:
            record.msg, record.args = shown, None
        return True


_NO_KEYS = _NoKeys()


def hide_keys() -> None:
    """Keep the keys out of what the client and the packages below it log. (SPEC SV-CHAT-8)"""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_NO_KEYS)  # once, however often it is said
