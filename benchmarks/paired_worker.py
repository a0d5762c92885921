"""A program that measures in a separate environment, controlled by lines on its standard input.

It reads a number per line and answers with a line of JSON. If it ends early, its standard error is
shown.
"""

import json
import pathlib
import subprocess


class Worker:
    def __init__(self, command: list, log: pathlib.Path):
        self._said = log.open("w+")
        self._program = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def answer(self) -> dict:
        line = self._program.stdout.readline()
        if not line:
            self._said.seek(0)
            command = " ".join(self._program.args)
            raise SystemExit(f"{command}: ended early:\n{self._said.read()[-2000:]}")
        return json.loads(line)

    def ask(self, number: int) -> dict:
        print(number, file=self._program.stdin, flush=True)
        return self.answer()

    def close(self) -> None:
        self._program.stdin.close()
        self._program.wait(60)


class PairedWorker(Worker):
    """One that runs the same work bare and watched, in turn."""

    def __init__(self, command: list, log: pathlib.Path):
        super().__init__(command, log)
        self.bare: list[tuple[float, float]] = []  # wall, CPU; seconds
        self.watched: list[tuple[float, float]] = []

    def run(self, number: int) -> None:
        answer = self.ask(number)
        self.bare += answer["bare"]
        self.watched += answer["watched"]
