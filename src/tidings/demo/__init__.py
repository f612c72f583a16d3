"""A factory inventory that reports which items begin and cease to be low in stock: ``python -m tidings.demo``.

``story`` holds what happens, ``__main__`` makes it happen and shows it.  The two SQL files are those of
``examples/inventory``, copied here so that the demonstration also runs where only the package is installed.
"""
