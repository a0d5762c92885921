"""A hook for Gluon from a JSON file, as a SageMaker job configures it.

python from_json.py CONFIGURATION
"""

import sys

import mxnet as mx

import smdebug.mxnet as smd

hook = smd.Hook.create_from_json_file(json_file_path=sys.argv[1])
assert smd.get_hook() is hook

net = mx.gluon.nn.Dense(1, prefix="net_")
net.initialize()
hook.register_block(net)
for _ in range(5):
    net(mx.nd.ones((2, 3)))
hook.close()

trial = smd.create_trial(hook.out_dir)
print(trial.tensor_names(), trial.steps())
