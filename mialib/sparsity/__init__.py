"""Sparsity: weights that are pruned by `magnitude`, or that are products of sparse factors.

`chains` says which factors make a matrix, and `butterfly` makes layers of them.
"""
