"""Runs a script under `smdebug run` without options."""

import json
import pathlib
import subprocess
import sys

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"


def result_of(folder: pathlib.Path, text: str) -> dict:
    """What `smdebug run --json` prints after the script `text`, which must print "trained to the
    end"."""
    script = folder / "train.py"
    script.write_text(text)
    done = subprocess.run(
        [SMDEBUG, "run", "--json", "--out", folder / "run", "--", sys.executable, script],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
    )
    assert "trained to the end" in done.stdout, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


def findings_of(folder: pathlib.Path, text: str) -> dict[str, dict]:
    """Rule -> verdict of the rules that fired on the script, in the order of the report."""
    verdicts = result_of(folder, text)["verdicts"]
    return {each["rule"]: each for each in verdicts if each["status"] == "IssuesFound"}
