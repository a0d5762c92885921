"""Creates files with known phrases and verifies that the checker finds them."""

import subprocess

import check_english
import pytest


def plant(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def words(root, name):
    return [(match.line, match.words) for match in check_english.find(root, name)]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("The training goes on.\n", 1, "goes on"),
        ("Fine.\n\nThe training goes\non.\n", 3, "goes on"),
        ("What cannot be captured is skipped.\n", 1, "What"),
        ("Whoever watches is notified.\n", 1, "Whoever"),
        ("A rule of one's own.\n", 1, "of one's own"),
        ("A file of ours.\n", 1, "of ours"),
        ("Read in one place alone.\n", 1, "alone"),
        ("The process is gone.\n", 1, "is gone"),
        ("Neighbouring steps.\n", 1, "Neighbouring"),
        ("It minimises the loss.\n", 1, "minimises"),
        ("Written are two bytes.\n", 1, "Written are"),
        ("# It hands tensors out\n", 1, "hands tensors out"),
    ],
)
def test_a_pattern_is_found_in_a_document(tmp_path, text, line, found):
    assert words(tmp_path, plant(tmp_path, "a.md", text)) == [(line, found)]


@pytest.mark.parametrize(
    "text",
    [
        "What is due at step 3? This.\n",
        "# What is saved\n",
        "smdebug tells you when something fails.\n",
        "Leave it alone. It comes with a stand-alone program.\n",
        "Call `told()`.\n",
        "```\nThe training goes on.\n```\n",
        "It goes\n\non.\n",
        "| goes | on |\n",
        "<!-- english: off -->\nIt goes on.\n<!-- english: on -->\nIt continues.\n",
        "Otherwise, the optimizer promises precise exercise.\n",
    ],
)
def test_plain_english_and_code_in_a_document_pass(tmp_path, text):
    assert words(tmp_path, plant(tmp_path, "a.md", text)) == []


CPP = """\
#include "told/it_is_gone.h"
// The training goes
// on.
int told = 0;  // told
/// Set to 'a' or "b", whichever is
const char* kText =
    "a step is "
    "told";
auto raw = R"(spoken)";
log("goes", "on");
"""


def test_comments_and_strings_of_cpp_are_searched_and_code_is_not(tmp_path):
    found = words(tmp_path, plant(tmp_path, "a.cc", CPP))
    assert found == [(2, "goes on"), (4, "told"), (8, "told"), (9, "spoken")]


PYTHON = '''\
"""Says nothing.

The training goes
on."""
told = {"told": 1}  # told
message = (
    f"{told} is "
    "gone: told"
)
'''


def test_comments_and_strings_of_python_are_searched_and_code_is_not(tmp_path):
    found = words(tmp_path, plant(tmp_path, "a.py", PYTHON))
    assert found == [
        (1, "Says nothing"),
        (3, "goes on"),
        (5, "told"),
        (7, "is gone"),
        (8, "told"),
    ]


def test_tests_and_the_checker_are_not_searched():
    for name in (
        "tests/docs/a.md",
        "python/tests/test_a.py",
        "src/core/shape_test.cc",
        "src/core/shape_bench.cc",
        "tools/check_english.py",
        "a.txt",
    ):
        assert not check_english.is_searched(name), name
    for name in ("README.md", "src/core/shape.cc", "python/smdebug/hook.py", "apps/cli/main.cc"):
        assert check_english.is_searched(name), name


def test_a_file_may_contain_as_many_matches_as_listed(tmp_path):
    names = [plant(tmp_path, name, "It is told.\n") for name in ("a.md", "b.md")]
    plant(tmp_path, "tools/english.toml", '"a.md" = 1\n')
    assert check_english.check(tmp_path, names)[:2] == [
        "b.md: 1 matches, 0 allowed",
        "b.md:1: 'told' (is notified, gets, is logged)",
    ]
    plant(tmp_path, "b.md", "It is logged.\n")
    assert check_english.check(tmp_path, names) == []


def test_fix_lowers_and_moves_numbers_but_does_not_raise_their_sum(tmp_path):
    limits = plant(tmp_path, "tools/english.toml", '"a.md" = 2\n')
    names = [plant(tmp_path, "a.md", "It is told.\n"), plant(tmp_path, "b.md", "It is told.\n")]
    assert check_english.fix(tmp_path, names) == []
    assert check_english.read_limits(tmp_path) == {"a.md": 1, "b.md": 1}
    before = (tmp_path / limits).read_text()
    plant(tmp_path, "a.md", "It is told. It goes on.\n")
    assert check_english.fix(tmp_path, names)
    assert (tmp_path / limits).read_text() == before


def test_new_files_are_searched_before_git_tracks_them(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    plant(tmp_path, "docs/new.md", "Text.\n")
    assert check_english.searched_files(tmp_path) == ["docs/new.md"]
