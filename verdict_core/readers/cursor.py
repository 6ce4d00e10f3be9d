"""A Cursor session record, read into questions and next steps.

In: the path of a transcript as JSON Lines. Out: a `Reading`. Laws: the record holds no todo state,
so todos are unknown, not empty; nor has it a form for decisions. (SPEC RD-FMT-6)
"""

from pathlib import Path

from attrs import define

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import mapping, opened, text_of
from verdict_core.readers.turns import Turns

READER = "cursor"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. (SPEC RD-FMT-6)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    record = turns.plain(path, _Log(unread={"todos", "decisions"}))
    record.hear()
    return turns.finish(READER, record)


@define
class _Log(Turns):
    def hear(self, row: Object) -> None:
        """Takes one row of the record."""
        self.step()
        content = mapping(row.get("message")).get("content")
        says = self.said if row.get("role") == "user" else self.spoke
        for block in content if isinstance(content, list) else [content]:
            text = text_of(block)
            if mapping(block).get("type", "text") != "text":
                self.worked()
            elif text.strip():
                says(text)
