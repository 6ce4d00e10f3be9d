"""Every error that this library raises on purpose, with its code and its exit status.

In: what is wrong and where. Out: an exception whose `str` is one line that names the path and the
code. Law: a refusal never repairs, strips or guesses; a crash is not a refusal. (SPEC CV-ERR)
"""

import re

EXIT_OVER_BUDGET = 2
EXIT_INPUT = 3

ROOT = "$"
_NAMED_ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}
# What may not reach a terminal or a log line as it is: C0, DEL, C1, line and paragraph separators,
# bidirectional controls and surrogates (a file name that is not UTF-8 decodes to them).
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def child(path: str, key: object) -> str:
    """The path of a member: `.key`, `[0]`, or RFC 9535 brackets for any other key. (CV-ERR-2)"""
    if isinstance(key, str) and key.isascii() and key.isidentifier():
        return f"{path}.{key}"
    if isinstance(key, int):
        return f"{path}[{key}]"
    text = key if isinstance(key, str) else repr(key)
    escaped = "".join(
        _NAMED_ESCAPES.get(ord(c)) or (c if ord(c) > 31 else f"\\u{ord(c):04x}") for c in text
    )
    return f"{path}['{escaped}']"


def visible(text: str) -> str:
    """`text` on one line, with control, bidirectional and surrogate characters escaped."""
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


class VerdictCoreError(Exception):
    """The root. `code` is from the registry in SPEC.md, `path` says where, `exit_status` what a
    command ends with. Two errors are equal when class, code, path and message are."""

    code = "error"
    exit_status = EXIT_INPUT

    def __init__(self, message: str, *, path: str = ROOT, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return visible(f"{self.path}: {self.code}: {self.message}")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        assert isinstance(other, VerdictCoreError)
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[str, str, str]:
        return self.code, self.path, self.message


class InvalidJson(VerdictCoreError):
    """The bytes are not the strict JSON of SPEC CV-WIRE-1: invalid_utf8, byte_order_mark,
    invalid_json, duplicate_key, lone_surrogate or too_deep. The offset is in the message."""

    code = "invalid_json"


class ForbiddenKey(VerdictCoreError):
    """A payload bears one of the 35 names. (SPEC CV-KEY-1)"""

    code = "forbidden_key"

    def __init__(self, path: str, key: str) -> None:
        super().__init__(
            f"{key!r} asks for a selection of parts, and there is none to give: a per-block judge"
            " called the block with the fix droppable (0.323) and a nursery rhyme worth keeping"
            " (0.691). Ask for the verdict on the whole session instead: safe_to_compact, wait or"
            " preserve_first",
            path=path,
        )
        self.key = key


class UnknownField(VerdictCoreError):
    """A closed object has a key that it does not list. (SPEC CV-SUM-2)"""

    code = "unknown_field"


class MissingField(VerdictCoreError):
    """A closed object lacks a key that it requires. (SPEC CV-SUM-2)"""

    code = "missing_field"


class WrongType(VerdictCoreError):
    """A value, or a key, is not of the type that stands there. Nothing is coerced. (CV-WIRE-5)"""

    code = "wrong_type"


class BadValue(VerdictCoreError):
    """The type is right and the value is not: bad_value, lone_surrogate, number_out_of_range."""

    code = "bad_value"


class OverBudget(VerdictCoreError):
    """A state's text is longer than its budget; it is never cut. (SPEC CV-STATE-6)"""

    code = "over_budget"
    exit_status = EXIT_OVER_BUDGET


class UnboundState(VerdictCoreError):
    """A state is not the one that its summary renders to. (SPEC CV-DIGEST-3)"""

    code = "unbound_state"


class BadConfig(VerdictCoreError):
    """A threshold or budget is not an allowed integer. (SPEC CV-RULE-6)"""

    code = "bad_config"


class BadOptions(VerdictCoreError):
    """A request does not offer exactly the three verdicts in their order: four_options,
    options_order or bad_options. (SPEC CV-ASK-2)"""

    code = "bad_options"


class ScopeRefused(VerdictCoreError):
    """A guard scope that guards nothing, or not what it says: scope_required, scope_absolute,
    scope_parent, scope_missing, scope_outside_workspace, scope_empty, state_inside_scope,
    bad_ignore. `path` is the scope as given. (SPEC PG-SCOPE)"""

    code = "scope_empty"


class LedgerFault(VerdictCoreError):
    """A ledger that cannot be written or read: append_failed, ledger_poisoned, ledger_unreadable,
    ledger_cut, append_only. `path` is the file; what was acknowledged stays. (SPEC PG-LEDGER)"""

    code = "append_failed"


class VerifierRefused(VerdictCoreError):
    """An episode that cannot begin: no_verifier, sandbox_missing. (SPEC PG-VERIFY)"""

    code = "no_verifier"


class Unreadable(VerdictCoreError):
    """A file that was named cannot be read. `path` is its name. (SPEC CV-CLI-5)"""

    code = "unreadable"


class Usage(VerdictCoreError):
    """A command line that says nothing that can be done. `path` is the option. (SPEC CV-CLI-5)"""

    code = "usage"


class EmptyCorpus(VerdictCoreError):
    """A corpus, or one file of it, without a case. `path` is its name. (SPEC CP-LINE-7)"""

    code = "empty_corpus"


class SingleLabelCorpus(VerdictCoreError):
    """A corpus of lost cases alone, or of keep cases alone: it can show one rate only, and half
    of a measurement passes for all of it. (SPEC CP-LINE-7)"""

    code = "single_labelled_corpus"


class DuplicateId(VerdictCoreError):
    """An id stands on two lines of a corpus. `path` is the second. (SPEC CP-LINE-6)"""

    code = "duplicate_id"


class CorpusChanged(VerdictCoreError):
    """A corpus that was another one at its second reading. (SPEC CP-LINE-9)"""

    code = "corpus_changed"


class EngineFailed(VerdictCoreError):
    """What was to do the work is not there, or went away and could not be replaced: no_cluster,
    engine_failed. Nothing is reported then. (SPEC CP-EXIT-4)"""

    code = "engine_failed"


class Unwritable(VerdictCoreError):
    """A file that was named cannot be written. `path` is its name. (SPEC CV-CLI-5)"""

    code = "unwritable"
