"""Interprets hook configurations with the original; run it in .venv/original.

Reads a JSON list of configurations from standard input and writes, for each, what its hook
would save and when.
"""

import json
import logging
import sys
import tempfile

logging.disable(logging.CRITICAL)

import smdebug.pytorch as smd  # noqa: E402


def answer(config, path):
    with open(path, "w") as file:
        json.dump(config, file)
    smd.del_hook()
    hook = smd.Hook.create_from_json_file(path)
    collections = {}
    for entry in config.get("CollectionConfigurations") or []:
        collection = hook.get_collection(entry["CollectionName"])
        collections[collection.name] = collection.to_json_dict()
    return {
        "out_dir": hook.out_dir,
        "save_config": hook.save_config.to_json_dict(),
        "reduction_config": hook.reduction_config.to_json_dict(),
        "include_regex": hook.include_regex or [],
        "include_collections": sorted(hook.include_collections),
        "save_all": hook.save_all,
        "collections": collections,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        configs = json.load(sys.stdin)
        answers = [answer(config, f"{folder}/config.json") for config in configs]
    print(json.dumps(answers))
