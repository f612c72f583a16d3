"""Δ(R) = ΔR, the batch's changes of the relation itself."""

from __future__ import annotations

from dataclasses import replace

from tidings.delta.versioned import Versioned
from tidings.ir.expression import TIME, WEIGHT, column
from tidings.ir.relation import Scan, Version


def delta(node: Scan) -> Versioned:
    """The changes of a relation, each with its instant and weight."""
    return state(node, Version.DELTA)


def state(node: Scan, version: Version) -> Versioned:
    """The relation's rows in one version; rows of the old state have no instant of their own."""
    time = None if version is Version.OLD else column(node.alias, TIME)
    return Versioned(replace(node, version=version), time, column(node.alias, WEIGHT))
