"""How a row is measured: limit, peers and ours in turn, many rounds, medians, as ratios.

In: callables. Out: lines of a table. Law: absolute times of a shared machine are no result; only
what was measured in the same rounds is compared.
"""

import statistics
import time
from collections.abc import Callable, Mapping

from attrs import frozen

Work = Callable[[], object]


@frozen
class Row:
    """`goal` is the largest ratio of ours to the limit that is good enough."""

    name: str
    limit: tuple[str, Work]
    ours: Work
    goal: float
    peers: Mapping[str, Work] = {}
    number: int = 200
    rounds: int = 25


def measure(row: Row) -> str:
    """One line: the limit's time, peers and ours as multiples of it, and whether the goal is met.

    The ratio of each round is taken on its own, and the median of these is reported: a slow
    moment of the machine then slows both sides of a ratio.
    """
    works = {"": row.limit[1], "ours": row.ours, **row.peers}
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(row.rounds):
        for name, work in works.items():
            start = time.process_time_ns()
            for _ in range(row.number):
                work()
            times[name].append((time.process_time_ns() - start) / row.number)
    ratios = {
        name: statistics.median(
            mine / limit for mine, limit in zip(times[name], times[""], strict=True)
        )
        for name in works
    }
    met = "met" if ratios["ours"] <= row.goal else "MISSED"
    peers = ", ".join(f"{name} {ratios[name]:.1f}" for name in row.peers) or "-"
    limit = statistics.median(times[""]) / 1e3
    return (
        f"| {row.name} | {row.limit[0]}, {limit:.2f} us | {peers} | {ratios['ours']:.2f}"
        f" | {row.goal} | {met} |"
    )


HEAD = "| work | limit (1.0) | peers | ours | goal | |\n|---|---|---|---|---|---|"
