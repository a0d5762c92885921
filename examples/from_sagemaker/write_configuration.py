"""Writes the configuration of a hook with the classes of the SageMaker Python SDK."""

import json
import pathlib
import sys

from sagemaker.debugger import CollectionConfig, DebuggerHookConfig

folder = pathlib.Path(sys.argv[1])

hook_config = DebuggerHookConfig(
    container_local_output_path=str(folder / "run"),
    hook_parameters={"save_interval": "4", "eval.save_interval": "2"},
    collection_configs=[
        CollectionConfig("weights", {"reductions": "mean,max"}),
        CollectionConfig("gradients", {"save_steps": "1,3", "end_step": "0"}),
        CollectionConfig("activations", {"include_regex": ".*relu_output"}),
    ],
)
path = folder / "debughookconfig.json"
path.write_text(json.dumps(hook_config._to_request_dict()))
