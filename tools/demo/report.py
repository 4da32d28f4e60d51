"""The table at the end: what was measured, without rounding in our favour."""


def rate(size, seconds):
    return f"{size / 1e6 / seconds:.0f} MB/s" if seconds > 0 else "-"


def ratio(part, whole, digits=3):
    return f"{part / whole:.{digits}f}" if whole else "-"


def table(rows):
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"  {label:<{width}}  {value}" for label, value in rows)


def rows(facts):
    """(label, text) for everything that the demonstration has to show."""
    counters, space, kills = facts["counters"], facts["space"], facts["kills"]
    user = space["user_bytes"]
    raw_kept = counters["compress_rejected_count"] + counters["compress_skipped_count"]
    written = [
        ("data", "device_user_bytes"),
        ("parity", "device_parity_bytes"),
        ("padding", "write_pad_bytes"),
        ("log", "device_log_bytes"),
        ("labels, roots, headers", "device_super_bytes"),
        ("zeros ahead of use", "device_zeroed_bytes"),
        ("index", "index_bytes"),
    ]
    yield "input", (
        f"{facts['files']} files, {facts['links']} links, {facts['directories']} directories, "
        f"{facts['bytes'] / 1e6:.0f} MB from {facts['source']}"
    )
    yield "in, durable", f"{rate(facts['bytes'], facts['import_s'])} ({facts['import_s']:.1f} s)"
    yield "out, two devices lost", (
        f"{rate(facts['bytes'], facts['export_s'])} ({facts['export_s']:.1f} s, "
        "written to the same disk and synced)"
    )
    yield "compression", (
        f"{ratio(space['compressed_original'], space['compressed'], 2)} : 1 where it was kept, "
        f"{ratio(user, user - space['compressed_original'] + space['compressed'], 2)} : 1 over all"
    )
    yield "", (
        f"{counters['compress_success_count']} pieces kept compressed, {raw_kept} stored as they "
        f"are ({counters['compress_rejected_count']} gained too little, "
        f"{counters['compress_skipped_count']} not tried)"
    )
    yield "on devices, per user byte", (
        f"{ratio(space['used'], user)} (4+2 without compression: 1.500)"
    )
    yield "written, per user byte", ", ".join(
        f"{label} {ratio(counters[name], facts['bytes'])}"
        for label, name in written
        if name in counters
    )
    yield "metadata", (
        f"{space['metadata'] / space['objects']:.0f} bytes per object in the index "
        f"({space['objects']} objects)"
    )
    yield "kills", (
        f"{kills.rounds}, {kills.counted} of them with commits in flight: {kills.torn} left a "
        f"commit half written, {kills.completed} only such that recovery completed"
    )
    yield "transactions", (
        f"{kills.acknowledged} acknowledged, 0 of them lost, 0 found in part; "
        f"{kills.kept_unacknowledged} more had become durable before they could be acknowledged"
    )
    yield "healed by recovery", (
        f"{kills.counters['cells_healed']} cells, "
        f"{kills.counters['recovery_log_copies_healed']} blocks of log copies"
    )
    yield "read degraded", (
        f"{facts['degraded']['cells_reconstructed']} cells rebuilt for the "
        f"{facts['degraded_objects']} objects of the ledger alone; checksum errors: "
        f"{facts['degraded']['checksum_errors']}"
    )
    yield "refused or skipped", (
        f"import {facts['import_left_out']}, export {facts['export_left_out']}; "
        f"fsck findings: {facts['fsck_errors']}"
    )
    yield "compared", (
        f"{facts['compared']} entries by sha256, link target, mode and time: "
        f"{len(facts['differences'])} differences"
    )
