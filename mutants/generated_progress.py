"""The faults of the progress half's tables, and of the readers' one.

In: the tables, as they are imported. Out: faults. Law: as in `generated`.
"""

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum

from mutants.faults import ROOT, Fault, made
from verdict_core.progress import admission, episode, fingerprint, lines, report, scope, tree
from verdict_core.progress import verifier as verifiers
from verdict_core.readers import todo_status

_ADMISSION = "progress/admission.py"
_T = "tests/progress/test_"
_CLAUSES = "tests/test_progress_clauses.py::test_"

_ONE_CELL = "properties/test_admission_properties.py::test_progress_is_exactly_one_cell_of_72"
_GRID = f"{_T}admission.py::test_an_unchanged_workspace_leaves_what_the_grid_says"
_NEVER_ADMITS = "properties/test_admission_properties.py::test_a_changed_workspace_never_admits"
_EACH_REASON = (
    "properties/test_admission_properties.py::test_each_reason_is_given_exactly_where_it_holds"
)
_WORDS = f"{_CLAUSES}the_words_of_the_progress_half_are_those_of_the_specification"
_LARGE = f"{_CLAUSES}the_bounds_of_the_progress_half_are_those_of_the_specification"
_HIDDEN = f"{_CLAUSES}a_line_in_each_hiding_element_is_in_doubt"
_MISSING = f"{_T}report.py::test_the_items_under_missing"
_ROOT = f"{_T}scope.py::test_the_root_is_the_leading_whole_components_without_a_glob"
_HOME = "properties/test_scope_properties.py"
_HOME += "::test_the_harness_home_leaves_out_its_own_at_its_top_only"
_METADATA = f"{_CLAUSES}metadata_is_left_out_at_any_depth"
_SETTLED = "tests/test_clauses.py::test_six_words_settle_a_todo_and_no_other"

PROGRESS_BOUNDS = (
    ("progress/tree.py", "CAP", ("16 * 2**20 - 1", "16 * 2**20 + 1"), "PG-FP-5", _LARGE),
    ("progress/runs.py", "LINE_BYTES", ("(1 << 20) - 1", "(1 << 20) + 1"), "PG-ENTRY-4", _LARGE),
    ("progress/runs.py", "CLAIM_BYTES", ("255 << 10", "257 << 10"), "PG-ENTRY-4", _LARGE),
    ("progress/runs.py", "REPORT_BYTES", ("255 << 10", "257 << 10"), "PG-ENTRY-4", _LARGE),
    ("progress/runs.py", "LIST_BYTES", ("95 << 10", "97 << 10"), "PG-ENTRY-4", _LARGE),
    ("progress/verifier.py", "OUTPUT_BYTES", ("(1 << 20) - 1", "(1 << 20) + 1"), "PG-VERIFY-7",
     _LARGE),
    ("progress/lines.py", "INDENTED_COLUMNS", ("3", "5"), "PG-REPORT-6",
     f"{_CLAUSES}four_columns_are_indented_and_three_are_not"),
    ("progress/lines.py", "TAB_COLUMNS", ("3", "5"), "PG-REPORT-7",
     f"{_CLAUSES}a_tab_ends_at_the_next_column_of_four"),
    ("progress/report.py", "SAID_CHARACTERS", ("199", "201"), "PG-REPORT-14",
     f"{_T}report.py::test_what_was_said_is_joined_and_cut_for_people"),
)  # fmt: skip


def progress_faults() -> list[Fault]:
    """Every fault that these tables give."""
    return [
        *_cells(), *_changed(), *_because(), *_words(), *_lost_from_sets(), *_settled(),
    ]  # fmt: skip


def _value(target: str, name: str) -> ast.expr:
    """What a module assigns to a name."""
    tree = ast.parse((ROOT / "verdict_core" / target).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if ast.unparse(targets[0]) == name:
                return node.value
    raise ValueError(f"{target} has no {name}")


def _cells() -> Iterator[Fault]:
    """Each cell of the admission table turned into progress, and into the next other value."""
    names = ["_PROGRESS", "_COMPLETE", "_INCOMPLETE", "_BLOCKED"]
    whole = ast.unparse(_value(_ADMISSION, "UNCHANGED"))
    for row, (status, integrity) in enumerate(admission.UNCHANGED):
        for column, contract in enumerate(report.Contract):
            table = _value(_ADMISSION, "UNCHANGED")
            assert isinstance(table, ast.Dict)
            cells = table.values[row]
            assert isinstance(cells, ast.Tuple)
            is_now = ast.unparse(cells.elts[column])
            for fresh in {"_PROGRESS", names[names.index(is_now) - 1]} - {is_now}:
                cells.elts[column] = ast.Name(fresh)
                is_admitted = fresh == "_PROGRESS" or is_now == "_PROGRESS"
                yield made(
                    f"cells.{status}_{integrity}_{contract}{fresh.lower()}",
                    "PG-ADMIT-1" if is_admitted else "PG-ADMIT-2", _ADMISSION, "UNCHANGED",
                    whole, ast.unparse(table), _ONE_CELL if is_admitted else _GRID,
                )  # fmt: skip


def _changed() -> Iterator[Fault]:
    """Each part of what a changed workspace is ruled turned into each other value."""
    parts = ast.unparse(_value(_ADMISSION, "CHANGED"))
    for part in admission.CHANGED:
        for other in type(part):
            if other is not part:
                kind = type(part).__name__
                fresh = parts.replace(f"{kind}.{part.name}", f"{kind}.{other.name}")
                id = f"changed.{other}"
                yield made(id, "PG-ADMIT-3", _ADMISSION, "CHANGED", parts, fresh, _NEVER_ADMITS)


def _because() -> Iterator[Fault]:
    """Each reason that a value gives taken away."""
    table = ast.unparse(_value(_ADMISSION, "BECAUSE"))
    for value, reasons in admission.BECAUSE.items():
        if reasons:
            row = f"{type(value).__name__}.{value.name}: (Reason.{reasons[0].name},)"
            fresh = table.replace(row, row.partition(": ")[0] + ": ()")
            id = f"because.{value}"
            yield made(id, "PG-ADMIT-4", _ADMISSION, "BECAUSE", table, fresh, _EACH_REASON)


def _words() -> Iterator[Fault]:
    """Each word of a closed list spelled otherwise."""
    lists: tuple[tuple[type[StrEnum], str, str], ...] = (
        (report.Status, "progress/report.py", "PG-REPORT-1"),
        (report.Integrity, "progress/report.py", "PG-REPORT-1"),
        (report.Contract, "progress/report.py", "PG-REPORT-1"),
        (report.Reason, "progress/report.py", "PG-REASON-1"),
        (admission.Outcome, _ADMISSION, "PG-ADMIT-1"),
        (admission.Reason, _ADMISSION, "PG-REASON-1"),
        (verifiers.Reason, "progress/verifier.py", "PG-REASON-1"),
        (episode.Reason, "progress/episode.py", "PG-REASON-1"),
        (fingerprint.ChangeKind, "progress/fingerprint.py", "PG-DIFF-2"),
        (tree.Gap, "progress/tree.py", "PG-FP-6"),
    )
    for words, target, clause in lists:
        for word in words:
            before, after = repr(str(word)), repr(f"{word}_".replace(":", ":_"))
            id = f"words.{target.rpartition('/')[2][:-3]}.{words.__name__}.{word}"
            yield made(id, clause, target, words.__name__, before, after, _WORDS)


def _lost_from_sets() -> Iterator[Fault]:
    """Each member of a set, or of a list of names, lost."""
    for names, target, table, clause, test in (
        (lines.HIDING, "progress/lines.py", "HIDING", "PG-REPORT-8", _HIDDEN),
        (scope.HARNESS_DIRECTORIES, "progress/scope.py", "HARNESS_DIRECTORIES", "PG-SCOPE-8",
         _HOME),
        (sorted(scope.METADATA), "progress/scope.py", "METADATA", "PG-SCOPE-9", _METADATA),
        (sorted(report.EMPTY_ITEMS - {""}), "progress/report.py", "EMPTY_ITEMS", "PG-REPORT-11",
         _MISSING),
    ):  # fmt: skip
        yield from _lost(names, target, table, clause, test)
    for character in scope.GLOB_CHARACTERS:
        rest = "".join(sorted(scope.GLOB_CHARACTERS - {character}))
        value = ast.unparse(_value("progress/scope.py", "GLOB_CHARACTERS"))
        id, fresh = f"glob_characters.{ord(character):x}", f"frozenset({rest!r})"
        place = ("PG-SCOPE-2", "progress/scope.py", "GLOB_CHARACTERS")
        yield made(id, *place, value, fresh, _ROOT)


def _lost(names: Iterable[str], target: str, table: str, clause: str, test: str) -> Iterator[Fault]:
    for name in names:
        id = f"{table.lower()}.{name}"
        yield made(id, clause, target, table, repr(name), repr(f"{name}x"), test)


def _settled() -> Iterator[Fault]:
    """Each word that settles a todo lost: it counts as open then."""
    names = sorted(todo_status.SETTLED)
    yield from _lost(names, "readers/todo_status.py", "SETTLED", "RD-TODO-1", _SETTLED)
