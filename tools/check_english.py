#!/usr/bin/env python3
"""Finds words and patterns that make our prose read like a translation.

    tools/check_english.py [--fix]          against tools/english.toml
    tools/check_english.py --list PATH...   every match in files or folders

Searches documents, and the comments, docstrings and string literals of product
code (tests aside), for PATTERNS. docs/conventions.md, "Writing", shows how to
rewrite them.

tools/english.toml holds the number of matches that a file may still contain; a
file that is not listed may contain none. --fix writes the current numbers. It
refuses if their sum has grown: text may move between files, but not get worse.
"""

import argparse
import io
import pathlib
import re
import subprocess
import sys
import tokenize
from typing import NamedTuple

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = "tools/english.toml"
LIMITS_HEADER = """\
# Matches of tools/check_english.py that each file may still contain. They may
# only decrease: rewrite the text, then run `tools/check --fix english`.
"""
# Quotes the patterns. A document does so between `<!-- english: off -->` and
# `<!-- english: on -->`.
EXCLUDED = {"tools/check_english.py"}
# Replaces code, so that no pattern matches across it.
CODE = "\0"

# Pattern and advice. A space in a pattern matches any white space, line breaks
# included. Case is ignored outside (?-i:...).
PATTERNS = [
    # Code does not speak.
    (r"\b(is|are|was|were|be|been) said\b", "is logged, is reported"),
    (r"\bsa(y|ys|id) ((it|this|that) )?(once|so|nothing|which|what)\b", "logs, reports, lists"),
    (r"\btold\b", "is notified, gets, is logged"),
    (r"\btells\b(?! you\b)", "shows, reports, distinguishes"),
    (r"\bspeaks?\b|\bspoken\b", "reports"),
    (r"\bnobody\b", "no caller, no user"),
    # Places.
    (r"\bstands?\b(?!-| for\b)", "is, is in"),
    (r"\b(is|are|was|were) (not )?there\b", "exists, is available"),
    (r"\b(is|are|was|were) gone\b", "exited, was removed, no longer exists"),
    (r"\bhung in(to)?\b", "is registered on"),
    # Deeds.
    (r"\blen[dt]s?\b|\blending\b", "passes, imports"),
    (r"\bhand(s|ed|ing)? (\w+ )?out\b", "returns, provides"),
    (r"\b(goes|go|went|going|gone) on\b", "continues"),
    (r"\blet(s|ting)? (\w+ )?(pass|through)\b", "ignores, allows"),
    (r"\bmakes? no sense\b", "is not valid"),
    (r"\b(be|is|are|was|were) had\b", "is available, can be captured"),
    (r"\bmade small\b", "in lower case"),
    (r"\bin earnest\b|\bin vain\b", "drop it"),
    # Owners.
    (r"\bof (one's|our|your) own\b", "your own X"),
    (r"\bof ours\b", "our X, smdebug's X"),
    # Word order and little words.
    (r"(?<!#\s)(?-i:\bWhat\b)(?! to\b)(?![^.?!:;\0]*\?)", "start with the noun"),
    (r"(?-i:\b(Who|Whoever)\b)(?![^.?!:;\0]*\?)", "to ..., use ..."),
    (r"(?-i:\b(Taken|Left out|Judged|Kept|Counted|Compared|Written|Given|Unnamed)) (is|are)\b",
     "subject first"),
    (r"(?<!leave\s)(?<!leaves\s)(?<!left\s)(?<!let\s)(?<!-)(?<!leave\sit\s)(?<!leaves\sit\s)"
     r"\balone\b", "only"),
    (r"\bfor ever\b", "forever"),
    (r"\banew\b", "again"),
    (r"\bdear(er)?\b", "expensive"),
    (r"\bby (their|its) kind\b", "by type"),
    (r"\band the like\b", "and similar"),
    # British spelling.
    (r"\b\w*(neighbour|colour|behaviour|favour|honour|flavour)\w*", "-or"),
    (r"\b(un|re|de)?(initial|normal|minim|maxim|optim|serial|synchron|recogn|summar|organ|standard"
     r"|general|special|visual|categor|author|final|util|vector|parallel|custom)"
     r"is(es?|ed|ing|ers?|ation)\b", "-ize"),
    (r"\b(un)?(label|cancel|model|travel|signal|total|channel)l(ed|ing)\b", "one l"),
    (r"\b(analyse[ds]?|centre[ds]?|artefacts?|judgement|licence|catalogue|grey|whilst|towards"
     r"|fulfil|learnt|spelt)\b", "American spelling"),
]  # fmt: skip
COMPILED = [(re.compile(p.replace(" ", r"\s+"), re.IGNORECASE), advice) for p, advice in PATTERNS]


class Match(NamedTuple):
    line: int
    words: str
    advice: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help=f"write the current numbers to {LIMITS}")
    parser.add_argument("--list", nargs="+", metavar="PATH", help="print every match in PATH")
    options = parser.parse_args()
    names = searched_files(ROOT)
    if options.list:
        folders = [path.rstrip("/") for path in options.list]
        names = [n for n in names if any(n == f or n.startswith(f + "/") for f in folders)]
        lines = [line for name in names for line in described(ROOT, name)]
        print(*lines, sep="\n")
        return bool(lines)
    complaints = fix(ROOT, names) if options.fix else check(ROOT, names)
    if complaints:
        print(*complaints, sep="\n")
    return bool(complaints)


def check(root: pathlib.Path, names: list[str]) -> list[str]:
    """Returns every match of the files that have more of them than allowed."""
    limits = read_limits(root)
    complaints = []
    for name in names:
        lines = described(root, name)
        if len(lines) > limits.get(name, 0):
            complaints.append(f"{name}: {len(lines)} matches, {limits.get(name, 0)} allowed")
            complaints += lines
    if complaints:
        complaints.append("if the text only moved between files: tools/check --fix english")
    return complaints


def fix(root: pathlib.Path, names: list[str]) -> list[str]:
    """Writes the current numbers; returns complaints, and writes nothing, if their sum grew."""
    limits = read_limits(root)
    found = {name: len(find(root, name)) for name in names}
    found = {name: count for name, count in sorted(found.items()) if count}
    if limits and sum(found.values()) > sum(limits.values()):
        return check(root, names)
    rows = "".join(f'"{name}" = {count}\n' for name, count in found.items())
    (root / LIMITS).write_text(LIMITS_HEADER + rows)
    return []


def read_limits(root: pathlib.Path) -> dict[str, int]:
    path = root / LIMITS
    return tomllib.loads(path.read_text()) if path.exists() else {}


def described(root: pathlib.Path, name: str) -> list[str]:
    return [f"{name}:{m.line}: {m.words!r} ({m.advice})" for m in find(root, name)]


def find(root: pathlib.Path, name: str) -> list[Match]:
    """Returns the matches in the prose of one file, in order."""
    text = (root / name).read_text()
    prose = PROSE_OF[pathlib.Path(name).suffix](text)
    matches = []
    for pattern, advice in COMPILED:
        for match in pattern.finditer(prose):
            line = text.count("\n", 0, match.start()) + 1
            matches.append(Match(line, " ".join(match[0].split()), advice))
    return sorted(matches)


def searched_files(root: pathlib.Path) -> list[str]:
    """Returns the documents and product files that git tracks or would add."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted({n for n in done.stdout.splitlines() if is_searched(n) and (root / n).is_file()})


def is_searched(name: str) -> bool:
    path = pathlib.PurePosixPath(name)
    if name in EXCLUDED or path.suffix not in PROSE_OF:
        return False
    is_test = (
        re.search(r"(^test_|_(test|bench|fuzz|fixture|testing|suite)$|^conftest$)", path.stem)
        or path.parts[0] == "tests"
        or path.parts[:2] == ("python", "tests")
    )
    return not is_test


# Each of these returns a text of the same length in which everything but prose
# is replaced by CODE, and quotes, comment marks and white space by white space.


def prose_of_markdown(text: str) -> str:
    text = masked(r"<!-- english: off -->.*?<!-- english: on -->", text, re.DOTALL)
    text = masked(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)
    text = masked(r"`[^`\n]*`|\]\([^)\s]*\)|^    +.*$", text, re.MULTILINE)
    text = re.sub(r"\|", CODE, text)
    text = re.sub(r"(?<=\n)\n|(?m:^)- ", lambda m: CODE * len(m[0]), text)
    return re.sub(r"[*_>]", " ", text)


def prose_of_cpp(text: str) -> str:
    parts = re.compile(
        r"(?P<comment>(?://[^\n]*(?:\n\s*(?=//))?)+)"
        r'|#include[^\n]*|(?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")'
        r'|(?P<string>(?:"(?:\\.|[^"\\\n])*"\s*)+)'
        r"|'(?:\\.|[^'\\\n])'",
        re.DOTALL,
    )
    prose = list(re.sub(r"[^\n]", CODE, text))
    for part in parts.finditer(text):
        if part["comment"]:
            kept = re.sub(
                r"(?m)^(\s*)///?", lambda m: m[1] + " " * (len(m[0]) - len(m[1])), part[0]
            )
        elif part["string"] and " " in part[0].strip():
            kept = part[0].replace('"', " ").replace("\\n", CODE * 2)
        elif part["raw"]:
            kept = part[0]
        else:
            continue
        prose[part.start() : part.end()] = without_code(kept)
    return "".join(prose)


def prose_of_python(text: str) -> str:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    prose = list(re.sub(r"[^\s]", CODE, text))
    for part in tokenize.generate_tokens(io.StringIO(text).readline):
        begin = starts[part.start[0] - 1] + part.start[1]
        if part.type == tokenize.COMMENT:
            kept = part.string.replace("#", " ")
        elif part.type == tokenize.STRING and " " in part.string:
            kept = part.string
            if "f" in kept[: kept.index(kept[-1])].lower():
                kept = masked(r"\{[^{}\n]*\}", kept)
            kept = re.sub(r"^\w*(\"\"\"|'''|\"|')", lambda m: " " * len(m[0]), kept)
            kept = re.sub(r"(\"\"\"|'''|\"|')$", lambda m: " " * len(m[0]), kept)
            kept = re.sub(r"\\n|\n(?=\s*\n)", lambda m: CODE * len(m[0]), kept)
        else:
            continue
        prose[begin : begin + len(part.string)] = without_code(kept)
    return "".join(prose)


def without_code(text: str) -> str:
    return masked(r"`[^`\n]*`", text)


def masked(pattern: str, text: str, flags: int = 0) -> str:
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", CODE, m[0]), text, flags=flags)


PROSE_OF = {
    ".md": prose_of_markdown,
    ".h": prose_of_cpp,
    ".cc": prose_of_cpp,
    ".py": prose_of_python,
}

if __name__ == "__main__":
    sys.exit(main())
