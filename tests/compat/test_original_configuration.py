"""The original, from PyPI, and we make the same of a hook's configuration."""

import json
import os
import pathlib
import random
import subprocess

import pytest

import smdebug.pytorch as smd
from smdebug import _core

HERE = pathlib.Path(__file__).resolve().parent
ORIGINAL = HERE.parents[1] / ".venv/original/bin/python"
MODES = ["train", "eval", "predict", "global"]
REDUCTIONS = ["min", "max", "mean", "std", "abs_mean", "abs_max", "l1_norm", "abs_l2_norm"]


class RandomConfigs:
    """Configurations of what both libraries accept."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        value = self.random.randint(1, 99)
        return str(value) if self.random.random() < 0.5 else value

    def some(self, words, least=1):
        return ",".join(self.random.sample(words, self.random.randint(least, len(words))))

    def parameters(self):
        given = {}
        for prefix in ["", *(f"{mode}." for mode in MODES)]:
            for key in ("save_interval", "start_step", "end_step"):
                if self.random.random() < 0.25:
                    given[prefix + key] = self.number()
            if self.random.random() < 0.25:
                given[prefix + "save_steps"] = ", ".join(map(str, self.random.sample(range(50), 3)))
        if self.random.random() < 0.5:
            given["reductions"] = self.some(REDUCTIONS)
            if self.random.random() < 0.5:
                given["save_raw_tensor"] = self.random.random() < 0.5
            if self.random.random() < 0.5:
                given["save_shape"] = self.random.random() < 0.5
        if self.random.random() < 0.5:
            given["include_regex"] = self.some(["relu.*_output", " tanh", "^fc[0-9]+$"])
        return given

    def config(self, folder):
        parameters = self.parameters()
        if self.random.random() < 0.5:
            parameters["save_all"] = self.random.choice([True, False, "true", "False"])
        collections = []
        for _ in range(self.random.randint(0, 4)):
            entry = {"CollectionName": self.random.choice(["weights", "losses", "mine", "other"])}
            if self.random.random() < 0.8:
                entry["CollectionParameters"] = self.parameters()
                if self.random.random() < 0.3:
                    entry["CollectionParameters"]["save_histogram"] = self.random.choice(
                        [True, "false"]
                    )
            collections.append(entry)
        return {
            "LocalPath": folder,
            "HookParameters": parameters,
            "CollectionConfigurations": collections or None,
        }


def of_the_original(configs):
    if not ORIGINAL.exists():
        pytest.fail(f"{ORIGINAL} is not there: run tools/venv original")
    done = subprocess.run(
        [ORIGINAL, HERE / "configure_with_original.py"],
        input=json.dumps(configs),
        capture_output=True,
        text=True,
        timeout=300,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def of_ours(config):
    framework, job = _core.pytorch_framework(), _core.JobEnvironment()
    file = _core.parse_hook_config(json.dumps(config), "config.json", framework, job)
    assert file.warnings == []
    asked = file.config
    reduction = asked.reduction_config
    save_config = asked.save_config or smd.SaveConfig()
    collections = {}
    for collection in asked.collections:
        # Without a configuration of its own a collection follows the hook's.
        collection.save_config = collection.save_config or save_config
        collections[collection.name] = collection.to_json_dict()
    named = {"losses", *asked.include_collections}
    return {
        "out_dir": asked.out_dir,
        "save_config": save_config.to_json_dict(),
        "reduction_config": (reduction or smd.ReductionConfig(save_raw_tensor=True)).to_json_dict(),
        "include_regex": asked.include_regex,
        "include_collections": sorted(
            named
            | ({"default"} if asked.include_regex else set())
            | ({"all"} if asked.save_all else set())
        ),
        "save_all": asked.save_all,
        "collections": collections,
    }


def test_both_make_the_same_of_random_configurations(tmp_path):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    numbers = RandomConfigs(seed)
    configs = [numbers.config(str(tmp_path / str(i))) for i in range(60)]
    for config, theirs in zip(configs, of_the_original(configs), strict=True):
        ours = of_ours(config)
        for made in (ours, theirs):
            # The original takes histograms of losses back later, whatever the user says.
            made["collections"].get("losses", {}).pop("save_histogram", None)
        assert ours == theirs, json.dumps(config)
