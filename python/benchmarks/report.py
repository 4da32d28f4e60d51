"""What was measured: a line for each row as soon as it has all its rounds, results.json, plots, a page."""

import contextlib
import html
import json
import os
import statistics
import sys

# What another row of a table is set beside, if the table has it.
REFERENCES = ("plain files", "put")
LESS = ("ns", "us", "copies of a byte")  # units of which less is better

STYLE = (
    "body { font: 15px sans-serif; max-width: 50em; margin: 2em auto } img { max-width: 100% } "
    "td, th { text-align: right; padding: 0 0.8em } td:first-child, th:first-child { text-align: left }"
)


class Report:
    """Rows of tables. A figure is the median of its row's values."""

    def __init__(self, folder, settings):
        """folder: for the files; None: there are none. settings: what was measured on, by name."""
        self.folder = folder
        self.settings = settings
        self.units = {}  # by table
        self.rows = {}  # by table: {row: its values}
        self.wanted = {}  # by table and row: how many values it is to have
        self.failed = {}  # by what was measured and row: with what a contestant failed
        if folder is not None:
            os.makedirs(folder, exist_ok=True)

    def add(self, table, unit, row, value, of):
        """One value of a row that is to have `of` of them."""
        self.units[table] = unit
        self.wanted[table, row] = of
        values = self.rows.setdefault(table, {}).setdefault(row, [])
        values.append(value)
        if len(values) == of:
            self.show(table, row)
            self.save()

    @contextlib.contextmanager
    def failing(self, what, row):
        """Around what another project may fail at: its row is left out, and says why."""
        try:
            yield
        except Exception as error:
            if (what, row) not in self.failed:
                self.failed[what, row] = f"{type(error).__name__}: {error}"
                print(f"{what:<38} {row:<16} left out, {self.failed[what, row]}", flush=True)

    def show(self, table, row):
        values = self.rows[table][row]
        text = f"{table:<38} {row:<16} {shown(statistics.median(values)):>9} {self.units[table]}"
        if len(values) > 1:
            text += f" [{shown(min(values))} to {shown(max(values))}]"
        beside = self.beside(table, row)
        if beside is not None and row not in REFERENCES:
            text += f", {beside[0]:.2f} x {beside[1]}"
        if len(values) < self.wanted[table, row]:
            text += f" (only {self.rounds(table, row)})"
        print(text, flush=True)

    def rounds(self, table, row):
        return f"{len(self.rows[table][row])} of {self.wanted[table, row]} values"

    def beside(self, table, row):
        """How often the reference goes into the row, and its name; None: there is none."""
        rows = self.rows[table]
        for name in REFERENCES:
            if name in rows and statistics.median(rows[name]) > 0:
                return statistics.median(rows[row]) / statistics.median(rows[name]), name
        return None

    def close(self):
        """Shows the rows that lack rounds, draws what there is, and writes the page."""
        for table, row in self.wanted:
            if len(self.rows[table][row]) < self.wanted[table, row]:
                self.show(table, row)
        if self.folder is None:
            return
        self.save()
        plots = self.plot()
        page = os.path.join(self.folder, "index.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(self.page(plots))
        print(f"page: {page}")

    def save(self):
        """Whoever ends the program at any time finds what there was."""
        if self.folder is None:
            return
        path = os.path.join(self.folder, "results.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            failed = {f"{what}, {row}": error for (what, row), error in self.failed.items()}
            content = {
                "settings": self.settings,
                "units": self.units,
                "rounds": self.rows,
                "failed": failed,
            }
            json.dump(content, file, indent=1)
        os.replace(path + ".new", path)

    def in_order(self, table):
        """Its rows, hexad's first."""
        return sorted(self.rows[table], key=lambda row: not row.startswith("hexad"))

    def better(self, table):
        return "less is better" if self.units[table] in LESS else "more is better"

    def plot(self):
        """The name of a picture for each table; none without matplotlib."""
        try:
            import matplotlib
        except ImportError:
            print("no plots: matplotlib is not installed", file=sys.stderr)
            return {}
        matplotlib.use("Agg")
        import matplotlib.pyplot

        names = {}
        for table in self.rows:
            rows = self.in_order(table)
            values = [self.rows[table][row] for row in rows]
            medians = [statistics.median(v) for v in values]
            spread = [
                [m - min(v) for m, v in zip(medians, values)],
                [max(v) - m for m, v in zip(medians, values)],
            ]
            figure, axes = matplotlib.pyplot.subplots(figsize=(6, 0.9 + 0.4 * len(rows)))
            bars = axes.barh(
                rows, medians, xerr=spread, error_kw={"elinewidth": 1, "ecolor": "#404040"},
                color=["#c44e52" if row.startswith("hexad") else "#8c9eb5" for row in rows],
            )
            # Right of the bar and of its whisker alike.
            for bar, most, median in zip(bars, map(max, values), medians):
                axes.annotate(
                    shown(median), (most, bar.get_y() + bar.get_height() / 2),
                    xytext=(4, 0), textcoords="offset points", va="center",
                )
            axes.invert_yaxis()
            axes.set_xlim(0, 1.2 * max(map(max, values)) or 1)
            axes.xaxis.set_major_formatter("{x:,g}")
            axes.set_title(table)
            axes.set_xlabel(f"{self.units[table]}; {self.better(table)}")
            figure.tight_layout()
            names[table] = table.replace(",", "").replace(" ", "-").replace("/", "-") + ".png"
            figure.savefig(os.path.join(self.folder, names[table]), dpi=120)
            matplotlib.pyplot.close(figure)
        return names

    def page(self, plots):
        text = [
            "<!doctype html><meta charset='utf-8'><title>hexad from Python</title>",
            f"<style>{STYLE}</style><h1>The Python package beside other stores</h1>",
            "<p>Medians; whiskers and brackets: least and most. Puts and writes are durable when they "
            "return; hexad alone survives the loss of two of its six devices.</p><p>",
            "<br>".join(f"{name}: {html.escape(str(v))}" for name, v in self.settings.items()),
            "</p>",
        ]
        for table in self.rows:
            text.append(f"<h2>{html.escape(table)}, {self.units[table]} ({self.better(table)})</h2>")
            text.append("<table><tr><th><th>median<th>least<th>most<th>measured<th>beside</tr>")
            for row in self.in_order(table):
                values = self.rows[table][row]
                beside = self.beside(table, row)
                cells = [
                    html.escape(row), shown(statistics.median(values)), shown(min(values)),
                    shown(max(values)), self.rounds(table, row),
                    f"{beside[0]:.2f} x {beside[1]}" if beside else "",
                ]
                text.append("<tr>" + "".join(f"<td>{cell}" for cell in cells) + "</tr>")
            text.append("</table>")
            if table in plots:
                text.append(f"<img src='{plots[table]}' alt='{html.escape(table)}'>")
        for (what, row), error in self.failed.items():
            text.append(f"<p>{html.escape(f'{what}, {row}: left out, {error}')}</p>")
        return "\n".join(text) + "\n"


def shown(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
