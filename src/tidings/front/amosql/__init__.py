"""AMOSQL at work: sessions with interface variables, transactions and definitions.

Texts come in, results go out.  What ``lang/amosql`` makes of a text is run by the parts that run SQL: definitions as
statements, changes and queries in a transaction.  It imports every room below it; of the front it imports the statement
runner only.
"""
