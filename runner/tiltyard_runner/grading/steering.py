"""Files of a tree that decide how its tests run, so that whoever reads a record knows where to look.

To change one is ordinary work in many tasks, so it is told and not punished: `protect` makes it tampering.
"""

from collections.abc import Iterable

_NAMES = frozenset(
    [
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "noxfile.py",
        ".coveragerc",
        "sitecustomize.py",
        "usercustomize.py",
        "package.json",
        ".mocharc.js",
        ".mocharc.json",
        ".mocharc.yml",
        ".npmrc",
        ".babelrc",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "CMakeLists.txt",
        "build.rs",
        ".cargo",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "Rakefile",
        ".rspec",
        "phpunit.xml",
        "phpunit.xml.dist",
    ]
)
_STEMS = ("jest.config", "vitest.config", "vite.config", "playwright.config", "karma.conf")


def steering_files(names: Iterable[str]) -> list[str]:
    """Those of the paths that can steer a test runner."""
    return sorted(name for name in names if _steers(name.rpartition("/")[2]))


def _steers(file: str) -> bool:
    return file in _NAMES or file.endswith(".pth") or file.startswith(_STEMS)
