"""Conditions of the algebra of delta relations and fragments."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class DuplicateTid(TidingsError):
    """The tid {tid} of {relation} stands for two tuples: {first} and {second}"""

    hint_template = "a tid identifies one tuple; take a column as tid whose values are all different"


class DuplicateTuple(TidingsError):
    """{relation} has the tuple {row} twice, with the tids {first} and {second}"""

    hint_template = (
        "these operators work on sets: keep the key among the attributes, or project, which leaves one of them"
    )


class InvalidDeltaRelation(TidingsError):
    """The row {row} cannot be part of a delta relation: {reason}"""


class NotComposable(TidingsError):
    """The changes do not fit {relation}: the tuple {row} {reason}"""

    hint_template = "a delta has net changes only: what it removes was there, and what it adds was not"


class InvalidFragmentation(TidingsError):
    """The relation cannot be fragmented like this: {reason}"""


class FragmentHasOtherRows(TidingsError):
    """{table} cannot be the fragment for which {condition}: it has the row {row}"""

    hint_template = "change or delete such rows first"


class NoFragment(TidingsError):
    """The tuple {row} cannot be put into one fragment: {reason}"""

    hint_template = "the conditions of horizontal fragments must be true for one of them, whatever the tuple"


class SeveralSites(TidingsError):
    """The change reaches several sites, {sites}, which have no transaction in common"""

    hint_template = "give it an id: then each site counts its share once, and the same call completes what was stopped"


class PartlyApplied(TidingsError):
    """The site {site} refuses its share of a change that {done} made already: {reason}"""

    hint_template = "put right what it refuses, and apply the same change with the same id: the others count it once"


class TransformationRefused(TidingsError):
    """Transformation {number} does not apply to {expression}: {reason}"""


class InexactDelta(TidingsError):
    """The changes of {relation} do not fit its rows: {reason}"""

    hint_template = "what is gained is new, what is lost was there, and all rows are of one width"


class InvalidPlanText(TidingsError):
    """The plan text cannot be read at line {line}: {reason}"""
