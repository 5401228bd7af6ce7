"""Run a small plan in processes that are killed again and again: killed_plan.py HOME KILLS."""

import os
import random
import signal
import sys
import time
from pathlib import Path

from mialib.experiments import running
from mialib.store import Store
from small_results import tiny_plan

SEEDS = 4


def work(home: Path) -> None:
    plan = tiny_plan()
    store = Store(home / "runs")
    planned = plan.rows(seeds=SEEDS)
    todo = running.missing(plan, planned, store)
    running.make_all(plan, todo, store, jobs=1)
    running.gather(plan, planned, store).save(home / "results.npz")


def main(home: Path, kills: int) -> None:
    rng = random.Random(0)
    killed = 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            work(home)
            os._exit(0)
        time.sleep(rng.uniform(0.02, 0.4))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
    work(home)
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
