"""Runs cases of the fuzzer in processes of their own, so that a crash or a hang ends nothing else.

    python fuzz_worker.py < cases.json      # [[name, parameter, hostile], …]; a JSON line for each

Memory is limited, so that an array of 2**31 rows is refused by the system and is not the end of the
machine. `faults_of` starts such processes, one for each core, and starts another where one dies.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

GIGABYTES = 3.0  # beyond what the process has when everything is loaded
PATIENCE = 60  # seconds by the clock without an answer, after which a process is given up


class Case(NamedTuple):
    """One argument of one valid call, replaced."""

    name: str
    parameter: str
    hostile: str


def faults_of(cases: list[Case], processes: int | None = None) -> dict[Case, str]:
    """What is wrong with those cases that do not end as they should."""
    processes = processes or os.cpu_count() or 1
    # All cases of one function go to one process, which has then made what they need.
    names = list(dict.fromkeys(case.name for case in cases))
    shares = [set(names[k::processes]) for k in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        answers = pool.map(
            lambda share: _run_share([case for case in cases if case.name in share]), shares
        )
        return {case: fault for answer in answers for case, fault in answer.items() if fault}


def _run_share(cases: list[Case]) -> dict[Case, str | None]:
    answers: dict[Case, str | None] = {}
    while len(answers) < len(cases):
        waiting = cases[len(answers) :]
        answers |= _run_until_it_dies(waiting)
        if len(answers) < len(cases):
            answers[cases[len(answers)]] = "the process died or hung"
    return answers


def _run_until_it_dies(cases: list[Case]) -> dict[Case, str | None]:
    """The answers of one process, in order, as far as it came."""
    here = Path(__file__)
    # The library beside these tests, whichever is installed.
    folders = os.pathsep.join([str(here.parent), str(here.parents[2])])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": folders}
    process = subprocess.Popen(
        [sys.executable, str(here)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(cases).encode())
    process.stdin.close()
    answers: dict[Case, str | None] = {}
    while select.select([process.stdout], [], [], PATIENCE)[0]:
        line = process.stdout.readline()
        if not line:
            break
        answers[cases[len(answers)]] = json.loads(line)
    process.kill()
    process.wait()
    process.stdout.close()
    return answers


def main() -> None:
    from fuzz_calls import CALLS
    from fuzz_verdict import fault_of
    from hostile import made

    cases = [Case(*case) for case in json.load(sys.stdin)]
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp(prefix="fuzz-"))  # Some cases are valid, and write a file.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # What the library prints must not mix with the answers.
    _limit_memory()
    warm = set()
    for case in cases:
        if case.name not in warm:
            warm.add(case.name)
            CALLS[case.name]().run()  # The first call of its kind may load half a library.
        call = CALLS[case.name]()
        call.replace(case.parameter, made(case.hostile, call.valid(case.parameter)))
        answers.write(json.dumps(fault_of(call)).encode() + b"\n")


def _limit_memory() -> None:
    """On Linux; elsewhere a large array ends in an error of another kind."""
    if not os.path.exists("/proc/self/statm"):
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * os.sysconf("SC_PAGE_SIZE") + int(GIGABYTES * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
