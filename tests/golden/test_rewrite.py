"""The package writes the same files as the original for the same programs (README.md)."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_the_same_programs_write_the_originals_files_again():
    check = subprocess.run(
        [sys.executable, HERE / "rewrite.py", "--accept", HERE / "rewrite_differences.toml"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert check.returncode == 0, check.stdout + check.stderr
    for case in ("core_dtypes", "core_strings", "core_modes", "core_devices", "core_foreign"):
        assert f"{case}: " in check.stdout
