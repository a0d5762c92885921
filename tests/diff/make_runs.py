"""Records the runs that the rules' sessions judge: `healthy` and `sick`, of the training that the
conformance tests judge through every edge. Run it by hand when a rule needs more tensors:

    .venv/torch/bin/python tests/diff/make_runs.py

The archives are kept, so that the texts do not depend on the machine that trains.
"""

import json
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))

import judged_training as program  # noqa: E402

import smdebug.pytorch as smd  # noqa: E402


def record(out_dir: str, is_sick: bool) -> None:
    """Trains and saves every tensor of every step."""
    training = program.Training(is_sick)
    every_step = smd.SaveConfig(save_interval=1)
    with smd.Hook(out_dir, save_all=True, save_config=every_step) as hook:
        hook.register_module(training.model)
        hook.register_loss(training.loss)
        for number in range(program.STEPS):
            hook.set_mode(smd.modes.TRAIN)
            training.step(number, hook.save_tensor)
            if number % 3 == 2:
                hook.set_mode(smd.modes.EVAL)
                training.evaluate(number, hook.save_tensor)


def forget_machine(run: pathlib.Path) -> None:
    """Removes the facts about the machine that recorded the run."""
    path = run / "run.json"
    facts = json.loads(path.read_text())
    for attempt in facts["attempts"]:
        attempt |= {"command": ["python", "train.py"], "host": "localhost", "pid": 1}
    path.write_text(json.dumps(facts, indent=2) + "\n")


def main() -> None:
    for name in ("healthy", "sick"):
        with tempfile.TemporaryDirectory() as folder:
            record(f"{folder}/run", name == "sick")
            forget_machine(pathlib.Path(folder) / "run")
            shutil.make_archive(str(HERE / name), "gztar", folder, "run")


if __name__ == "__main__":
    main()
