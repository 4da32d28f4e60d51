"""What `./run bench ceph` measures, and its table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    beside: str
    measure: str  # a method of Bench
    ec: bool
    unit: str

    def text(self, figure):
        if figure is None:
            return ""
        if self.unit == "MB/s":
            return f"{figure / 1e6:,.0f} MB/s"
        if self.unit == "s":
            return f"{figure:.1f} s"
        return f"{figure:,.0f} {self.unit}"


ROWS = [
    Row("lone", "4 KiB put, one at a time", "4 KiB write and flush of an image", "lone", False, "us"),
    Row("lone-ec", "the same, data erasure-coded", "the same", "lone", True, "us"),
    Row("many", "4 KiB puts, 64 in flight", "`rados bench`, 64 in flight", "many", False, "/s"),
    Row("many-ec", "the same, data erasure-coded", "the same", "many", True, "/s"),
    Row("batches", "4 KiB puts, 64 transactions of 64 in flight", "`rados bench`, 64 in flight", "batches", False, "/s"),
    Row("batches-ec", "the same, data erasure-coded", "the same", "batches", True, "/s"),
    Row("space", "allocated for an object of 4 KiB", "an object of `rados bench`", "space", False, "B"),
    Row("space-ec", "the same, data erasure-coded", "the same", "space", True, "B"),
    Row("large", "4 MiB puts, 16 in flight", "4 MiB writes of an image in order, 16 in flight", "large", False, "MB/s"),
    Row("large-ec", "the same, data erasure-coded", "the same", "large", True, "MB/s"),
    Row("takeover", "take-over from a process that writes, until a put is durable", "", "take_over", False, "s"),
]


def table(results):
    """Markdown of (row, hexad's figure, that beside it or None)."""
    lines = ["| | hexad | beside it | | hexad / that |", "|---|---|---|---|---|"]
    for row, ours, theirs in results:
        ratio = "" if theirs is None else f"{ours / theirs:.2f}"
        lines.append(f"| {row.what} | {row.text(ours)} | {row.beside} | {row.text(theirs)} | {ratio} |")
    return "\n".join(lines)
