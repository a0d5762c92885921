"""Guards the hot functions by instructions, which do not depend on what else the machine does.

The counts are callgrind's, of the AVX2 path: valgrind knows no AVX-512. A limit is an upper bound,
a tenth above the count of the day it was set. A change that needs more raises it and says why; one
that needs far less should lower it, and the test prints the count for that.
"""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = ROOT / "build/release/tests/instructions/smdebug_instruction_driver"
READ_DRIVER = DRIVER.with_name("smdebug_read_instruction_driver")
RULE_DRIVER = DRIVER.with_name("smdebug_rule_instruction_driver")
CONFIG_DRIVER = DRIVER.with_name("smdebug_config_instruction_driver")

PUT = "smdebug::TensorSlot::put(smdebug::TensorView const&) const"
STEPS, TENSORS = 20, 100


def count(function, folder, steps=STEPS, interval=1):
    """Instructions inside `function` and what it calls, tensors of 256 bytes."""
    return count_in(DRIVER, function, folder, steps, TENSORS, 64, interval)


def count_in(driver, function, *arguments):
    if not shutil.which("valgrind"):
        pytest.fail("valgrind is not there: run tools/bootstrap")
    done = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *(f"--toggle-collect={function}", driver, *map(str, arguments)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    collected = int(re.search(r"Collected : (\d+)", done.stderr)[1])
    assert collected, f"no function is called {function}"
    return collected


def check_limit(what, taken, limit):
    print(f"{what}: {taken:.0f} instructions, limit {limit}")
    assert taken <= limit, f"{what} takes {taken:.0f} instructions"


@pytest.mark.parametrize(
    ("what", "function", "limit"),
    [
        ("putting a tensor of 256 bytes", PUT, 1060),
        ("writing its record", "smdebug::StepWriter::add(smdebug::Message const&)", 2910),
        ("its share of the index file", "smdebug::IndexFileBuilder::finish*", 860),
    ],
)
def test_a_captured_tensor_takes_no_more_instructions_than(what, function, limit, tmp_path):
    taken = count(function, tmp_path / "run") / (STEPS * TENSORS)
    check_limit(what, taken, limit)


def test_a_tensor_that_is_not_due_takes_no_more_than_eight_instructions(tmp_path):
    saved = count(PUT, tmp_path / "one", steps=1, interval=1000)
    with_unsaved = count(PUT, tmp_path / "many", steps=1 + STEPS, interval=1000)
    assert (with_unsaved - saved) / (STEPS * TENSORS) <= 8


def test_a_scalar_takes_no_more_instructions_than(tmp_path):
    note = "smdebug::ScalarSlot::note(double) const"
    taken = count(note, tmp_path / "run") / (STEPS * TENSORS)
    check_limit("noting a scalar", taken, 47)


VALUES = 200


@pytest.mark.parametrize(
    ("what", "function", "times", "limit"),
    [
        (
            "parsing an entry of an index file",
            "smdebug::parse_index_file(*",
            STEPS * TENSORS,
            3440,
        ),
        (
            "adding an entry to the table",
            "smdebug::RunTable::add_file(*",
            STEPS * TENSORS,
            1390,
        ),
        (
            "a value of 256 bytes that was just read",
            "smdebug::Tensor::value(smdebug::StepQuery const&)",
            VALUES,
            4310,
        ),
    ],
)
def test_what_is_read_takes_no_more_instructions_than(what, function, times, limit, tmp_path):
    taken = count_in(READ_DRIVER, function, tmp_path / "run", STEPS, TENSORS, 64, VALUES) / times
    check_limit(what, taken, limit)


JUDGED_STEPS = 50


@pytest.mark.parametrize(("rule", "limit"), [("VanishingGradient", 230), ("ExplodingTensor", 225)])
def test_an_observation_is_judged_in_no_more_instructions_than(rule, limit):
    # The first step also decides which names the rule selects.
    judge = "smdebug::RuleRunner::on_step(smdebug::StepView const&)"
    first = count_in(RULE_DRIVER, judge, rule, 1, TENSORS)
    taken = count_in(RULE_DRIVER, judge, rule, 1 + JUDGED_STEPS, TENSORS) - first
    check_limit(rule, taken / (JUDGED_STEPS * TENSORS), limit)


def test_a_configuration_is_parsed_in_time_that_grows_with_its_collections():
    # With a warning for each: its line and column are found in the text.
    parse = "smdebug::parse_hook_config*"
    few = count_in(CONFIG_DRIVER, parse, 500)
    many = count_in(CONFIG_DRIVER, parse, 4000)
    check_limit("a configuration of 8 times the collections", many / few, 10)
