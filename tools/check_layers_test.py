"""Creates trees with one violation each and verifies that the checker finds it."""

import pathlib

import check_layers
import pytest

LAYERS = """
base = []
core = ["base"]
rules = ["core", "base"]
capture = ["core", "base"]
read = ["core", "base"]
report = ["rules", "core", "base"]
[rooms]
rules = ["engine", "measures", "builtin"]
"""

CLEAN = {
    "include/smdebug/base/result.h": "#include <variant>\n",
    "include/smdebug/capture/hook.h": '#include "smdebug/base/result.h"\n',
    "src/base/json.cc": "#include <nlohmann/json.hpp>\n",
    "src/base/clock.cc": "auto t = std::chrono::system_clock::now();\n",
    "src/capture/write_thread.cc": "std::thread thread_;\n",
    "src/capture/lane_test.cc": "std::thread producer;\n",
    "src/rules/builtin/flat.cc": '#include "rules/builtin/builtin.h"\n'
    '#include "rules/measures/mean.h"\n#include "rules/engine/wording.h"\n',
    "src/report/page.cc": '#include "rules/engine/wording.h"\n',
    "apps/cli/main.cc": '#include "smdebug/base/result.h"\n#include "run.h"\n',
    "apps/cli/run.h": "// getenv is said here in a comment only\nstd::thread::id owner_;\n",
}


def plant(root: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    for name, text in {"tools/layers.toml": LAYERS, **CLEAN, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_clean_tree_has_no_breach(tmp_path):
    assert check_layers.check(plant(tmp_path, {})) == []


@pytest.mark.parametrize(
    ("file", "text", "breach"),
    [
        (
            "src/capture/a.cc",
            '#include "read/x.h"',
            "src/capture/a.cc:1: capture may not include read",
        ),
        (
            "src/capture/a.cc",
            '\n#include "smdebug/read/trial.h"',
            "src/capture/a.cc:2: capture may not include read",
        ),
        (
            "include/smdebug/read/a.h",
            '#include "base/json.h"',
            "include/smdebug/read/a.h:1: public header includes base/json.h, which is not public",
        ),
        (
            "include/smdebug/read/a.h",
            "#include <fmt/format.h>",
            "include/smdebug/read/a.h:1: public header includes fmt/format.h, which is not public",
        ),
        (
            "apps/cli/a.cc",
            '#include "base/json.h"',
            "apps/cli/a.cc:1: an edge includes only include/smdebug/, not base/json.h",
        ),
        (
            "adapters/libtorch/a.cc",
            '#include "smdebug/read/trial.h"',
            "adapters/libtorch/a.cc:1: an adapter may not include read",
        ),
        (
            "src/core/a.cc",
            "#include <nlohmann/json.hpp>",
            "nlohmann-json is included by more than one file: src/base/json.cc, src/core/a.cc",
        ),
        (
            "src/report/a.cc",
            '#include "rules/builtin/builtin.h"',
            "src/report/a.cc:1: rules/builtin/builtin.h is for src/rules only",
        ),
        (
            "src/rules/engine/a.cc",
            '#include "rules/measures/mean.h"',
            "src/rules/engine/a.cc:1: rules/engine may not include rules/measures",
        ),
        (
            "src/core/a.cc",
            'auto* home = getenv("HOME");',
            "src/core/a.cc:1: getenv: the environment is read only in src/base/",
        ),
        (
            "src/core/a.cc",
            "auto t = system_clock::now();",
            "src/core/a.cc:1: system_clock::now: the clock is read only in src/base/",
        ),
        (
            "src/read/a.cc",
            "std::jthread t;",
            "src/read/a.cc:1: std::jthread: threads are started only in src/base/ and "
            "src/capture/write_thread.",
        ),
        (
            "src/capture/a.cc",
            '#include "tests/support/fake_clock_testing.h"',
            "src/capture/a.cc:1: tests/support/fake_clock_testing.h is only for tests",
        ),
    ],
)
def test_a_breach_is_named_with_its_line(tmp_path, file, text, breach):
    assert breach in check_layers.check(plant(tmp_path, {file: text + "\n"}))


def test_a_header_of_tests_without_the_suffix_is_a_breach(tmp_path):
    files = {"src/read/a.h": "", "src/read/a_test.cc": '#include "read/a.h"'}
    assert check_layers.check(plant(tmp_path, files)) == [
        "src/read/a.h is included only by tests: call it x_testing.h"
    ]


def test_a_header_that_the_product_includes_too_is_no_breach(tmp_path):
    files = {"src/read/a.h": "", "src/read/a_test.cc": '#include "read/a.h"'}
    files["src/read/a.cc"] = '#include "read/a.h"'
    assert check_layers.check(plant(tmp_path, files)) == []


def test_a_cycle_in_the_list_is_a_breach(tmp_path):
    plant(tmp_path, {"tools/layers.toml": 'base = ["core"]\ncore = ["base"]\n'})
    assert "tools/layers.toml: cycle through base" in check_layers.check(tmp_path)
