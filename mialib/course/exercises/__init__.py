"""The self-checks of the exercises, by lesson; `check` says how one works."""
