"""Debian's Chromium, without a window and without a network."""

import pathlib
import shutil
import subprocess

PROGRAM = shutil.which("chromium")


def run(page, profile, *options):
    """Opens the file `page`; `profile` is a folder that Chromium may write to. Returns what it
    printed, a CompletedProcess of text."""
    return subprocess.run(
        [
            PROGRAM,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", "--disable-background-networking", "--hide-scrollbars"),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            *options,
            pathlib.Path(page).absolute().as_uri(),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
