"""Names, steps and values that a Gluon training leaves, against MXNet itself."""

import numpy as np
import pytest
from listed_tensors import check_collections_list_what_was_saved
from mxnet import autograd, gluon
from mxnet.gluon import nn

from conftest import EVERY_STEP, Training, make_net, mx, run_text, smd, values_at
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

WEIGHTS_AND_GRADIENTS = ["weights", "biases", "gradients", "losses"]


def test_the_default_hook_saves_the_losses_alone(out_dir, read):
    hook = smd.Hook(out_dir)
    Training(hook).steps(2)
    hook.close()
    trial = read()
    assert trial.tensor_names() == ["softmaxce_loss0_output_0"]
    assert trial.steps() == [0] and trial.collections()["losses"].include_regex == [
        ".*loss._(?!input).*output"
    ]


def test_names_are_those_of_gluon_and_cover_blocks_parameters_and_gradients(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    Training(hook).steps(2)
    hook.close()
    names = set(read().tensor_names(step=1))
    parameters = {f"net_dense{i}_{kind}" for i in (0, 1) for kind in ("weight", "bias")}
    blocks = ["net", "net_dense0", "net_dense0_relu", "net_dropout0", "net_dense1"]
    assert names == {
        *parameters,
        *(f"gradient/{name}" for name in parameters),
        *(f"{block}_{side}_0" for block in blocks for side in ("input", "output")),
        "softmaxce_loss0_input_0",
        "softmaxce_loss0_input_1",
        "softmaxce_loss0_output_0",
    }


def test_a_step_has_its_gradients_and_the_parameters_after_its_update(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=WEIGHTS_AND_GRADIENTS, save_config=EVERY_STEP)
    training, expected = Training(hook), []
    for _ in range(3):
        x, y = training.batch()
        losses = training.backward(x, y)
        gradients = training.gradients()
        training.trainer.step(len(x))
        expected.append((losses[0].asnumpy(), gradients, training.weights()))
    hook.close()
    trial = read()
    assert trial.steps() == [0, 1, 2]
    for step, (loss, gradients, weights) in enumerate(expected):
        saved = values_at(trial, step)
        np.testing.assert_array_equal(saved.pop("softmaxce_loss0_output_0"), loss)
        for name in weights:
            np.testing.assert_array_equal(saved.pop(name), weights[name])
            np.testing.assert_array_equal(saved.pop(f"gradient/{name}"), gradients[name])
        assert not saved


def test_block_inputs_and_outputs_are_what_the_blocks_took_and_gave(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    before = None
    for _ in range(2):
        x, y = training.batch()
        training.backward(x, y)
        before = training.weights()
        training.trainer.step(len(x))
    hook.close()
    saved = values_at(read(), 1)
    hidden = x @ before["net_dense0_weight"].T + before["net_dense0_bias"]
    np.testing.assert_array_equal(saved["net_input_0"], x)
    np.testing.assert_allclose(saved["net_dense0_relu_input_0"], hidden, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(
        saved["net_dense0_relu_output_0"], np.maximum(saved["net_dense0_relu_input_0"], 0)
    )
    np.testing.assert_array_equal(saved["net_dense1_input_0"], saved["net_dropout0_output_0"])
    np.testing.assert_array_equal(saved["softmaxce_loss0_input_0"], saved["net_output_0"])
    np.testing.assert_array_equal(saved["softmaxce_loss0_input_1"], y)


def test_convolutions_are_saved_whatever_their_layout_in_memory(out_dir, read):
    net = nn.HybridSequential(prefix="conv_")
    with net.name_scope():
        net.add(nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Conv2D(16, 3, padding=1))
    net.initialize()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    x = mx.nd.random.uniform(shape=(4, 16, 16, 16))
    with autograd.record():
        y = net(x)
    y.backward()
    hook.close()
    saved = values_at(read(), 0)
    parameters = net.collect_params()
    np.testing.assert_array_equal(saved["conv_output_0"], y.asnumpy())
    for name in ("conv_conv0_weight", "conv_conv1_weight"):
        np.testing.assert_array_equal(saved[name], parameters[name].data().asnumpy())
        np.testing.assert_array_equal(saved[f"gradient/{name}"], parameters[name].grad().asnumpy())
    assert "conv_batchnorm0_running_mean" in saved
    assert "gradient/conv_batchnorm0_running_mean" not in saved


def test_a_training_in_the_mode_of_an_evaluation_is_told_once(out_dir, caplog):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    training = Training(hook)
    hook.set_mode(smd.modes.TRAIN)
    training.step()
    hook.set_mode(smd.modes.EVAL)
    training.evaluate()
    assert "in mode" not in caplog.text
    for _ in range(2):
        training.step()
    hook.close()
    text = "a trainer has updated the model in mode EVAL: call hook.set_mode"
    assert caplog.text.count(text) == 1


def test_each_mode_counts_its_own_steps_and_only_training_has_gradients(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=WEIGHTS_AND_GRADIENTS, save_config=EVERY_STEP)
    training = Training(hook)
    for mode in [smd.modes.TRAIN, smd.modes.TRAIN, smd.modes.EVAL, smd.modes.TRAIN]:
        hook.set_mode(mode)
        if mode is smd.modes.TRAIN:
            training.step()
        else:
            training.evaluate()
    hook.close()
    trial = read()
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 1, 2]
    assert trial.steps(mode=smd.modes.EVAL) == [0]
    gradients = trial.tensor_names(collection="gradients")
    assert len(gradients) == 4
    assert not set(gradients) & set(trial.tensor_names(step=0, mode=smd.modes.EVAL))
    assert set(gradients) < set(trial.tensor_names(step=1, mode=smd.modes.TRAIN))
    assert "net_dense0_weight" in trial.tensor_names(step=0, mode=smd.modes.EVAL)


def test_in_mode_global_a_pass_without_backward_has_no_gradients(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=WEIGHTS_AND_GRADIENTS, save_config=EVERY_STEP)
    training = Training(hook)
    training.step()
    training.evaluate()
    hook.close()
    trial = read()
    assert any(name.startswith("gradient/") for name in trial.tensor_names(step=0))
    assert not any(name.startswith("gradient/") for name in trial.tensor_names(step=1))


def test_gradients_that_no_trainer_uses_are_saved_when_the_step_ends(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    training, expected = Training(hook), []
    for _ in range(2):
        training.backward(*training.batch())
        expected.append(training.gradients())
        for parameter in training.net.collect_params().values():
            parameter.data()[:] -= 0.1 * parameter.grad()
    hook.close()
    trial = read()
    for step, gradients in enumerate(expected):
        assert len(gradients) == 4
        for name, gradient in gradients.items():
            np.testing.assert_array_equal(trial.tensor(f"gradient/{name}").value(step), gradient)


def test_gradients_that_the_script_clears_after_the_update_are_those_of_the_update(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    training = Training(hook)
    training.net.collect_params().setattr("grad_req", "add")
    for _ in range(2):
        training.net.collect_params().zero_grad()
        x, y = training.batch()
        training.backward(x, y)
        gradients = training.gradients()
        training.trainer.step(len(x))
        training.net.collect_params().zero_grad()
    hook.close()
    assert len(gradients) == 4
    for name, gradient in gradients.items():
        saved = read().tensor(f"gradient/{name}").value(1)
        np.testing.assert_array_equal(saved, gradient)
        assert np.abs(saved).sum() > 0


def test_a_block_that_is_called_twice_numbers_its_outputs_on(out_dir, read):
    class Twice(gluon.Block):
        def __init__(self):
            super().__init__(prefix="twice_")
            with self.name_scope():
                self.inner = nn.Dense(4, in_units=4)

        def forward(self, x):
            return self.inner(self.inner(x)), [x]

    net = Twice()
    net.initialize()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    x = mx.nd.random.uniform(shape=(2, 4))
    (y, _) = net(x)
    hook.close()
    saved = values_at(read(), 0)
    np.testing.assert_array_equal(saved["twice_dense0_output_1"], y.asnumpy())
    np.testing.assert_array_equal(saved["twice_dense0_input_1"], saved["twice_dense0_output_0"])
    np.testing.assert_array_equal(saved["twice_output_1"], x.asnumpy())


def test_every_kind_of_array_comes_back_as_it_was(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    net = nn.HybridLambda(lambda F, x, *rest: x, prefix="same_")
    hook.register_block(net)
    half = np.float16([1.5, -2])
    whole = np.arange(6, dtype=np.int64).reshape(2, 3)
    bfloat = mx.nd.cast(mx.nd.array([1.5, -2]), dtype=np.dtype([("bfloat16", np.uint16)]))
    sparse = mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    numpys = mx.np.array([3.0, 4.0])
    net(mx.nd.array(half, dtype=half.dtype), mx.nd.array(whole, dtype=whole.dtype), bfloat)
    net(sparse, numpys)
    hook.close()
    saved = values_at(read(), 0)
    np.testing.assert_array_equal(saved["same_input_0"], half)
    assert saved["same_input_0"].dtype == half.dtype
    np.testing.assert_array_equal(saved["same_input_1"], whole)
    # This environment has no ml_dtypes, so bfloat16 is widened.
    assert saved["same_input_2"].dtype.name == "float32"
    np.testing.assert_array_equal(saved["same_input_2"], [1.5, -2])
    saved = values_at(read(), 1)
    np.testing.assert_array_equal(saved["same_input_0"], [[0, 0], [1, 2]])
    np.testing.assert_array_equal(saved["same_input_1"], [3, 4])


# mx.nd has no std and no variance, where the original failed.
def test_every_reduction_is_that_of_numpy_over_all_elements(out_dir, read):
    names = ["min", "max", "mean", "median", "std", "variance", "sum", "prod"]
    config = smd.ReductionConfig(
        reductions=names, abs_reductions=names, norms=["l1", "l2"], save_raw_tensor=True
    )
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, reduction_config=config)
    Training(hook).steps(2)
    hook.close()
    trial = read()
    for name in ("net_dense0_weight", "gradient/net_dense1_weight", "net_dense0_relu_output_0"):
        tensor = trial.tensor(name)
        value = tensor.value(1).astype(np.float64).ravel()
        saved = tensor.reduction_values(1)
        for is_abs, x in ((False, value), (True, np.abs(value))):
            for reduction, function in {
                **{each: getattr(np, each) for each in names if each != "variance"},
                "variance": np.var,
            }.items():
                got = saved[reduction, is_abs]
                assert got.shape == (1,) and got.dtype == np.float32
                np.testing.assert_allclose(got, [function(x)], rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(saved["l1", False], [np.abs(value).sum()], rtol=1e-5)
        np.testing.assert_allclose(saved["l2", False], [np.sqrt((value**2).sum())], rtol=1e-5)


def test_a_collection_holds_the_tensors_of_a_block(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["mine"], save_config=EVERY_STEP)
    training = Training(hook)
    hook.get_collection("mine").add_block_tensors(training.net[0], inputs=True)
    hook.get_collection("mine").include("dense1_output")
    training.steps(2)
    hook.close()
    assert set(read().tensor_names(collection="mine")) == {
        "net_dense0_input_0",
        "net_dense0_output_0",
        "net_dense1_output_0",
    }


def test_a_block_that_is_not_registered_is_logged_and_its_collection_ignored(out_dir, read, logged):
    wanted = ["mine", "weights", "flatten"]
    hook = smd.Hook(out_dir, include_collections=wanted, save_config=EVERY_STEP)
    hook.get_collection("mine").add_block_tensors(nn.Dense(3, prefix="stranger_"))
    with pytest.raises(SMDebugTypeError, match="takes a gluon.Block, found 'net'"):
        hook.get_collection("mine").add_block_tensors("net")
    with pytest.raises(SMDebugTypeError, match=r"pass an object of it, Dense\(...\)"):
        hook.register_block(nn.Dense)
    Training(hook).steps(2)
    hook.close()
    assert len([text for text in logged if "'stranger'" in text and "register_block" in text]) == 1
    assert len([text for text in logged if "'flatten'" in text]) == 1
    assert read().tensor("net_dense0_weight").steps() == [0, 1]


@pytest.mark.parametrize("prefix", ["my_", "softmaxce_loss10_", "loss_"])
def test_a_loss_is_in_its_collection_whatever_its_name(out_dir, read, prefix):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    net, loss = make_net(), gluon.loss.L2Loss(prefix=prefix)
    net.initialize()
    hook.register_block(net)
    hook.register_block(loss)
    loss(net(mx.nd.ones((2, 4))), mx.nd.ones((2, 3)))
    hook.close()
    assert read().tensor_names(collection="losses") == [f"{prefix}output_0"]


@pytest.mark.parametrize("update_on_kvstore", [True, False])
def test_a_batch_over_two_devices_is_one_step_with_the_gradient_of_the_update(
    out_dir, read, update_on_kvstore
):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    devices = [mx.cpu(0), mx.cpu(1)]
    training = Training(hook, context=devices, update_on_kvstore=update_on_kvstore)
    expected = []
    for _ in range(3):
        x, y = training.batch()
        training.backward(x, y)
        gradients = training.gradients()
        training.trainer.step(len(x))
        expected.append((x, gradients, training.weights()))
    hook.close()
    trial = read()
    assert trial.steps() == [0, 1, 2]
    for step, (x, gradients, weights) in enumerate(expected):
        saved = values_at(trial, step)
        for name in weights:
            np.testing.assert_array_equal(saved[name], weights[name])
            np.testing.assert_array_equal(saved[f"gradient/{name}"], gradients[name])
        np.testing.assert_array_equal(saved["net_input_0"], x[:3])
        np.testing.assert_array_equal(saved["net_input_1"], x[3:])
        assert "softmaxce_loss0_output_1" in saved


def test_gradients_reduced_by_hand_are_not_summed_again(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    training = Training(hook, context=[mx.cpu(0), mx.cpu(1)], update_on_kvstore=False)
    x, y = training.batch()
    training.backward(x, y)
    gradients = training.gradients()
    training.trainer.allreduce_grads()
    training.trainer.update(len(x))
    hook.close()
    assert len(gradients) == 4
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(read().tensor(f"gradient/{name}").value(0), gradient)


def test_with_step_on_optimizer_accumulated_batches_are_one_step(out_dir, read):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, step_on="optimizer")
    training = Training(hook)
    training.net.collect_params().setattr("grad_req", "add")
    for _ in range(2):
        for _ in range(3):
            training.backward(*training.batch())
        training.trainer.step(18)
        training.net.collect_params().zero_grad()
    hook.close()
    trial = read()
    assert trial.steps() == [0, 1]
    assert trial.tensor_names(step=1) == [f"softmaxce_loss0_output_{i}" for i in range(3)]


def test_two_models_keep_their_gradients_apart_though_one_trainer_acts(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    training = Training(hook)
    hook.get_collection("losses").save_config.end_step = 0
    other = make_net("other_")
    other.initialize()
    other(mx.nd.ones((1, 4)))
    hook.register_block(other)
    training.step()
    hook.close()
    assert {name.split("_")[0] for name in read().tensor_names()} == {"gradient/net"}


@pytest.mark.parametrize(
    ("thing", "error", "says"),
    [
        ("net", SMDebugTypeError, "gluon.Block"),
        (None, SMDebugTypeError, "gluon.Block"),
    ],
)
def test_what_is_no_block_is_refused(out_dir, thing, error, says):
    with pytest.raises(error, match=says):
        smd.Hook(out_dir).register_block(thing)


def test_a_loss_that_is_not_registered_is_named_with_the_call(out_dir, capfd):
    hook = smd.Hook(out_dir, include_collections=["losses", "weights"], save_config=EVERY_STEP)
    net = make_net()
    net.initialize()
    hook.register_block(net)
    with autograd.record():
        net(mx.nd.ones((2, 4)))
    hook.close()
    said = "no loss is registered: call hook.register_block(loss_fn)"
    assert said in capfd.readouterr().err


def test_a_hook_with_a_loss_alone_says_that_the_net_is_missing(out_dir, logged):
    hook = smd.Hook(out_dir)
    loss = gluon.loss.L2Loss()
    hook.register_block(loss)
    hook.close()
    assert any("only a loss is registered" in each for each in logged)


def test_a_hook_of_a_block_that_is_never_called_says_so(out_dir, logged):
    hook = smd.Hook(out_dir)
    net = make_net()
    hook.register_block(net)
    hook.close()
    assert any("no registered block ('net') was called to its end" in each for each in logged)


def test_a_block_is_registered_once(out_dir):
    hook, net = smd.Hook(out_dir), make_net()
    hook.register_hook(net)
    for again, name in ((net, "net"), (net[0], "net_dense0")):
        with pytest.raises(SMDebugValueError, match=f"block '{name}' is registered already"):
            hook.register_block(again)


def test_what_belongs_to_a_net_is_refused_with_the_net(out_dir):
    hook, net = smd.Hook(out_dir), make_net()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for given in (trainer, gluon.Trainer, net.collect_params()):
        with pytest.raises(SMDebugTypeError, match="register_block takes .*; pass the net$"):
            hook.register_block(given)
    with pytest.raises(SMDebugTypeError, match="found <class 'dict'>$"):
        hook.register_block(dict)
    collection = hook.get_collection("mine")
    with pytest.raises(SMDebugTypeError, match=r"pass the block itself, such as net\[0\]"):
        collection.add_block_tensors("dense0")
    with pytest.raises(AttributeError, match=r"use add_block_tensors\(block\)"):
        collection.add_module_tensors(net)


def test_an_unknown_way_to_count_steps_is_refused(out_dir):
    with pytest.raises(SMDebugValueError, match="'forward' or 'optimizer'"):
        smd.Hook(out_dir, step_on="epoch")


def test_a_block_without_parameters_is_recorded(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    block = nn.Activation("relu", prefix="alone_")
    hook.register_block(block)
    block(mx.nd.array([-1.0, 2.0]))
    hook.close()
    np.testing.assert_array_equal(values_at(read(), 0)["alone_output_0"], [0, 2])


def test_a_parameter_that_gets_its_shape_in_the_first_step_is_saved_in_it(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["weights"], save_config=EVERY_STEP)
    training = Training(hook).steps(1)
    hook.close()
    np.testing.assert_array_equal(
        values_at(read(), 0)["net_dense0_weight"], training.weights()["net_dense0_weight"]
    )


def test_a_parameter_that_is_never_used_is_left_out(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=WEIGHTS_AND_GRADIENTS, save_config=EVERY_STEP)

    class Idle(nn.HybridSequential):
        def __init__(self):
            super().__init__(prefix="idle_")
            with self.name_scope():
                self.unused = nn.Dense(5, prefix="unused_")

        def forward(self, x):
            return self[0](x)

    net = Idle()
    with net.name_scope():
        net.add(nn.Dense(3))
    net._children.move_to_end("unused")
    net.forward = lambda x: list(net._children.values())[0](x)
    net.initialize()
    hook.register_block(net)
    with autograd.record():
        y = net(mx.nd.ones((2, 4)))
    y.backward()
    hook.close()
    names = read().tensor_names()
    assert "idle_dense0_weight" in names
    assert not any("unused_weight" in name for name in names)
    check_collections_list_what_was_saved(read())
    assert hook.status().state == "closed" and hook.status().error is None


def test_a_sparse_parameter_is_left_out_with_a_word_and_its_gradient_is_saved(out_dir, read, capfd):
    hook = smd.Hook(out_dir, include_collections=["weights", "gradients"], save_config=EVERY_STEP)
    net = gluon.contrib.nn.SparseEmbedding(5, 2, prefix="embedding_")
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    hook.register_block(net)
    for _ in range(2):
        with autograd.record():
            y = net(mx.nd.array([1, 3]))
        y.backward()
        trainer.step(2)
    hook.close()
    assert read().tensor_names() == ["gradient/embedding_weight"]
    check_collections_list_what_was_saved(read())
    gradient = values_at(read(), 1)["gradient/embedding_weight"]
    np.testing.assert_array_equal(gradient, [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]])
    assert capfd.readouterr().err.count("'embedding_weight' is not saved: it is stored sparse") == 1


def test_nan_is_saved_and_counted(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["losses", "gradients"], save_config=EVERY_STEP)
    training = Training(hook, net=nn.Dense(3, prefix="net_"))  # a ReLU makes 0 of NaN
    training.backward(np.full((6, 4), np.nan, np.float32), np.zeros(6, np.float32))
    training.trainer.step(6)
    hook.close()
    saved = values_at(read(), 0)
    assert np.isnan(saved["softmaxce_loss0_output_0"]).all()
    assert np.isnan(saved["gradient/net_weight"]).all()


def test_the_failure_of_an_operator_reaches_the_training(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    net = nn.HybridLambda(lambda F, x: F.random.normal(0, -1, shape=(2, 2)), prefix="wrong_")
    hook.register_block(net)
    with pytest.raises(mx.MXNetError):
        net(mx.nd.ones((1,)))
    assert hook.status().error is None


def test_a_failure_of_ours_stays_with_the_hook_and_the_training_goes_on(out_dir, monkeypatch):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)

    def broken(*arguments):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("smdebug.mxnet.arrays.readable", broken)
    training.steps(3)
    assert "ours" in hook.status().error and hook.status().state == "failed"


def test_closing_a_hook_leaves_mxnet_as_it_was(out_dir):
    step, update = gluon.Trainer.step, gluon.Trainer.update
    hybridize = gluon.HybridBlock.hybridize
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    training.net.hybridize()
    training.steps(1)
    assert gluon.Trainer.step is not step
    hook.close()
    assert gluon.Trainer.step is step and gluon.Trainer.update is update
    assert gluon.HybridBlock.hybridize is hybridize
    assert not training.net._forward_hooks and not training.net._forward_pre_hooks
    assert training.net._callback is None
    training.steps(1)


def test_a_copied_net_keeps_the_hook_and_saved_parameters_do_not_know_it(out_dir, tmp_path, read):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    training = Training(hook).steps(1)
    training.net.save_parameters(str(tmp_path / "net.params"))
    again = make_net()
    again.load_parameters(str(tmp_path / "net.params"))
    x = mx.nd.ones((1, 4))
    np.testing.assert_array_equal(again(x).asnumpy(), training.net(x).asnumpy())


def test_the_run_ends_with_the_program(tmp_path, out_dir, read):
    run_text(
        tmp_path,
        """
        import sys
        import smdebug.mxnet as smd
        import mxnet as mx
        net = mx.gluon.nn.Dense(2, prefix="last_")
        net.initialize()
        hook = smd.Hook(sys.argv[1], include_collections=["weights"],
                        save_config=smd.SaveConfig(save_interval=1))
        hook.register_block(net)
        net(mx.nd.ones((1, 3)))
        """,
        out_dir,
    )
    assert read().tensor("last_weight").value(0).shape == (2, 3)
    assert read().loaded_all_steps


def test_what_is_due_seldom_costs_no_look_at_the_arrays(out_dir, monkeypatch):
    looked = []
    monkeypatch.setattr("smdebug.mxnet.arrays.readable", lambda array: looked.append(array))
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(start_step=100))
    Training(hook).steps(3)
    assert not looked
