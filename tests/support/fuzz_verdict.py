"""One case of the fuzzer: a valid call with one argument replaced, and how it ends.

The rule. A case is good if within a second of processor time it ends

- in an answer, or
- in a sentence: an exception that a `raise` statement of mialib's own raised, whose message has at
  least three words; or what the system says of a file that it names ("No such file or directory").

Anything else is a fault: an error that a third package or the interpreter raised on the way
(`'NoneType' object has no attribute …`), a bare message, a crash, a hang.
"""

import dis
import inspect
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import mialib

HOME = Path(mialib.__file__).parent
SECONDS = 1.0  # of processor time, so that a busy machine changes nothing

Bound = inspect.BoundArguments


class Call:
    """A function and the arguments of a valid call of it, defaults included."""

    def __init__(self, function: Callable, /, *arguments, **named):
        self.function = function
        self.bound = inspect.signature(function).bind(*arguments, **named)
        self.bound.apply_defaults()

    def parameters(self) -> list[str]:
        """What can be replaced; of `**settings` each one that the valid call gives."""
        names = []
        for name, parameter in self.bound.signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                names += self.bound.arguments[name]
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                names.append(name)
        return names

    def valid(self, name: str) -> object:
        """What the valid call has for this parameter."""
        for parameter in self.bound.signature.parameters.values():
            many = parameter.kind is parameter.VAR_KEYWORD
            if many and name in self.bound.arguments[parameter.name]:
                return self.bound.arguments[parameter.name][name]
        return self.bound.arguments[name]

    def replace(self, name: str, value: object) -> None:
        for parameter in self.bound.signature.parameters.values():
            many = parameter.kind is parameter.VAR_KEYWORD
            if many and name in self.bound.arguments[parameter.name]:
                self.bound.arguments[parameter.name][name] = value
                return
        self.bound.arguments[name] = value

    def run(self) -> object:
        answer = self.function(*self.bound.args, **self.bound.kwargs)
        # What comes in pieces is an answer once it has been asked for.
        if hasattr(answer, "__enter__") and hasattr(answer, "gen"):
            with answer:
                return answer
        if inspect.isgenerator(answer):
            for _, piece in zip(range(3), answer, strict=False):
                del piece
        return answer


class TooLong(BaseException):
    """The time is over."""


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """Raise TooLong in the running code after this much processor time."""

    def bark(number, frame):
        raise TooLong

    before = signal.signal(signal.SIGPROF, bark)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def alarm(seconds: int = 20) -> Iterator[None]:
    """Raise TooLong after so long by the clock: who waits uses no processor time."""

    def ring(number, frame):
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fault_of(call: Call) -> str | None:
    """What is wrong with how the call ends; None if it ends as it should."""
    try:
        with watchdog(SECONDS):
            call.run()
    except TooLong:
        return f"took more than {SECONDS:.0f} s"
    except Exception as error:
        return fault_of_error(error)
    return None


def fault_of_error(error: Exception) -> str | None:
    """None if the exception is a sentence of mialib's own."""
    last = innermost(error.__traceback__)
    place = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
    told = f"{type(error).__name__} at {place}: {str(error)[:160]!r}"
    if isinstance(error, OSError) and error.filename is not None:
        return None
    if not Path(last.tb_frame.f_code.co_filename).is_relative_to(HOME):
        return f"not raised by mialib: {told}, {last_own_line(error.__traceback__)}"
    if not is_at_a_raise(last):
        return f"not raised on purpose: {told}"
    if len(re.findall(r"[^\W\d]{2,}", str(error))) < 3:
        return f"not a sentence: {told}"
    return None


def innermost(traceback: TracebackType) -> TracebackType:
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def last_own_line(traceback: TracebackType) -> str:
    """The last line of mialib on the way to an error elsewhere."""
    place = "from outside"
    while traceback is not None:
        path = Path(traceback.tb_frame.f_code.co_filename)
        if path.is_relative_to(HOME):
            place = f"from {path.relative_to(HOME.parent)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def is_at_a_raise(traceback: TracebackType) -> bool:
    """Whether the frame stopped at a `raise` statement, not in the middle of some expression."""
    code = traceback.tb_frame.f_code
    at = [one.opname for one in dis.get_instructions(code) if one.offset == traceback.tb_lasti]
    return at == ["RAISE_VARARGS"]
