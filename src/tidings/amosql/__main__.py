"""Run files of AMOSQL, or read statements from a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

import tidings
from tidings.amosql.shell import Shell, history
from tidings.errors import TidingsError

_EPILOG = """\
examples:
  python -m tidings.amosql --engine duckdb                    a database in memory, statements from the terminal
  python -m tidings.amosql --db shop.tidings schema.amosql    run a file on a database in a folder
  python -m tidings.amosql schema.amosql --interactive        run a file, then read statements
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the shell; the exit status is 1 if a file was refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tidings.amosql",
        description="Types, functions, objects and rules of AMOSQL on a Tidings database.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files of AMOSQL, run one after the other")
    parser.add_argument("--db", metavar="FOLDER", help="the folder of the database; default: a new one in memory")
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark", help="default: spark, in local mode")
    parser.add_argument("--interactive", action="store_true", help="read statements after the files")
    parser.add_argument("--history", type=Path, default=Path.home() / ".tidings_amosql_history", help="file of history")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        with tidings.open(options.db, engine=options.engine) as db:
            shell = Shell(db, console)
            for file in options.files:
                try:
                    text = file.read_text(encoding="utf-8")
                except OSError as error:
                    parser.error(f"{file} cannot be read: {error.strerror}")
                if not shell.run(text):
                    return 1
            if options.interactive or not options.files:
                with history(options.history):
                    shell.converse(input)
    except TidingsError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
