"""Writes bytecode for the modules that a run of `mini` has just imported, and for no others.

An agent may not write to /opt, so without bytecode each run would compile 2,500 modules anew, which takes
three times as long as the import; bytecode of everything would double the size of the layer. It is marked as
never to be checked against its source, since a copy into the next build stage may change times.
"""

import importlib.util
import py_compile
import sys
from pathlib import Path

for cached in Path(sys.argv[1]).rglob("*.pyc"):
    source = importlib.util.source_from_cache(str(cached))
    py_compile.compile(
        source, str(cached), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
