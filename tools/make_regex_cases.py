#!/usr/bin/env python3
"""Writes src/base/testdata/regex_cases.json: patterns, subjects and the results
of Python's re.search, for src/base/regex_test.cc.

Half of the cases are patterns that users write for tensor names, half are
built at random from the syntax that Python and PCRE2 share.
"""

import json
import pathlib
import random
import re
import warnings

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/base/testdata/regex_cases.json"

# fmt: off
PATTERNS = [
    ".*", "", "^gradient", "^(?!gradient).*weight", "^(?!gradient).*bias",
    "[Ll]oss_(?!input).*output", "relu_output", "relu.*_output,tanh",
    "fc_(in|out)put", r"layer\d+\.\d+", r"^layer1\.", r"output_0$",
    r"output_0\Z", r"\ANet_", r"(?i)RELU", r"(?P<a>\w)(?P=a)", r"(\w)\1",
    r"^.{10}$", r"\bconv\b", r"[^\w/.]", r"[\]]", r"[]x]", r"[^]x]", r"a{,2}b",
    r"^a{,2}$", r"[{,3}]", r"\\Z", r"[\w.]+/[\w.]+", "größe", r"^\w+$", r"\d",
    "\\u00fc", "[\\u00e0-\\u00ff]", r"\U0001f600", r"^\W$", "(?s)a.b", "a.b",
    "(?m)^b$", "^b$", "a$", r"a\Z", r"(?<=conv)\d", r"(?<!conv)\d\.",
    r"(?:weight|bias)$", r"(?x) conv \d # a comment", "x|", "()", r"\.", r"\t",
    r"^[]{,2]+$", r"^[^]{,2]+$",
    r"[a-z]+?\d", "a++b", "(?>a+)b", r"(a)?(?(1)b|c)", r"\x41", r"\/", r"-",
]
SUBJECTS = [
    "", "Net_conv1.weight", "gradient/Net_conv1.weight", "Net_fc.bias",
    "CrossEntropyLoss_output_0", "CrossEntropyLoss_input_1", "relu_output_0",
    "relu_output_0\n", "layer1.0_input_0", "layer12.3.conv_output_10",
    "fc_input_0", "scalar/accuracy", "dense/kernel:0", "GRÖSSE", "größe", "ü",
    "naïve", "日本", "\U0001f600", "aab", "aaab", "b", "c", "a\nb", "a\n",
    "a.b", "]", "0", "x", "\\Z", "a{,2}b", "{", "١٢", "A/B", "conv 1", "conv1.",
]
ATOMS = [
    "a", "b", "_", "0", r"\.", ".", r"\w", r"\d", r"\W", "[ab]", "[^a_]",
    "[a-c0-9]", "ö", r"\b", "^", "$", r"\Z", r"\A", "(?=a)", "(?!b)",
]
# fmt: on
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "*?", "+?"]
LETTERS = "aab_0.öc\n"


def random_pattern(rng: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        if depth < 2 and rng.random() < 0.2:
            atom = f"({random_pattern(rng, depth + 1)})"
        else:
            atom = rng.choice(ATOMS)
        parts.append(atom + rng.choice(QUANTIFIERS))
    return rng.choice(["", "", "|"]).join(parts)


def answers(pattern: str, subjects: list[str]) -> dict | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(pattern)
    except (re.error, Warning):
        return None
    return {
        "pattern": pattern,
        "found": [s for s in subjects if compiled.search(s)],
        "not_found": [s for s in subjects if not compiled.search(s)],
    }


def main() -> None:
    rng = random.Random(20)
    cases = [answers(pattern, SUBJECTS) for pattern in PATTERNS]
    assert None not in cases
    while len(cases) < 600:
        subjects = {"".join(rng.choices(LETTERS, k=rng.randint(0, 6))) for _ in range(8)}
        case = answers(random_pattern(rng), sorted(subjects))
        if case:
            cases.append(case)
    OUT.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
