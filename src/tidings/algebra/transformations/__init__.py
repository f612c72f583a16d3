"""The ten equivalences of incremental operators, those of relational operators they come from, and optimisation.

Expressions for deltas come in; equal ones go out, with incremental operators further down.  A transformation whose
shape or side condition is not met is refused with the reason.
"""
