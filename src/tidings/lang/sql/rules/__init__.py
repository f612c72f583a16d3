"""The queries of rules: from the statement ``CREATE RULE`` to bound plans.

A statement and a namespace come in; plans and what was found on the way (``CHANGES``, parameters, constants) go out.
All rewriting of the syntax trees of rules is done here.  Imports the binder of queries and the statements.
"""
