"""The eight patterns of the comparison of storage for Kubernetes, as fio is told them, and the table.

They are those of benchmarks/jobs/eight_patterns.job, there for `hexad bench run`.
"""

import json

# Name, what it is called in the table, and what fio gets beside --direct=1 and --runtime.
PATTERNS = [
    ("randwrite_fsync", "4 KiB random write, fsync, 1 in flight",
     ["--rw=randwrite", "--bs=4k", "--numjobs=1", "--iodepth=1", "--fsync=1"]),
    ("randwrite", "4 KiB random write, 128 in flight",
     ["--rw=randwrite", "--bs=4k", "--numjobs=1", "--iodepth=128"]),
    ("randwrite_jobs4", "4 KiB random write, 4 x 128 in flight",
     ["--rw=randwrite", "--bs=4k", "--numjobs=4", "--iodepth=128"]),
    ("write", "4 MiB write, 16 in flight",
     ["--rw=write", "--bs=4m", "--numjobs=1", "--iodepth=16"]),
    ("randread_fsync", "4 KiB random read, 1 in flight",
     ["--rw=randread", "--bs=4k", "--numjobs=1", "--iodepth=1", "--fsync=1"]),
    ("randread", "4 KiB random read, 128 in flight",
     ["--rw=randread", "--bs=4k", "--numjobs=1", "--iodepth=128"]),
    ("randread_jobs4", "4 KiB random read, 4 x 128 in flight",
     ["--rw=randread", "--bs=4k", "--numjobs=4", "--iodepth=128"]),
    ("read", "4 MiB read, 16 in flight",
     ["--rw=read", "--bs=4m", "--numjobs=1", "--iodepth=16"]),
]


def figures(output):
    """(operations/s, bytes/s, bytes) of fio's --output-format=json, with --group_reporting."""
    job = json.loads(output[output.index("{") :])["jobs"][0]
    if job["error"] != 0:
        raise ValueError(f"fio's job ended with error {job['error']}")
    side = max((job["read"], job["write"]), key=lambda one: one["io_bytes"])
    return side["iops"], side["bw_bytes"], side["io_bytes"]


def rate(row, of):
    """Large requests are counted in bytes, small ones by number."""
    operations, bytes_per_second = row[of]
    if "--bs=4m" in row["arguments"]:
        return f"{bytes_per_second / 1e6:,.0f} MB/s"
    return f"{operations:,.0f} IOPS"


def amount(count):
    return f"{count / 1e6:,.1f} MB"


def table(rows):
    """Markdown. A row: what, arguments, hexad and file (operations/s, bytes/s), user bytes that
    were written or 0, and device bytes that hexad wrote meanwhile or None where nobody knows."""
    lines = [
        "| | hexad | the file | hexad / file | hexad wrote to devices | per byte of the user |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        written = "unknown" if row["device"] is None else amount(row["device"])
        known = row["device"] is not None and row["user"] > 0
        per_byte = f"{row['device'] / row['user']:.2f}" if known else ""
        ratio = row["hexad"][1] / row["file"][1]
        lines.append(
            f"| {row['what']} | {rate(row, 'hexad')} | {rate(row, 'file')} | {ratio:.2f} "
            f"| {written} | {per_byte} |"
        )
    return "\n".join(lines)
