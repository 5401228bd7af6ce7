"""Is everything here? `python -m mialib.doctor` says so, and `require()` asks in a notebook's set-up cell.

The doctor looks after the course's packages, and so it lives with the lessons, in `lessonlib.doctor`."""

from lessonlib.doctor import main, require

__all__ = ["main", "require"]

if __name__ == "__main__":
    raise SystemExit(main())
