"""Finding a Java that Spark can run on, before Spark fails without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from tidings.errors import JavaMissing

OLDEST = 17


def require_java() -> None:
    """Refuse, in one sentence, where Java is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.access(java, os.X_OK):
        raise JavaMissing(found=f"there is none at JAVA_HOME ({home})" if home else "none was found")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = major_version(answer)
    if version is None or version < OLDEST:
        raise JavaMissing(found=f"the one found is version {version or 'unknown'}")


def major_version(text: str) -> int | None:
    """The major version in what ``java -version`` prints.

    >>> major_version('openjdk version "17.0.15" 2025-04-15'), major_version('java version "1.8.0_402"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None
