"""One request of each operation, small and always the same.

Out: the members of a request by operation. They are the examples of SPEC.md, and what a check sends
that needs any request at all. (SPEC CF-PROTO)
"""

import json
from collections.abc import Mapping
from typing import Any

_SUMMARY = (
    '{"session": "s", "todos": ["x"], "uncommitted": [], "questions": [], "decisions": [],'
    ' "next_steps": [], "unknown": []}'
)
_EMPTY = _SUMMARY.replace('"x"', "")
_STATE = {
    "text": 'verdict-core state 1\nsession: "s"\ntodos: 1\n- "x"\nuncommitted: 0\nquestions: 0\n'
    "decisions: 0\nnext_steps: 0\nrisk_hints: count=1 open=todos unknown=-",
    "digest": "sha256:7fefb2ed155d57f385d515ac8d8020bf365c45628ff722670e29d988d46e72d4",
    "count": 1,
    "unknown": [],
    "risk_hints": "count=1 open=todos unknown=-",
}
_TIMEOUT: Mapping[str, Any] = {"detail": "timeout"}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "build": {"document": _SUMMARY, "max_chars": "16000"},
    "judge": {
        "document": f'{{"summary": {_SUMMARY}, "state": {json.dumps(_STATE)}}}',
        "wait_min": "3",
        "safe_max": None,
        "service": [{"answer": '{"choice": "wait", "score": 0.5}'}],
    },
    "request": {
        "document": '{"question": "q", "options": ["safe_to_compact", "wait", "preserve_first"],'
        ' "scale": {"min": 0, "max": 1}, "state": "s"}'
    },
    "answer": {"document": '{"choice": "wait", "score": "0.9"}'},
    "forbidden": {"document": '{"outer": [{"per_block": 1}]}'},
    "verify": {
        "document": f'{{"id": "1", "label": "lost", "summary": {_SUMMARY}}}\n'
        f'{{"id": "2", "label": "keep", "summary": {_EMPTY}}}\n',
        "wait_min": "3",
        "max_chars": "16000",
        "service": [_TIMEOUT],
    },
    "read_report": {
        "document": "Status: complete\nIntegrity: clean\n> Contract audit: aligned\n",
        "claim": None,
    },
    "admit": {"status": "complete", "integrity": "clean", "contract": "aligned", "changed": True},
    "scope": {
        "scope": "src/../..",
        "workspace": "/",
        "ignores": ["out/"],
        "state_dir": None,
        "harness_home": None,
    },
    "fold": {"document": "no entry\n"},
    "chain": {"document": "no entry\n", "state": {"number": 1, "hash": "0" * 64}},
}
