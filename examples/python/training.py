#!/usr/bin/env python3
"""A training run that survives being killed at any moment, and the loss of two drives of six.

    python3 training.py DIRECTORY [--steps N]      the pool, and the run, in DIRECTORY

The state of a run is several large arrays, their description and the name of the latest
checkpoint. They change together or not at all, so whoever starts the program again goes on from
the last whole checkpoint, and ends with the same weights as a run that nobody killed.

The arrays are NumPy's; where PyTorch is installed the same bytes come back as tensors, too.
"""

import argparse
import hashlib
import json
import os
import sys

import hexad
import numpy as np

RUN = "run7"
SIZE = 300_000  # numbers in each array
KEEP = 2  # checkpoints


def begin():
    """Weights and momentum before the first step, and the step."""
    return {"weights": np.zeros(SIZE, "f4"), "momentum": np.zeros(SIZE, "f4")}, 0


def train(state, step):
    """One step; a stand-in for the real thing that depends on nothing but its arguments."""
    gradient = state["weights"] - np.random.default_rng(step).standard_normal(SIZE, "f4")
    state["momentum"] = np.float32(0.9) * state["momentum"] + gradient
    state["weights"] = state["weights"] - np.float32(0.1) * state["momentum"]


def digest(array):
    return hashlib.sha256(array).hexdigest()


def save(store, state, step):
    """One transaction: the arrays, what describes them, `latest`, and the end of an old one."""
    name = f"{RUN}/{step:06}"
    about = {"step": step, "sha256": {key: digest(array) for key, array in state.items()}}
    with store.transaction() as t:
        for key, array in state.items():
            # Not copied: nothing changes the arrays before the block ends.
            t.put(f"{name}/{key}", array, hint="incompressible", borrow=True)
        t.put(f"{name}/about.json", json.dumps(about).encode())
        t.put(f"{RUN}/latest", name.encode())
        old = f"{RUN}/{step - KEEP:06}"
        t.remove_range(f"{old}/", f"{old}0")  # "0" is what follows "/"
    # Durable from here on.


def load(store):
    """The latest checkpoint, or the beginning."""
    latest = store.get_many([f"{RUN}/latest"], default=None)[0]
    if latest is None:
        return begin()
    name = latest.decode()
    about = json.loads(store.get(f"{name}/about.json"))
    state = {}
    for key, expected in about["sha256"].items():
        state[key] = np.frombuffer(store.get_view(f"{name}/{key}"), "f4")  # no copy
        if digest(state[key]) != expected:
            sys.exit(f"training: {name}/{key} is not what was saved")
    return state, about["step"]


def as_tensors(state):
    """For PyTorch, where it is installed; copies, as tensors may be written to."""
    try:
        import torch
    except ImportError:
        return None
    return {key: torch.from_numpy(array.copy()) for key, array in state.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.directory, "hexad.pool")):
        hexad.format(options.directory, devices=6, size="128 MiB", preset="tiny")
    with hexad.open(options.directory) as store:
        state, step = load(store)
        print(f"from step {step}", flush=True)
        while step < options.steps:
            train(state, step)
            step += 1
            save(store, state, step)
            print(f"step {step} is durable", flush=True)
        tensors = as_tensors(state)
        if tensors is not None:
            print(f"PyTorch sees a norm of {float(tensors['weights'].norm()):.3f}")
        print(f"weights {digest(state['weights'])}")


if __name__ == "__main__":
    try:
        main()
    except (hexad.Error, OSError) as error:
        # The message says what failed, the hint what to do next.
        sys.exit(f"training: {error}")
