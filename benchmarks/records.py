"""Reading a session record of 100 MB, beside orjson.loads of its every line; time and memory.

In: nothing. Out: lines of the table; `python -m benchmarks.records` prints these alone. The records
are made of the shapes of real ones (tests/data): their rows again and again, each time with ids of
its own, and prose of the usual lengths where they have a token.
"""

import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.rows import HEAD
from verdict_core.readers import claude_code, codex

SIZE = 100_000_000
ROUNDS = 7
GOAL = 0.6
MEMORY_MB = 100
DATA = Path(__file__).parent.parent / "tests" / "data"
# Characters of prose where a real session has a token, by the name of the member; outputs of tools
# and patches make most of a record.
LENGTHS = {
    "output": 5000, "aggregated_output": 4000, "stdout": 3000, "content": 3000, "input": 2500,
    "thinking": 1200, "signature": 900, "encrypted_content": 1500, "text": 500, "message": 500,
    "formatted_output": 4000, "originalFile": 9000, "file_text": 2500, "new_string": 600,
    "old_string": 400,
}  # fmt: skip
_OTHER = 80
# What the skeletons leave out of rows, put back as the programs write it (a token is prose).
_PROSE = "text 0123456789"
_USAGE = {"input_tokens": 4312345, "cached_input_tokens": 4100224, "output_tokens": 20123,
          "reasoning_output_tokens": 9981, "total_tokens": 4332468}  # fmt: skip
_WINDOW = {"used_percent": 17.0, "window_minutes": 300, "resets_at": 1796062340}
LEFT_OUT: dict[str, dict[str, Any]] = {
    "token_count": {
        "info": {"total_token_usage": _USAGE, "last_token_usage": _USAGE,
                 "model_context_window": 258400},
        "rate_limits": {"limit_id": "codex", "limit_name": None, "primary": _WINDOW,
                        "secondary": _WINDOW, "credits": None, "plan_type": "plus"},
    },
    "reasoning": {"content": None, "encrypted_content": _PROSE},
    "exec_command_end": {"parsed_cmd": [{"type": "unknown", "cmd": _PROSE}], "stdout": _PROSE,
                         "stderr": "", "formatted_output": _PROSE},
}  # fmt: skip
_TOKEN = re.compile(r"text [0-9a-f]{10}")
_ID = re.compile(r"[0-9a-f]{8}(?=-[0-9a-f]{4}-)|(?<=toolu_)\w{8}|(?<=call_)\w{8}|(?<=msg_)\w{8}")
_RECORDS = {
    "Codex": ("codex", ["cx-2a89b5a8", "cx-7099a0a2"]),
    "Claude Code": ("records", ["cc-78412207", "cc-538148ce", "cc-2fd9c031"]),
}
_READERS: dict[str, Callable[..., object]] = {"Codex": codex.read, "Claude Code": claude_code.read}
_PEAK = """\
import sys
from pathlib import Path
from verdict_core.readers import claude_code, codex
{"Codex": codex, "Claude Code": claude_code}[sys.argv[1]].read(Path(sys.argv[2]), named=True)
peak = next(row for row in open("/proc/self/status") if row.startswith("VmHWM:"))
print(peak.split()[1])
"""


def make(harness: str, path: Path, size: int = SIZE) -> None:
    """Writes a record of about so many bytes."""
    chance = random.Random(5)
    source = Path(codex.__file__).parent.glob("*.py")
    prose = "".join(file.read_text(encoding="utf-8") for file in sorted(source))
    folder, names = _RECORDS[harness]
    files = [(DATA / folder / f"{name}.jsonl").read_bytes().splitlines() for name in names]
    rows = [orjson.loads(line) for lines in files for line in lines]
    for row in rows:
        payload = row.get("payload", {})
        payload.update(LEFT_OUT.get(str(payload.get("type")), {}))
    small = _small_calls(rows)
    last, written, again = None, 0, 0
    with open(path, "wb") as out:
        while written < size:
            for row in rows:
                if again and row.get("type") == "session_meta":
                    continue
                short = any(call in str(row.get("message")) for call in small)
                told = _told(row, "", prose[:_OTHER] if short else prose, chance)
                text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
                line = _renamed(text, again)
                if last and line.startswith('{"parentUuid":null'):
                    line = f'{{"parentUuid":"{last}"' + line[len('{"parentUuid":null') :]
                found = re.search(r'"uuid":"([^"]{36})"', line)
                last = found[1] if found else last
                written += out.write(line.encode() + b"\n")
            again += 1


def _small_calls(rows: list[dict[str, Any]]) -> set[str]:
    """The calls of tools whose results are a line: those that keep todos."""
    blocks = (
        block
        for row in rows
        if row.get("type") == "assistant" and isinstance(row["message"].get("content"), list)
        for block in row["message"]["content"]
    )
    return {
        str(block["id"])
        for block in blocks
        if str(block.get("name")).startswith(("Task", "Todo")) and block["name"] != "Task"
    }


def _told(value: Any, name: str, prose: str, chance: random.Random) -> Any:
    """With prose for each token."""
    if isinstance(value, dict):
        return {key: _told(inner, key, prose, chance) for key, inner in value.items()}
    if isinstance(value, list):
        return [_told(inner, name, prose, chance) for inner in value]
    if name == "arguments" and isinstance(value, str):
        return json.dumps(_told(json.loads(value), "", prose, chance))
    if not isinstance(value, str) or not _TOKEN.search(value):
        return value
    length = int(chance.expovariate(1 / LENGTHS.get(name, _OTHER)))
    start = chance.randrange(len(prose) - length) if length < len(prose) else 0
    return value + " " + prose[start : start + length] + ("?" if value.endswith("?") else ".")


def _renamed(line: str, again: int) -> str:
    return _ID.sub(lambda found: found[0][:4] + f"{again:04x}", line) if again else line


def lines() -> Iterator[str]:
    """For each harness a line for time and one for memory."""
    with tempfile.TemporaryDirectory() as place:
        for harness, read in _READERS.items():
            path = Path(place, "record.jsonl")
            make(harness, path)
            yield _time(harness, read, path)
            yield _memory(harness, path)


def _time(harness: str, read: Callable[..., object], path: Path) -> str:
    works: dict[str, Callable[[], object]] = {
        "": lambda: _parse(orjson.loads, path),
        "json": lambda: _parse(json.loads, path),
        "ours": lambda: read(path, named=True),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    ratios = {
        name: statistics.median(a / b for a, b in zip(times[name], times[""], strict=True))
        for name in works
    }
    met = "met" if ratios["ours"] <= GOAL else "MISSED"
    limit = statistics.median(times[""]) * 1e3
    size = path.stat().st_size / 1e6
    return (
        f"| a {harness} record of {size:.0f} MB | orjson.loads of every line, {limit:.0f} ms"
        f" | json.loads {ratios['json']:.1f} | {ratios['ours']:.2f} | {GOAL} | {met} |"
    )


def _parse(loads: Callable[[bytes], object], path: Path) -> None:
    with open(path, "rb") as stream:
        for line in stream:
            loads(line)


def _memory(harness: str, path: Path) -> str:
    command = [sys.executable, "-c", _PEAK, harness, str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    peak = int(done.stdout) / 1024
    met = "met" if peak <= MEMORY_MB else "MISSED"
    return (
        f"| a {harness} record, most memory | {MEMORY_MB} MB | - | {peak:.0f} MB | {MEMORY_MB} MB"
        f" | {met} |"
    )


def main() -> None:
    print(HEAD)
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
