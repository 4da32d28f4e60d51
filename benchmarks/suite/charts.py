"""Charts as inline SVG: no scripts, no fonts or files from elsewhere, and readable in black and
white, because what differs is told apart by hatching, dashes, marks and words, never by colour."""

import html
import math

WIDTH = 760
LABELS = 230  # of what is compared, left of a chart of bars
ROW = 24
FONT = 'font-family="sans-serif" font-size="12"'

PATTERNS = (
    '<defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<path d="M0 6L6 0" stroke="black" stroke-width="0.8"/></pattern>'
    '<pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle cx="2.5" cy="2.5" r="0.9" fill="black"/></pattern>'
    "</defs>"
)
FILLS = {"ours": "black", "other": "url(#hatch)", "ceiling": "url(#dots)"}
DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 4", "12 4", "4 2 1 2 1 2"]


def text(x, y, words, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" {FONT} text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(str(words))}</text>')


def line(x1, y1, x2, y2, style='stroke="black"'):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def svg(height, title, parts):
    body = "".join(parts)
    return (f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)}">{PATTERNS}{body}</svg>')


def number(value):
    """Three significant digits, as the tables of the programs have them."""
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


def nice_steps(most, count=5):
    """Round values from 0 to at least `most`."""
    if most <= 0:
        return [0, 1]
    raw = most / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    return [step * i for i in range(math.ceil(most / step - 1e-9) + 1)]


def decades(least, most):
    """Powers of ten around the values."""
    first = math.floor(math.log10(least))
    last = max(first + 1, math.ceil(math.log10(most)))
    return [10.0**i for i in range(first, last + 1)]


# Bars that differ by more than this factor stand on a logarithmic axis, which the title says.
FAR_APART = 50


def bars(title, unit, entries):
    """`entries`: (label, median, least, most, kind) with a kind of FILLS. A whisker shows the spread."""
    most_of_all = max(entry[3] for entry in entries)
    least_of_all = min(entry[2] for entry in entries)
    left, right = LABELS, WIDTH - 90
    if least_of_all > 0 and most_of_all > FAR_APART * least_of_all:
        title += " (logarithmic axis)"
        steps = decades(least_of_all, most_of_all)
        def width_of(value):
            return (right - left) * math.log10(value / steps[0]) / math.log10(steps[-1] / steps[0])
    else:
        steps = nice_steps(most_of_all)
        def width_of(value):
            return (right - left) * value / steps[-1]
    bottom = 34 + ROW * len(entries)
    parts = [text(0, 14, title, weight="bold")]
    for step in steps:
        x = left + width_of(step)
        parts.append(line(x, 24, x, bottom, 'stroke="black" stroke-width="0.3"'))
        last = f" {unit}" if step == steps[-1] else ""
        parts.append(text(x, bottom + 14, f"{step:g}{last}", "middle"))
    for i, (label, median, least, most, kind) in enumerate(entries):
        y = 28 + ROW * i
        middle = y + 8
        parts.append(text(left - 8, y + 12, label, "end", "bold" if kind == "ours" else "normal"))
        parts.append(f'<rect x="{left}" y="{y}" width="{max(width_of(median), 0.5):.1f}" height="16" '
                     f'fill="{FILLS[kind]}" stroke="black"/>')
        # White below the whisker, so that it shows on a black bar.
        ends = (left + width_of(least), middle, left + width_of(most), middle)
        parts.append(line(*ends, 'stroke="white" stroke-width="4"'))
        parts.append(line(*ends, 'stroke="black" stroke-width="1.5"'))
        x = left + width_of(max(median, most)) + 6
        parts.append(text(x, y + 12, number(median)))
    return svg(bottom + 24, title, parts)


def mark(shape, x, y):
    r = 4.0
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="white" stroke="black"/>'
    if shape == "square":
        return (f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}" '
                'fill="black"/>')
    points = f"{x:.1f},{y - r - 1:.1f} {x + r + 1:.1f},{y + r:.1f} {x - r - 1:.1f},{y + r:.1f}"
    return f'<polygon points="{points}" fill="white" stroke="black"/>'


PERCENTILES = (("p50_us", "p50", "circle"), ("p95_us", "p95", "square"),
               ("p99_us", "p99", "triangle"))


def latencies(title, entries):
    """`entries`: (label, {p50_us, p95_us, p99_us}); microseconds on a logarithmic axis."""
    values = [value for _, row in entries for value in row.values() if value > 0]
    steps = decades(min(values), max(values))
    left, right = LABELS, WIDTH - 60
    def x_of(value):
        return left + (right - left) * math.log10(value / steps[0]) / math.log10(steps[-1] / steps[0])
    bottom = 34 + ROW * len(entries)
    parts = [text(0, 14, title, weight="bold")]
    for step in steps:
        x = x_of(step)
        parts.append(line(x, 24, x, bottom, 'stroke="black" stroke-width="0.3"'))
        last = " us" if step == steps[-1] else ""
        parts.append(text(x, bottom + 14, (f"{step:,.0f}" if step >= 1 else f"{step:g}") + last, "middle"))
    x = left
    for _, word, shape in PERCENTILES:
        parts += [mark(shape, x + 4, bottom + 30), text(x + 14, bottom + 34, word)]
        x += 70
    for i, (label, row) in enumerate(entries):
        y = 38 + ROW * i
        parts.append(text(left - 8, y + 4, label, "end"))
        there = [(row[key], shape) for key, _, shape in PERCENTILES if row.get(key, 0) > 0]
        if there:
            parts.append(line(x_of(there[0][0]), y, x_of(there[-1][0]), y))
        parts += [mark(shape, x_of(value), y) for value, shape in there]
    return svg(bottom + 44, title, parts)


def lines(title, x_label, y_label, series, scale=math.log2):
    """`series`: (label, [(x, y)]); `scale` of the x axis. Each line bears its name at its end."""
    xs = sorted({x for _, points in series for x, _ in points})
    steps = nice_steps(max(y for _, points in series for _, y in points))
    left, right, top, bottom = 60, WIDTH - 190, 48, 290
    span = scale(xs[-1]) - scale(xs[0]) or 1
    def x_of(value):
        return left + (right - left) * (scale(value) - scale(xs[0])) / span
    def y_of(value):
        return bottom - (bottom - top) * value / steps[-1]
    parts = [text(0, 14, title, weight="bold")]
    for step in steps:
        parts.append(line(left, y_of(step), right, y_of(step), 'stroke="black" stroke-width="0.3"'))
        parts.append(text(left - 6, y_of(step) + 4, f"{step:g}", "end"))
    shown = -100.0
    for x in xs:
        parts.append(line(x_of(x), bottom, x_of(x), bottom + 4))
        if x_of(x) - shown >= 46:
            parts.append(text(x_of(x), bottom + 16, short(x), "middle"))
            shown = x_of(x)
    parts.append(text((left + right) / 2, bottom + 32, x_label, "middle"))
    parts.append(text(4, top - 18, y_label))
    # Names are moved apart where lines end close to each other.
    ends = sorted((y_of(points[-1][1]), i) for i, (_, points) in enumerate(series))
    place = {}
    lowest = -100.0
    for y, i in ends:
        lowest = max(y + 4, lowest + 13)
        place[i] = lowest
    for i, (label, points) in enumerate(series):
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="black" stroke-width="1.6" '
                     f'stroke-dasharray="{DASHES[i % len(DASHES)]}"/>')
        end = points[-1]
        parts.append(line(x_of(end[0]), y_of(end[1]), right + 14, place[i] - 4,
                          'stroke="black" stroke-width="0.4"'))
        parts.append(text(right + 16, place[i], label))
    return svg(max(bottom + 40, int(lowest) + 10), title, parts)


def short(value):
    """65536 as 64K, 262144 as 256K, 1000000 as 1e+06."""
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size:.0f}{unit}"
    return f"{value:g}"
