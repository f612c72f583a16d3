"""Recursion: rules as rounds of plans, the rules that maintain what rules define, and magic sets.

Rules come in (:mod:`tidings.ir.rule`), rules or plans go out; ``engine/recursion`` runs them.  It imports ``ir``,
``lang.datalog`` for the plan of a rule, and restriction.
"""
