"""The parts of a database put together: everything that :class:`tidings.Database` calls.

``assembly`` is the composition root: settings and a storage come in, finished parts go out.  ``statement_runner`` hands
each statement to the room that runs it; ``maintenance`` restores, reloads, advances and tidies up.  The front imports
every room below it.  Only ``database`` and ``demo`` import the front.
"""
