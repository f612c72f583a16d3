"""Error conditions: a class each, whose docstring is the sentence shown to the user, with ``{parameters}``.

A module per subject; users and the rest of the code import from here.  ``base`` holds what all have in common,
``unexpected`` turns what nobody foresaw into an ``InternalError``.  Imports nothing of the project.
"""

from __future__ import annotations

from tidings.errors.algebra import *  # noqa: F403
from tidings.errors.base import InternalError as InternalError
from tidings.errors.base import Place as Place
from tidings.errors.base import TidingsError as TidingsError
from tidings.errors.base import closest as closest
from tidings.errors.continuous import *  # noqa: F403
from tidings.errors.datalog import *  # noqa: F403
from tidings.errors.definition import *  # noqa: F403
from tidings.errors.engine import *  # noqa: F403
from tidings.errors.functional import *  # noqa: F403
from tidings.errors.query import *  # noqa: F403
from tidings.errors.reader import *  # noqa: F403
from tidings.errors.row import *  # noqa: F403
from tidings.errors.rule import *  # noqa: F403
from tidings.errors.store import *  # noqa: F403
