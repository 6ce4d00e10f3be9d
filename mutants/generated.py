"""Faults that are made out of the package's own tables: one for each cell, bound, word and name.

In: the tables, as they are imported. Out: faults like those that were written by hand. Law: a row
that is added to a table has its faults at once, and a named bound without one is an error.
"""

import ast
from collections.abc import Iterator
from itertools import permutations

from mutants.faults import ROOT, BadRecord, Fault, made
from mutants.generated_progress import PROGRESS_BOUNDS, progress_faults
from verdict_core import errors, git, wire
from verdict_core.context import ask, state, summary
from verdict_core.context.judgement import _SAID
from verdict_core.context.rules import RULES, Asking, Band, Reason, Verdict
from verdict_core.forbidden import FORBIDDEN_GROUPS
from verdict_core.hosts import cli

_RULES = "context/rules.py"
_ASK = "context/ask.py"
_STATE = "context/state.py"
_SUMMARY = "context/summary.py"
_WIRE = "wire.py"
_GIT = "git.py"
_CLI = "hosts/cli.py"

_P = "properties/test_"
_CELLS = f"{_P}rule_properties.py::test_every_cell_has_the_verdict_and_the_reasons_of_the_table"
_EVERY_NAME = (
    f"{_P}forbidden_properties.py"
    "::test_every_name_is_refused_with_its_path_in_every_shape_and_spelling"
)
_NOT_SAFE = f"{_P}rule_properties.py::test_an_unlanded_count_above_zero_is_never_safe"
_SAID_WHOLE = f"{_P}state_properties.py::test_the_state_says_what_the_summary_holds"
_INJECTIVE = f"{_P}state_properties.py::test_rendering_is_injective"
_ANY_PART = f"{_P}state_properties.py::test_a_state_with_any_part_changed_is_refused"
_BUDGET = f"{_P}state_properties.py::test_the_budget_never_cuts"
_STRICT = f"{_P}wire_properties.py::test_what_is_not_strict_json_is_refused"
_LEVELS = f"{_P}wire_properties.py::test_128_levels_pass_and_129_do_not"
_INTEGER = f"{_P}wire_properties.py::test_an_integer_is_an_integer_within_its_range"
_ANSWER = f"{_P}rule_properties.py::test_an_answer_is_used_whole_or_not_at_all"
_OPTIONS = f"{_P}rule_properties.py::test_any_other_options_are_refused"
_DEFAULTS = "tests/test_clauses.py::test_the_defaults_are_3_and_16000"
_WORDS = "tests/test_clauses.py::test_the_words_are_those_of_the_specification"
_REGISTRY = "tests/test_errors.py::test_every_code_and_exit_status_stands_in_the_registry"
_OFFSET = "tests/test_wire.py::test_a_refusal_names_the_code_and_the_offset"
_PIPED = "tests/test_cli.py::test_build_piped_into_judge_gives_a_verdict"
_KEPT = "tests/test_clauses.py::test_the_variables_that_the_user_set_reach_git"
_TOLD = "tests/test_git.py::test_what_git_is_told_is_the_same_wherever_it_runs"
_HIDES = (
    "tests/test_git_status.py::test_a_setting_that_hides_work_from_a_plain_status_hides_none_here"
)

# (module, name, what it may become, clause, test)
BOUNDS = (
    *PROGRESS_BOUNDS,
    (_WIRE, "MAX_DEPTH", ("127", "129"), "CV-WIRE-4", _LEVELS),
    (_WIRE, "MAX_INTEGER", ("2**53 - 2", "2**53"), "CV-WIRE-6", _INTEGER),
    (_RULES, "SAFE_MAX", ("1",), "CV-RULE-5", _NOT_SAFE),
    (_RULES, "SAFE_MAX", ("-1",), "CV-RULE-2", _CELLS),
    (_RULES, "DEFAULT_WAIT_MIN", ("2", "4"), "CV-RULE-6", _DEFAULTS),
    (_STATE, "DEFAULT_MAX_CHARS", ("15_999", "16_001"), "CV-RULE-6", _DEFAULTS),
    ("errors.py", "EXIT_OVER_BUDGET", ("3", "0"), "CV-ERR-1", _REGISTRY),
    ("errors.py", "EXIT_INPUT", ("2", "0"), "CV-ERR-1", _REGISTRY),
)
# Bounds that decide nothing, and why.
UNDECIDING = {
    "_SHORT": "from which length on a text is copied and not counted; both ways read the same",
    "_UNTRACKED": "from how many containers on the exact walk takes over; both find the same",
    "_HARMLESS_LIMIT": "how many spellings are remembered; what is forgotten is folded again",
    "_BLOCK": "how much of a ledger is read at once, from its end",
    "_LONGEST": "from which length on a path is opened in pieces; both ways open the same",
    "_THREADS": "how many threads read",
    "_CHUNK_FILES": "how many files a thread is given at once",
    "_CHUNK_BYTES": "how many bytes a thread, a reading or a writing is given at once",
    "_BUFFER_BYTES": "how many bytes are read at once",
}
# Comparisons, each moved by one: (module, within, comparison, clause, test)
EDGES = (
    (_RULES, "row_of", "count > wait_min", "CV-RULE-2", _CELLS),
    (_RULES, "row_of", "count > SAFE_MAX", "CV-RULE-2", _CELLS),
    (_STATE, "build", "len(state.text) > limit", "CV-STATE-6", _BUDGET),
    (_WIRE, "integer", "0 <= value <= MAX_INTEGER", "CV-WIRE-6", _INTEGER),
    (_ASK, "read_answer", "0 <= score <= 1", "CV-ASK-3", _ANSWER),
    (_ASK, "refuse_options", "len(options) > len(OPTIONS)", "CV-ASK-2", _OPTIONS),
)
_MOVED = {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt}

# Which test shows that a setting is overridden; a setting without one is an error.
SETTINGS = {
    "core.checkStat": f"{_HIDES}[check_stat]",
    "core.fsmonitor": f"{_HIDES}[monitor]",
    "core.hooksPath": "tests/test_git.py::test_no_hook_runs",
    "core.ignoreCase": f"{_HIDES}[ignore_case]",
    "core.symlinks": f"{_HIDES}[symlinks]",
    "core.trustctime": f"{_HIDES}[trust_ctime]",
    "core.untrackedCache": f"{_HIDES}[untracked_cache]",
    "core.useReplaceRefs": f"{_HIDES}[replaced_head]",
    "diff.ignoreSubmodules": "tests/test_git.py"
    "::test_a_setting_that_hides_work_is_overridden_in_every_call",
    "status.showUntrackedFiles": "tests/test_git.py"
    "::test_a_setting_that_hides_work_is_overridden_in_every_call",
}
GIT_CODES = {
    "no_repository": "test_where_there_is_no_repository_the_code_says_so",
    "unsafe_owner": "test_a_repository_of_somebody_else_is_unsafe",
    "no_work_tree": "test_a_bare_repository_has_no_work_tree",
}
WIRE_CODES = {
    "duplicate_key": ("CV-WIRE-2", _STRICT),
    "too_deep": ("CV-WIRE-4", _LEVELS),
    "lone_surrogate": ("CV-WIRE-3", _STRICT),
    "number_out_of_range": ("CV-ERR-1", _OFFSET),
}


def from_data() -> list[Fault]:
    """Every fault that the tables give. Raises BadRecord where a table has no fault for a row."""
    return [
        *_rule_cells(), *_rule_rows(), *_forbidden_names(), *_counted_fields(), *_parts(),
        *_bounds(), *_edges(), *_words(), *_asking(), *_codes(), *_statuses(), *_git(),
        *progress_faults(),
    ]  # fmt: skip


def _ruled(verdict: Verdict, reasons: tuple[Reason, ...]) -> str:
    names = "".join(f"Reason.{reason.name}, " for reason in reasons)
    return f"(Verdict.{verdict.name}, ({names}))"


def _rule_cells() -> Iterator[Fault]:
    """Each verdict turned into each other one; each reason taken out; reasons turned round."""
    for (band, asking), (verdict, reasons) in RULES.items():
        row = f"rules.{band}_{asking}"
        others = [(f"{row}.{other}", _ruled(other, reasons)) for other in Verdict]
        for number, reason in enumerate(reasons):
            rest = reasons[:number] + reasons[number + 1 :]
            others.append((f"{row}.without_{reason}", _ruled(verdict, rest)))
        others.append((f"{row}.turned_round", _ruled(verdict, reasons[::-1])))
        for id, fresh in others:
            cell = _ruled(verdict, reasons)
            if fresh != cell:
                yield made(id, "CV-RULE-3", _RULES, "RULES", cell, fresh, _CELLS)


def _rule_rows() -> Iterator[Fault]:
    """Each row put where nobody looks for it."""
    pairs = [(band, asking) for band in (Band.OVER, Band.CLEAR) for asking in Asking]
    for band, asking in RULES:
        nowhere = next(pair for pair in pairs if pair not in RULES and pair[0] is not band)
        key, fresh = (f"(Band.{b.name}, Asking.{a.name})" for b, a in ((band, asking), nowhere))
        id = f"rules.{band}_{asking}.lost"
        yield made(id, "CV-RULE-3", _RULES, "RULES", key, fresh, _CELLS)


def _forbidden_names() -> Iterator[Fault]:
    for names in FORBIDDEN_GROUPS.values():
        for name in names:
            rest = tuple(other for other in names if other != name)
            yield made(
                f"names.{name}", "CV-KEY-1", "forbidden.py", "FORBIDDEN_GROUPS",
                repr(names), repr(rest), _EVERY_NAME,
            )  # fmt: skip


def _counted_fields() -> Iterator[Fault]:
    for name in summary.FIELDS:
        yield made(
            f"counted.{name}", "CV-SUM-6", _SUMMARY, "Summary.count", f"len(self.{name})", "0",
            _NOT_SAFE,
        )  # fmt: skip
    for number in range(len(summary.FIELDS) - 1):
        turned = list(summary.FIELDS)
        turned[number : number + 2] = turned[number : number + 2][::-1]
        id = f"field_order.{turned[number]}_first"
        fields, fresh = repr(summary.FIELDS), repr(tuple(turned))
        yield made(id, "CV-STATE-3", _SUMMARY, "FIELDS", fields, fresh, _SAID_WHOLE)


def _parts() -> Iterator[Fault]:
    """Each part of a state left out of the comparison."""
    for name in state._SLOTS:
        rest = tuple(other for other in state._SLOTS if other != name)
        id = f"compared.{name}"
        yield made(id, "CV-DIGEST-3", _STATE, "refuse_unbound", "_SLOTS", repr(rest), _ANY_PART)


def _bounds() -> Iterator[Fault]:
    _all_bounds_have_faults()
    for target, name, values, clause, test in BOUNDS:
        value = ast.unparse(_constants(target)[name])
        for fresh in values:
            yield made(f"bounds.{name}.{fresh}", clause, target, name, value, fresh, test)


def _constants(target: str) -> dict[str, ast.expr]:
    """The whole numbers that a module gives a name to in capitals."""
    tree = ast.parse((ROOT / "verdict_core" / target).read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            numbers = [n for n in ast.walk(value) if isinstance(n, ast.Constant)]
            if name.isupper() and numbers and all(type(n.value) is int for n in numbers):
                whole = not any(isinstance(n, ast.Name | ast.Call) for n in ast.walk(value))
                found.update({name: value} if whole else {})
    return found


def _all_bounds_have_faults() -> None:
    package = ROOT / "verdict_core"
    files = [*(package / "context").glob("*.py"), *(package / "progress").glob("*.py")]
    for file in (*files, *(package / f"{name}.py" for name in ("wire", "forbidden", "errors"))):
        target = str(file.relative_to(package))
        known = {name for module, name, *_ in BOUNDS if module == target}
        for name in _constants(target).keys() - known - UNDECIDING.keys():
            raise BadRecord(f"{target}: {name} is a bound without a fault")


def _edges() -> Iterator[Fault]:
    """Each comparison with its edge on the other side."""
    for target, within, comparison, clause, test in EDGES:
        node = ast.parse(comparison, mode="eval").body
        assert isinstance(node, ast.Compare)
        for number, operator in enumerate(node.ops):
            moved = [*node.ops[:number], _MOVED[type(operator)](), *node.ops[number + 1 :]]
            fresh = ast.unparse(ast.Compare(node.left, moved, node.comparators))
            yield made(f"edges.{fresh}", clause, target, within, comparison, fresh, test)


def _words() -> Iterator[Fault]:
    for words, target, clause in (
        (Verdict, _RULES, "CV-RULE-1"),
        (Reason, _RULES, "CV-RULE-3"),
        (ask.Detail, _ASK, "CV-ASK-4"),
    ):
        for word in words:
            word_is, fresh = repr(str(word)), repr(f"{word}_")
            id = f"words.{words.__name__}.{word}"
            yield made(id, clause, target, words.__name__, word_is, fresh, _WORDS)


def _asking() -> Iterator[Fault]:
    for detail in ask.ABSENT:
        yield made(
            f"absent.{detail}", "CV-ASK-4", _ASK, "ABSENT", f"Detail.{detail.name}",
            "Detail.TRUNCATED", _CELLS,
        )  # fmt: skip
    for one, other in permutations(_SAID.values(), 2):
        yield made(
            f"said.{one}.{other}", "CV-RULE-3", "context/judgement.py", "_SAID",
            f"Asking.{one.name}", f"Asking.{other.name}", _CELLS,
        )  # fmt: skip


def _codes() -> Iterator[Fault]:
    for words, code in wire._CODES:
        clause, test = WIRE_CODES[code]
        id, row = f"wire_codes.{words}", repr((words, code))
        yield made(id, clause, _WIRE, "_CODES", row, repr(("\0", code)), test)
    for name, error in vars(errors).items():
        said = vars(error).get("code") if isinstance(error, type) else None
        if isinstance(said, str) and error is not errors.VerdictCoreError:
            yield made(
                f"codes.{name}", "CV-ERR-1", "errors.py", name, f"code = {said!r}",
                f"code = {said + '_'!r}", _REGISTRY,
            )  # fmt: skip


def _statuses() -> Iterator[Fault]:
    for verdict, status in cli.EXIT_VERDICT.items():
        rest = ", ".join(f"Verdict.{v.name}: {s}" for v, s in cli.EXIT_VERDICT.items())
        fresh = rest.replace(f".{verdict.name}: {status}", f".{verdict.name}: {status + 1}")
        id = f"exit_status.{verdict}"
        yield made(id, "CV-CLI-1", _CLI, "EXIT_VERDICT", f"{{{rest}}}", f"{{{fresh}}}", _PIPED)


def _git() -> Iterator[Fault]:
    def lost(id: str, clause: str, table: str, name: str, test: str) -> Fault:
        return made(id, clause, _GIT, table, repr(name), repr(f"{name}x"), test)

    for name in git._SETTINGS:
        clause = "GT-RUN-4" if name == "core.hooksPath" else "GT-RUN-3"
        yield lost(f"git_settings.{name}", clause, "_SETTINGS", name, SETTINGS[name])
    for name in sorted(git._KEPT_VARIABLES):
        yield lost(f"git_kept.{name}", "GT-RUN-2", "_KEPT_VARIABLES", name, _KEPT)
    for name in git._SET_VARIABLES:
        clause = "GT-RUN-1" if name == "GIT_TERMINAL_PROMPT" else "GT-RUN-4"
        yield lost(f"git_set.{name}", clause, "_SET_VARIABLES", name, _TOLD)
    for _, code in git._CODES:
        test = f"tests/test_git.py::{GIT_CODES[code]}"
        yield lost(f"git_codes.{code}", "GT-RUN-6", "_CODES", code, test)
