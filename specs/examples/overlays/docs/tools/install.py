"""Builds the index of classes that bin/kg searches: one line per class, with its bases."""

import ast
from pathlib import Path


def main() -> None:
    lines = []
    for path in sorted(Path("src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = ", ".join(ast.unparse(base) for base in node.bases)
                lines.append(f"{path}:{node.lineno}: class {node.name}({bases})")
    Path("tools/index.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("bin/kg").chmod(0o755)


if __name__ == "__main__":
    main()
