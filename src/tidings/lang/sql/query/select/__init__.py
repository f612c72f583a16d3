"""One SELECT, clause by clause, in the order in which SQL evaluates them.

``select.py`` goes through the clauses, ``block.py`` holds the plan on its way, and the other modules each know one
clause.
"""
