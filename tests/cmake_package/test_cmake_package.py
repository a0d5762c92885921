"""Installs the release build, then builds and runs a stranger's project on it."""

import math
import os
import pathlib
import re
import subprocess

import pytest
from commands import ROOT, build_stranger, run

WINE = ROOT / "examples/cpp"
GUIDE = ROOT / "examples/cpp_guide"


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> pathlib.Path:
    """Where a stranger's programs lie, built on the installed package."""
    folder = tmp_path_factory.mktemp("stranger")
    build = folder / "build"
    build_stranger(ROOT / "tests/cmake_package", build, prefix)
    for name, source in (("wine", WINE), ("guide", GUIDE)):
        own = folder / name
        build_stranger(source, own, prefix)
        for program in own.iterdir():
            if program.is_file() and program.suffix == "" and os.access(program, os.X_OK):
                (build / program.name).symlink_to(program)
    return build


def test_the_umbrella_header_defines_no_macro(tmp_path):
    program = tmp_path / "program.cc"
    program.write_text('#include "smdebug/smdebug.h"\n')
    macros = run("c++", "-std=c++20", "-I", ROOT / "include", "-E", "-dM", program)
    assert "#define __cplusplus 2" in macros
    assert re.findall(r"#define (SMD\w*|.*smdebug.*)", macros) == []


def test_a_stranger_finds_links_and_uses_the_installed_package(programs, tmp_path):
    said = run(programs / "consumer", tmp_path / "run").splitlines()
    assert said[0] == "scalar/accuracy"
    assert said[1].endswith("version 2.0.0")


def test_the_readmes_program_finds_the_step_that_explodes(programs, tmp_path):
    # Each step multiplies the error by 1 - 0.5 * 28 = -13, and the gradient is
    # 28 times the error of 3: the first beyond float32 is at step 33.
    step = next(n for n in range(100) if 28 * 3 * 13.0**n > 3.4e38)
    said = run(programs / "first_run", tmp_path / "run").splitlines()
    assert said[0] == "100 steps judged"
    assert said[1].startswith("gradient/weight: ")
    assert f"at step {step}" in said[1]


def test_the_example_of_plain_cpp_trains_saves_and_reads_back(programs, tmp_path):
    said = run(programs / "wine_training", tmp_path / "run", WINE / "wine.csv").splitlines()
    first, last = (float(number) for number in re.findall(r"\d\.\d{4}", said[0]))
    # An untrained network knows no better than chance among three cultivars.
    assert abs(first - math.log(3)) < 0.5
    assert last < 0.05
    assert "step 199" in said[0]
    steps = {line.split()[0]: int(line.split()[1]) for line in said[1:]}
    assert steps["loss"] == 200
    assert steps["hidden.weight"] == steps["gradient/output.weight"] == 20


def test_the_example_of_plain_cpp_is_stopped_inside_the_loop(programs, tmp_path):
    said = run(programs / "wine_training", tmp_path / "run", WINE / "wine.csv", "1e30").splitlines()
    assert said[0].startswith("stopped before the update: ")
    # The first update moves the weights so far that the next step has no numbers.
    assert "at step 1 " in said[0]


def test_a_rule_of_ones_own_judges_beside_a_built_in_one(programs, tmp_path):
    # The weight is 3 - 3 * (-13)^n at step n, of which the first beyond 1000 is at step 3.
    weights = [3 - 3 * (-13.0) ** n for n in range(10)]
    step = next(n for n, weight in enumerate(weights) if abs(weight) > 1000)
    run(programs / "first_run", tmp_path / "run")
    own, built_in = run(programs / "own_rule", tmp_path / "run", 1000).splitlines()
    assert own == f"WeightOutgrown: weight: max |w| is {abs(weights[step]):.6f} at step {step}"
    assert built_in.startswith("ExplodingTensor: gradient/weight: ")
    (silent, _) = run(programs / "own_rule", tmp_path / "run", 1e40).splitlines()
    assert silent.startswith("WeightOutgrown: nothing found in ")


def table(*lines) -> dict[str, int]:
    """The number of steps of each tensor, as `read_run` prints them."""
    found = (re.match(r"(\S+): (\d+) steps, ", line) for line in lines)
    return {match[1]: int(match[2]) for match in found if match}


def test_the_sample_of_modes_counts_each_mode_for_itself(programs, tmp_path):
    run(programs / "modes", tmp_path / "run")
    said = run(programs / "read_run", tmp_path / "run").splitlines()
    # 30 steps of training, of which every fifth is saved, and 3 of evaluation.
    assert table(*said) == {"loss": 9, "scalar/accuracy": 3}
    losses = {
        int(step): float(loss)
        for step, loss in re.findall(r"TRAIN step (\d+): loss (\S+)", "\n".join(said))
    }
    assert losses == {step: round(1 / (1 + step), 4) for step in range(0, 30, 5)}
    assert any("LossNotDecreasing" in line for line in said)
    assert any("ExplodingTensor" in line for line in said)


def test_the_sample_of_collections_saves_what_its_collections_name(programs, tmp_path):
    run(programs / "collections", tmp_path / "run")
    done = subprocess.run(
        [programs / "read_run", tmp_path / "run"], capture_output=True, text=True, timeout=60
    )
    assert table(*done.stdout.splitlines()) == {
        "Net_hidden.bias": 3,
        "Net_hidden.kernel": 3,
        "hidden.activations": 3,
        "objective": 3,
    }
    assert "loss" in done.stderr  # the sample records none, which is an error


def test_the_sample_of_workers_writes_one_run(programs, tmp_path):
    run(programs / "workers", tmp_path / "run")
    said = run(programs / "read_run", tmp_path / "run").splitlines()
    assert table(*said) == {"loss": 4}


def test_the_sample_of_live_judging_stops_before_the_update(programs, tmp_path):
    # The weight is 3 - 3 * (-13)^n at step n. Rules see the gradient of that
    # step before the update, so that the weight stays finite.
    step = next(n for n in range(100) if 28 * 3 * 13.0**n > 3.4e38)
    stopped, last = run(programs / "live_judging", tmp_path / "run").splitlines()
    assert stopped.startswith("stopped: gradient/Line_weight: ")
    assert f"at step {step}" in stopped
    assert math.isclose(float(last.split()[-1]), 3 - 3 * (-13.0) ** step, rel_tol=1e-3)
