"""DataLoader with worker processes that live as those of PyTorch do.

As there: the data set is an argument of each worker's process, so that it is pickled for spawn and
forkserver, and inherited as it is by fork; a worker seeds itself, says what it is by
get_worker_info(), calls worker_init_fn, and then makes one iterator of an iterable data set, or
fetches what its queue of indices names; batches come back by one queue for all, in the order of the
indices; workers are daemons, begin anew with each iterator of the loader unless they persist, and end
by None in their queue, whether all was read or not.
"""

import collections
import itertools
import multiprocessing
import random
import traceback

_AHEAD = 2  # batches that each worker is asked for beforehand

WorkerInfo = collections.namedtuple("WorkerInfo", "id num_workers seed dataset")
_END, _ERROR, _RESUME = "end", "error", "resume"
_info = None


class Dataset:
    """Map-style: has __getitem__."""


class IterableDataset(Dataset):
    """Has __iter__."""


def get_worker_info():
    """None: this is no worker."""
    return _info


def default_collate(batch):
    if hasattr(batch[0], "__array__"):
        import numpy

        return numpy.stack(batch)
    return list(batch)


def _fetcher(dataset, collate):
    """batch(indices); StopIteration: there are no more."""
    if not isinstance(dataset, IterableDataset):
        return lambda indices: collate([dataset[i] for i in indices])
    iterator = iter(dataset)

    def some(indices):
        batch = [value for _, value in zip(indices, iterator)]
        if not batch:
            raise StopIteration
        return collate(batch)

    return some


def _work(dataset, indices, results, collate, begin, number, count, seed):
    global _info
    random.seed(seed + number)
    _info = WorkerInfo(number, count, seed + number, dataset)
    fetch = None
    try:
        if begin is not None:
            begin(number)
        fetch = _fetcher(dataset, collate)
    except Exception:
        failed = traceback.format_exc()
        fetch = None
    while (task := indices.get()) is not None:
        if task == _RESUME:  # of a worker that persists: another iterator
            fetch = _fetcher(dataset, collate)
            continue
        at, batch = task
        if fetch is None:
            results.put((at, number, _ERROR, failed))
            continue
        try:
            results.put((at, number, None, fetch(batch)))
        except StopIteration:
            results.put((at, number, _END, None))
        except Exception:
            results.put((at, number, _ERROR, traceback.format_exc()))
    results.cancel_join_thread()  # nobody reads what is left


class DataLoader:
    def __init__(
        self, dataset, batch_size=1, num_workers=0, collate_fn=None, worker_init_fn=None,
        multiprocessing_context=None, persistent_workers=False,
    ):
        assert num_workers > 0, "without workers there is nothing to stand in for"
        self.dataset = dataset
        self.batch_size = batch_size
        self.count = num_workers
        self.collate = collate_fn or default_collate
        self.begin = worker_init_fn
        self.context = multiprocessing.get_context(multiprocessing_context)
        self.persistent = persistent_workers
        self.workers = None

    def __iter__(self):
        if self.workers is None or not self.persistent:
            self.workers = _Workers(self)
        else:
            self.workers.resume()
        workers = self.workers
        try:
            yield from workers.batches(self._indices())
        finally:
            if not self.persistent:
                workers.end()

    def _indices(self):
        if isinstance(self.dataset, IterableDataset):
            while True:
                yield range(self.batch_size)
        for start in range(0, len(self.dataset), self.batch_size):
            yield list(range(start, min(start + self.batch_size, len(self.dataset))))


class _Workers:
    def __init__(self, loader):
        self.results = loader.context.Queue()
        self.queues = []
        self.processes = []
        seed = random.getrandbits(31)
        for number in range(loader.count):
            queue = loader.context.Queue()
            queue.cancel_join_thread()
            process = loader.context.Process(
                target=_work,
                args=(loader.dataset, queue, self.results, loader.collate, loader.begin, number,
                      loader.count, seed),
                daemon=True,
            )
            process.start()
            self.queues.append(queue)
            self.processes.append(process)

    def resume(self):
        for queue in self.queues:
            queue.put(_RESUME)

    def batches(self, indices):
        tasks = enumerate(indices)
        going = set(range(len(self.queues)))  # those whose data set has not ended
        turns = itertools.cycle(range(len(self.queues)))
        asked, found, shown = set(), {}, 0

        def ask():
            task = next(tasks, None) if going else None
            if task is not None:
                asked.add(task[0])
                self.queues[next(number for number in turns if number in going)].put(task)

        for _ in range(_AHEAD * len(self.queues)):
            ask()
        while shown in asked:
            while shown not in found:
                at, number, what, batch = self.results.get()
                found[at] = number, what, batch
            number, what, batch = found.pop(shown)
            shown += 1
            if what == _END:
                going.discard(number)
            ask()
            if what == _ERROR:
                raise RuntimeError(f"caught in a worker of DataLoader:\n{batch}")
            if what is None:
                yield batch

    def end(self):
        for queue in self.queues:
            queue.put(None)
        for process in self.processes:
            process.join()
            assert process.exitcode == 0, process.exitcode
