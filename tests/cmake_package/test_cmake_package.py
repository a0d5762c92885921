"""Installs the release build, then builds and runs a stranger's project on it."""

import math
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINE = ROOT / "examples/cpp"


def run(*command) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> pathlib.Path:
    """Where a stranger's programs lie, built on the installed package."""
    folder = tmp_path_factory.mktemp("stranger")
    prefix, build = folder / "prefix", folder / "build"
    if not (ROOT / "build/release/build.ninja").exists():
        run("cmake", "--preset", "release", "-S", ROOT)
    run("cmake", "--build", ROOT / "build/release")
    run("cmake", "--install", ROOT / "build/release", "--prefix", prefix)
    run(
        *("cmake", "-S", ROOT / "tests/cmake_package", "-B", build, "-G", "Ninja"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", build)
    wine = folder / "wine"
    run("cmake", "-S", WINE, "-B", wine, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", wine)
    (build / "wine_training").symlink_to(wine / "wine_training")
    return build


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
