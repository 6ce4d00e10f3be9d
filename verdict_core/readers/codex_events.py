"""What a row of a Codex record says that a summary is made of.

In: one row, as an object. Out: events. Laws: nothing that a sub-agent's record copied from its
parent is an event; what the host writes for itself is nobody's message. (SPEC RD-CX)
"""

from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from verdict_core.readers import claude_words as shell
from verdict_core.readers import codex_words as words
from verdict_core.readers import flow
from verdict_core.readers.codex_script import calls
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.session import arguments, mapping, text_of
from verdict_core.readers.todo_status import first_text, item

PLAN_TOOL = "update_plan"
_SCRIPTED = frozenset(
    {PLAN_TOOL, "request_user_input", "create_goal", "update_goal", "get_goal", "exec_command"}
)
SHELLS = frozenset({"shell", "shell_command", "container.exec", "local_shell"})
STDIN_TOOL = "write_stdin"
PATCH_TOOL = "apply_patch"
# Where a call has a script, if it is no script itself.
_SOURCES = ("source", "code", "script", "input")
_BEGINS = frozenset({"task_started", "turn_started"})
_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})


@frozen
class _Ask:
    """A question call waits for its answers: the text of each question by its id."""

    questions: dict[str, str]


@frozen
class _Commit:
    """A commit waits for its output; in that of a script only a shown commit is believed."""

    row: int
    scripted: bool


@frozen
class _Change:
    """A call that changes plan or goal waits for its result."""

    tool: str
    scripted: bool


_Waiting = _Ask | _Commit | _Change


@define
class Listener:
    """Hears row after row, and has what they say: `events` in file order, `failed` the calls that
    failed, `compactions` and `inherited` rows counted. `own` is the first row that is the session's
    own; `begun`: the first row opened the record."""

    events: list[flow.Event] = field(factory=list)
    failed: set[str] = field(factory=set)
    rows: int = 0
    own: int = 0
    begun: bool = False
    session: str | None = None
    compactions: int = 0
    inherited: int = 0
    subagent: bool = False
    notes: dict[str, str] = field(factory=dict)
    # What waits for the result of each call.
    pending: dict[str, list[_Waiting]] = field(factory=dict)
    # The terminals in which a commit is still running, so that its output can come later.
    terminals: dict[str, _Commit] = field(factory=dict)
    _meta: Mapping[str, Any] = field(factory=dict)
    _copied: bool = False
    _marked: bool = False
    _proposed: str | None = None

    def hear(self, row: Object) -> None:
        """Takes one row of the record. (SPEC RD-CX-1)"""
        number, self.rows = self.rows, self.rows + 1
        kind, payload = row.get("type"), row.get("payload")
        if not isinstance(payload, dict):
            # Records of 2025 have the items themselves as rows.
            kind, payload = ("session_meta" if "type" not in row else "response_item"), row
        if kind == "session_meta":
            self._open(number, payload)
        elif self._is_inherited(row):
            self.inherited += 1
        elif kind == "response_item":
            self._item(number, payload, row)
        elif kind == "event_msg":
            self._event(number, payload)
        elif kind == "compacted":
            self.compactions += 1
        elif kind == "retained_context":
            self._retained(number, payload)

    @property
    def in_parent(self) -> bool:
        """Rows so far are a copy of the parent's, until a result says that they are over."""
        forked = self._meta.get("forked_from_id") is not None
        return self.subagent and forked and self._start is None and not self._marked

    @property
    def based(self) -> bool:
        """The history before the first row stands in another record, or nowhere.
        (SPEC RD-CX-6)"""
        if self.subagent or self._meta.get("forked_from_id") is None:
            return False
        return self._meta.get("history_base") is not None or not self._copied

    @property
    def _start(self) -> int | None:
        start = self._meta.get("subagent_history_start_ordinal")
        return start if isinstance(start, int) else None

    def _open(self, number: int, meta: Mapping[str, Any]) -> None:
        if self._meta:
            # A session that is taken up again, or the parent's own head.
            self._copied = self._copied or meta.get("id") == self._meta.get("forked_from_id")
            return
        self._meta, self.begun = meta, number == 0
        name = meta.get("id")
        self.session = name if isinstance(name, str) else None
        source = meta.get("source")
        self.subagent = isinstance(source, dict) and "subagent" in source

    def _is_inherited(self, row: Object) -> bool:
        ordinal = row.get("ordinal")
        if self._start is None or not isinstance(ordinal, int) or ordinal >= self._start:
            return False
        self.own = self.rows
        return True

    # --- events

    def _event(self, number: int, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind in _BEGINS or kind in _ENDS:
            self.events.append(flow.Turn(number, begins=kind in _BEGINS))
        elif kind == "user_message":
            self._say(number, text_of(payload.get("message")), payload)
        elif kind == "item_completed":
            self._completed(number, mapping(payload.get("item")))
        elif kind == "thread_goal_updated":
            self._aim(number, payload.get("goal"))
        elif kind == "thread_goal_cleared":
            self.events.append(flow.Goal(number, None))
        elif kind == "thread_rolled_back":
            turns = payload.get("num_turns")
            turns = turns if isinstance(turns, int) else 0
            self.events.append(flow.RolledBack(number, turns))
            self.notes["rolled_back"] = "messages were taken back: what followed them is left out"

    def _completed(self, number: int, done: Mapping[str, Any]) -> None:
        if done.get("type") == "UserMessage":
            self._say(number, text_of(done.get("content")), done)
        elif done.get("type") == "Plan":
            self._proposed = text_of(done.get("text"))

    def _aim(self, number: int, goal: Any) -> None:
        if isinstance(goal, dict):
            self.events.append(flow.Goal(number, goal))
        else:
            self.events.append(flow.Doubt(number, "bad_goal", "a goal cannot be read"))

    def _say(self, number: int, text: str, source: Mapping[str, Any], *, sure: bool = True) -> None:
        pictures = bool(source.get("images") or source.get("local_images"))
        if words.is_hosts(text) and not (pictures and not text.strip()):
            return
        plan = None
        if text.startswith(words.HANDED_PLAN):
            plan = item(text.partition("\n")[2])
        elif text.strip() == words.IMPLEMENT and self._proposed is not None:
            plan = item(self._proposed)
            # The same message stands in the record twice, and in doubt first.
            self._proposed = None if sure else self._proposed
        self.events.append(flow.Said(number, text, sure, plan))

    def _retained(self, number: int, payload: Mapping[str, Any]) -> None:
        """Answers that the host keeps; those of a call that was heard come with its result."""
        if payload.get("type") != "verified_answer" or payload.get("call_id") in self.pending:
            return
        given = payload.get("questions")
        found: dict[str, str] = {}
        for one in given if isinstance(given, list) else ():
            question, answer = mapping(one).get("question"), mapping(one).get("answer")
            if isinstance(question, str) and isinstance(answer, str) and answer.strip():
                # Behind the question stand its options, one a line.
                found[item(question.partition("\n")[0])] = answer
        if found:
            self.events.append(flow.Answered(number, found))

    # --- items

    def _item(self, number: int, payload: Mapping[str, Any], row: Object) -> None:
        kind = str(payload.get("type"))
        if kind == "message":
            self._message(number, payload, row)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            flow.add_work(self.events, flow.Work.CALL)
            self._call(number, kind, payload)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            flow.add_work(self.events, flow.Work.REST)
            self._result(number, payload)
        elif kind.endswith("_call") or kind == "reasoning":
            work = flow.Work.REST if kind == "reasoning" else flow.Work.CALL
            flow.add_work(self.events, work)

    def _message(self, number: int, payload: Mapping[str, Any], row: Object) -> None:
        text = text_of(payload.get("content"))
        if payload.get("role") == "user":
            blocks = payload.get("content")
            texts = [text_of([one]) for one in blocks] if isinstance(blocks, list) else [text]
            said = [text for text in texts if not words.is_hosts(text)]
            if said and _is_persons(payload):
                self._say(number, "\n".join(said), payload, sure=False)
        elif payload.get("role") == "assistant":
            if mapping(row.get("metadata")).get("compaction_output") is True:
                return
            self._proposed = words.proposed(text) or self._proposed
            final = payload.get("phase") == "final_answer"
            self.events.append(flow.Answer(text if shell.asks(text) else None, final))

    def _call(self, number: int, kind: str, payload: Mapping[str, Any]) -> None:
        call, name = str(payload.get("call_id")), str(payload.get("name"))
        given = arguments(payload.get("arguments"))
        if kind == "local_shell_call":
            self._command(number, call, payload.get("action"))
        elif kind == "custom_tool_call":
            if name != PATCH_TOOL:
                self._script(number, call, payload.get("input"))
        elif name in _SCRIPTED:
            self._tool(number, call, name, given)
        elif name in SHELLS:
            self._command(number, call, given)
        elif name == STDIN_TOOL:
            commit = self.terminals.get(str(mapping(given).get("session_id")))
            if commit is not None:
                self._wait(call, commit)
        else:
            for key in _SOURCES:
                self._script(number, call, mapping(given).get(key))

    def _script(self, number: int, call: str, script: Any) -> None:
        """What a script calls counts as called, one after the other. (SPEC RD-CX-4)"""
        if isinstance(script, str):
            for one in calls(script, _SCRIPTED):
                self._tool(number, call, one.tool, one.given, scripted=True)

    def _tool(
        self, number: int, call: str, tool: str, given: Any, *, scripted: bool = False
    ) -> None:
        given = mapping(given)
        match tool:
            case "exec_command":
                self._command(number, call, given, scripted=scripted)
                return
            case "request_user_input":
                self._ask(number, call, given, scripted=scripted)
                return
            case "update_plan":
                self.events.append(flow.Listed(number, given.get("plan"), call))
            case "create_goal":
                goal = {"objective": given.get("objective"), "status": "active"}
                self.events.append(flow.Goal(number, goal, call))
            case "update_goal" if scripted:
                # The result of a script says nothing of the goal's new state.
                self.events.append(flow.Goal(number, {"status": given.get("status")}, call))
        self._wait(call, _Change(tool, scripted))

    def _wait(self, call: str, thing: _Waiting) -> None:
        self.pending.setdefault(call, []).append(thing)

    def _ask(self, number: int, call: str, given: Mapping[str, Any], *, scripted: bool) -> None:
        asked = given.get("questions")
        listed = asked if isinstance(asked, list) and asked else [given]
        texts = {
            str(mapping(one).get("id", place)): first_text(mapping(one), ("question", "header"))
            for place, one in enumerate(listed)
        }
        self.events.append(flow.Asked(number, tuple(texts.values())))
        if not scripted:
            # What a script was answered stands in a row of its own.
            self._wait(call, _Ask(texts))

    def _command(self, number: int, call: str, given: Any, *, scripted: bool = False) -> None:
        command = words.command_of(given)
        if not shell.commits(command):
            return
        if shell.makes_repository(command):
            self.notes["scratch_commit"] = (
                "a commit into a repository made by the same command settles nothing"
            )
            return
        self._wait(call, _Commit(number, scripted))

    # --- results

    def _result(self, number: int, payload: Mapping[str, Any]) -> None:
        output = text_of(payload.get("output"))
        if self.in_parent and output.startswith(words.NEWLY_SPAWNED):
            self._leave_parent(number)
            return
        call = str(payload.get("call_id"))
        for thing in self.pending.pop(call, ()):
            match thing:
                case _Ask():
                    found = words.answers(output, thing.questions)
                    if found:
                        self.events.append(flow.Answered(number, found))
                case _Commit():
                    self._committed(thing, output)
                case _:
                    self._changed(number, call, thing, output)

    def _leave_parent(self, number: int) -> None:
        self.events.clear()
        self.pending.clear()
        self.terminals.clear()
        self._proposed = None
        self._marked, self.own, self.inherited = True, number + 1, number + 1

    def _changed(self, number: int, call: str, change: _Change, output: str) -> None:
        if change.scripted:
            if words.script_failed(output):
                text = "a script failed that wrote todos: they may be written or not"
                self.events.append(flow.Doubt(number, "script_failed", text))
            return
        state = arguments(output)
        if change.tool == PLAN_TOOL:
            if words.plan_failed(output):
                self.failed.add(call)
        elif state is not None and "goal" in state:
            goal = state["goal"]
            self.events.append(flow.Goal(number, goal if isinstance(goal, dict) else None))
        else:
            self.failed.add(call)

    def _committed(self, commit: _Commit, output: str) -> None:
        terminal = words.running_session(output)
        if terminal is not None:
            self.terminals[terminal] = commit
        elif words.exit_code(output) is not None:
            self.terminals = {t: c for t, c in self.terminals.items() if c is not commit}
        over = words.exit_code(output) == 0 and not commit.scripted
        if shell.committed(output, over=over):
            self.events.append(flow.Committed(commit.row))


def _is_persons(payload: Mapping[str, Any]) -> bool:
    """Whether a user row can be the person's; newer hosts say what each part of it is."""
    kinds = mapping(payload.get("internal_chat_message_metadata_passthrough")).get(
        "content_item_kinds"
    )
    if not isinstance(kinds, list):
        return True
    return any(str(kind).startswith("user.") for kind in kinds)
