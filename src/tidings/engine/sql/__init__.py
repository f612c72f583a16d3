"""Plans as SQL text, for both engines: the only place where plans are printed.

Plans come in; statements go out, with slots for the keys of each batch.  ``lower.py`` goes through the operators,
``select.py`` puts a SELECT together, ``scalar.py`` prints expressions.  Nothing here runs a statement.
"""
