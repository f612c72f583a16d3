"""Binding queries: names are resolved, and every clause becomes relational operators.

A syntax tree comes in, a plan of the IR with names and types goes out.  The binder asks a catalog for columns and an
analyzer for types, and knows neither the store nor an engine.
"""
