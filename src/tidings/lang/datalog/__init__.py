"""Datalog: text comes in, bound plans go out; recursive predicates become fixpoints.

``parse`` reads the text, ``resolve`` judges safety and strata, ``infer`` finds types, ``compile`` makes plans.  It
imports ``ir``, ``analysis`` and what the binder of SQL asks engines (``lang.sql.context``).
"""
