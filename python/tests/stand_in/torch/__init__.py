"""In the place of PyTorch, which is too large to install for tests: torch.utils.data alone, as far as
it decides what a data set of the guide meets in a worker process.
"""
