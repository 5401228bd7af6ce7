"""Sparsity: weights pruned by `magnitude`; butterfly `chains`, and the layers made of them (`butterfly`)."""
