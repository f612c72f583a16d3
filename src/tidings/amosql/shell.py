"""Reads statements line by line, runs each when it is complete, and prints what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from tidings.database import Database
from tidings.errors import TidingsError
from tidings.lang.amosql.parse import is_complete
from tidings.result import Result

PROMPT, GOES_ON = "amosql> ", "   ...> "

HELP = """\
Statements end with a semicolon and may take several lines.  An empty line gives a statement up.
  create type item;                          create function quantity(item) -> integer;
  create item instances :a, :b;              set quantity(:a) = 10;      commit;      rollback;
  select i, quantity(i) for each item i;     create rule …;   activate …;   explain rule …;
quit or the end of the input leaves; what was not committed is forgotten."""


@dataclass(frozen=True, slots=True)
class Shell:
    """One conversation."""

    db: Database
    console: Console

    def run(self, text: str) -> bool:
        """Run statements and print what the last one answers; whether they were accepted."""
        try:
            result = self.db.amosql(text)
        except TidingsError as error:
            self.console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
            return False
        if result is not None:
            self._show(result)
        return True

    def _show(self, result: Result) -> None:
        table = result.to_arrow()
        if table.column_names == ["explanation"]:
            self.console.print(table.column(0)[0].as_py(), markup=False, highlight=False, soft_wrap=True)
            return
        grid = Grid(*table.column_names)
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            grid.add_row(*map(str, row))
        self.console.print(grid, f"{table.num_rows} rows" if table.num_rows != 1 else "1 row")

    def converse(self, read_line: Callable[[str], str]) -> None:
        """Read and run statements until the input ends."""
        self.console.print("AMOSQL of Tidings; help; shows help.", highlight=False)
        for statement in statements(read_line):
            match statement.strip().rstrip(";").strip().lower():
                case "":
                    continue
                case "help":
                    self.console.print(HELP, markup=False, highlight=False)
                case "quit" | "exit":
                    break
                case _:
                    self.run(statement)


def statements(read_line: Callable[[str], str]) -> Iterator[str]:
    """The statements that are typed in; ``read_line`` is given the prompt and raises EOFError at the end."""
    text = ""
    while True:
        try:
            line = read_line(GOES_ON if text else PROMPT)
        except EOFError:
            if text.strip():
                yield text
            return
        except KeyboardInterrupt:
            text = ""
            continue
        if text and not line.strip():
            text = ""
            continue
        text = f"{text}\n{line}" if text else line
        if text.strip().lower() in ("help", "quit", "exit") or is_complete(text):
            yield text
            text = ""


@contextmanager
def history(path: Path) -> Iterator[None]:
    """Keep what is typed in, for the arrow keys, from one conversation to the next."""
    try:
        import readline
    except ImportError:  # where there is none, lines are read without it
        yield
        return
    if path.exists():
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_history_length(1000)
        try:
            readline.write_history_file(path)
        except OSError:  # a home that cannot be written to loses its history, no more
            return
