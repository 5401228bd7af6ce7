"""How fast the library is, as ratios whose two sides are measured in one run: `make bench`.

    python -m bench                 # everything, from the folder tools/ (about ten minutes)
    python -m bench data attacks    # some of the groups

A ratio compares two pieces of work on the same arrays by turns, so a slow or shared machine moves
both. `timing` measures and prints; each other module is a group of rows.
"""
