#!/usr/bin/env python3
"""A training run that keeps its checkpoints in a pool: weights, their description and the name of
the latest one change together or not at all, and two of six drives may go.

    python3 training.py DIRECTORY      makes its pool there: six files of 64 MiB and a fast tier
"""

import array
import asyncio
import json
import os
import sys

import hexad


def save(store, run, epoch, weights):
    """One transaction: whoever reads sees this checkpoint whole, or the one before."""
    name = f"{run}/{epoch:04}"
    with store.transaction() as t:
        t.put(f"{name}/weights", weights, hint="incompressible")
        t.put(f"{name}/meta.json", json.dumps({"epoch": epoch}).encode(), hint="compressible")
        t.put(f"{run}/latest", name.encode())
    return t.version


def load(store, run):
    name = store.get(f"{run}/latest").decode()
    weights = store.get_view(f"{name}/weights").cast("f")  # no copy
    return json.loads(store.get(f"{name}/meta.json")), weights


async def record_samples(store):
    """Many small objects at once: they share the flushes of the drives."""
    await asyncio.gather(
        *(store.put_async(f"samples/{i:05}", os.urandom(200)) for i in range(1000))
    )


def main(directory):
    hexad.format(directory, devices=6, size="64 MiB", preset="tiny")
    with hexad.open(directory) as store:
        for epoch in range(3):
            version = save(store, "run7", epoch, array.array("f", [epoch / 2]) * 500_000)
        print(f"three checkpoints are durable as of LSN {version}")
        asyncio.run(record_samples(store))

    for lost in (1, 4):
        os.remove(os.path.join(directory, f"drive{lost}"))

    with hexad.open(directory, read_only=True) as store:
        print(f"without two drives: survives the loss of {store.status()['faults_tolerated']} more")
        meta, weights = load(store, "run7")
        print(f"epoch {meta['epoch']}: {len(weights)} weights of {weights[0]}")
        print(f"{sum(1 for _ in store.iterate('samples/'))} samples")
        del weights


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    try:
        main(sys.argv[1])
    except hexad.Error as error:
        # The message says what failed, the hint what to do next.
        sys.exit(f"training: {error}")
