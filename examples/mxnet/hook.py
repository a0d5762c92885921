"""A Gluon training with a hook: the MXNet example of the original's documentation.

python hook.py OUT_DIR
"""

import sys

import mxnet as mx
from mxnet import autograd, gluon

import smdebug.mxnet as smd

net = gluon.nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense(1))
net.initialize()
loss = gluon.loss.L2Loss()

hook = smd.Hook(
    out_dir=sys.argv[1],
    export_tensorboard=False,
    tensorboard_dir=None,
    dry_run=False,
    reduction_config=None,
    save_config=smd.SaveConfig(save_interval=10),
    include_regex=None,
    include_collections=["weights", "gradients", "layer"],
    save_all=False,
    include_workers="one",
)
hook.get_collection("layer").add_block_tensors(net[0], inputs=True, outputs=True)
hook.get_collection("gradients").reduction_config = smd.ReductionConfig(
    reductions=["min", "max", "mean"], norms=["l1"]
)
hook.register_block(net)
hook.register_block(loss)

trainer = gluon.Trainer(net.collect_params(), "adam")
x = mx.nd.random.uniform(shape=(32, 4))
y = x.sum(axis=1, keepdims=True)
for _epoch in range(3):
    hook.set_mode(smd.modes.TRAIN)
    for _ in range(20):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(32)
        hook.save_scalar("learning_rate", trainer.learning_rate)
    hook.set_mode(smd.modes.EVAL)
    loss(net(x), y)
hook.close()

trial = smd.create_trial(sys.argv[1])
for mode in (smd.modes.TRAIN, smd.modes.EVAL):
    print(mode.name, trial.steps(mode=mode))
print(trial.tensor_names(collection="losses"), trial.tensor_names(collection="layer"))
largest = trial.tensor("gradient/net_dense0_weight").reduction_value(0, "max", mode=smd.modes.TRAIN)
print("largest gradient of the first step:", largest)
