"""Hybridized nets: what their graphs show, against the same net run block by block."""

import numpy as np
import pytest
from listed_tensors import check_collections_list_what_was_saved
from mxnet import gluon
from mxnet.gluon import nn

from conftest import EVERY_STEP, Training, make_net, mx, smd, values_at
from smdebug.mxnet import private_names

EVERY_THIRD = smd.SaveConfig(save_interval=3)


def conv_net():
    net = nn.HybridSequential(prefix="conv_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(3))
    return net


class Branches(gluon.HybridBlock):
    """Blocks that return several arrays, take several, and run twice."""

    def __init__(self):
        super().__init__(prefix="branches_")
        with self.name_scope():
            self.shared = nn.Dense(4, in_units=4, activation="tanh")
            self.split = nn.HybridLambda(lambda F, x: F.split(x, 2), prefix="split_")
            self.join = nn.HybridLambda(lambda F, a, b: F.concat(b, a), prefix="join_")

    def hybrid_forward(self, F, x, y):
        left, right = self.split(self.shared(self.shared(x)))
        return self.join(left, right) + y


def recorded(out_dir, net, inputs, register_late=False, **hybridize):
    """What a pass of `net` leaves, with these options of hybridize."""
    mx.random.seed(3)
    net.initialize(mx.init.Xavier(rnd_type="uniform"))
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    if register_late:
        net.hybridize(**hybridize)
        net(*inputs)
    hook.register_block(net)
    if not register_late:
        net.hybridize(**hybridize)
    net(*inputs)
    hook.close()
    return values_at(smd.create_trial(out_dir), 0)


@pytest.mark.parametrize("register_late", [False, True])
@pytest.mark.parametrize("options", [{}, {"static_alloc": True}])
@pytest.mark.parametrize(
    ("make", "shapes"), [(conv_net, [(2, 1, 6, 6)]), (Branches, [(5, 4), (5, 4)])]
)
def test_a_graph_shows_the_tensors_of_all_blocks_inside(
    tmp_path, make, shapes, options, register_late
):
    inputs = [mx.nd.random.uniform(shape=shape) for shape in shapes]
    plain = recorded(str(tmp_path / "plain"), make(), inputs, active=False)
    graph = recorded(str(tmp_path / "graph"), make(), inputs, register_late, **options)
    assert plain.keys() == graph.keys() and len(plain) > 12
    for name in plain:
        np.testing.assert_allclose(graph[name], plain[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_calls_of_one_block_that_cannot_be_told_apart_are_left_out_with_a_word(out_dir, logged):
    class Siamese(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="siamese_")
            with self.name_scope():
                self.shared = nn.Dense(4, in_units=4)
                self.last = nn.Activation("relu")

        def hybrid_forward(self, F, x, y):
            return self.last(self.shared(x) - self.shared(y))

    inputs = [mx.nd.random.uniform(shape=(5, 4)) for _ in range(2)]
    saved = recorded(out_dir, Siamese(), inputs)
    assert not [name for name in saved if name.startswith("siamese_dense0_output")]
    np.testing.assert_array_equal(saved["siamese_dense0_input_1"], inputs[1].asnumpy())
    assert "siamese_relu0_output_0" in saved
    assert sum("does not show" in each and "'siamese_dense0'" in each for each in logged) == 1
    check_collections_list_what_was_saved(smd.create_trial(out_dir))


def test_mxnet_warns_of_the_hooks_of_the_script_and_not_of_ours(out_dir, warned):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    training.net[2].register_forward_hook(lambda *_: None)
    with warned() as texts:
        training.net.hybridize()
    (text,) = [each for each in texts if "is being hybridized" in each]
    assert "Dense(None -> 3" in text
    training.steps(1)
    hook.close()
    assert "net_dense0_output_0" in smd.create_trial(out_dir).tensor_names()


def test_what_a_graph_does_not_show_is_said_once(out_dir, logged):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    training.net.hybridize(static_alloc=True, static_shape=True)
    training.steps(4)
    hook.close()
    said = [each for each in logged if "does not show" in each]
    assert len(said) == 1 and "'net_dense0_relu'" in said[0] and "static_shape" in said[0]
    trial = smd.create_trial(out_dir)
    assert "net_output_0" in trial.tensor_names(step=3)
    check_collections_list_what_was_saved(trial)


def test_hybridized_children_of_a_block_that_is_not_are_seen_too(out_dir, read):
    class Outer(gluon.Block):
        def __init__(self):
            super().__init__(prefix="outer_")
            with self.name_scope():
                self.body = make_net("body_")  # outer_body_

        def forward(self, x):
            return self.body(x * 2)

    net = Outer()
    net.initialize()
    net.hybridize()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    x = mx.nd.random.uniform(shape=(2, 4))
    net(x)
    hook.close()
    saved = values_at(read(), 0)
    np.testing.assert_array_equal(saved["outer_body_dense0_input_0"], 2 * x.asnumpy())
    np.testing.assert_array_equal(
        saved["outer_body_dense0_relu_output_0"],
        np.maximum(saved["outer_body_dense0_relu_input_0"], 0),
    )


def test_only_saved_steps_run_the_graph_that_is_watched(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_THIRD)
    training = Training(hook)
    training.net.hybridize()
    graphs, is_watched = [], []
    for _ in range(7):
        training.step()
        graphs.append(training.net._cached_op)
        is_watched.append(training.net._callback is not None)
    assert is_watched == [True, False, False, True, False, False, True]
    assert len(set(map(id, graphs))) == 2


def test_a_net_of_which_nothing_inside_is_saved_keeps_its_graph(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    training = Training(hook)
    training.net.hybridize()
    training.steps(1)
    graph = training.net._cached_op
    training.steps(2)
    assert training.net._cached_op is graph and training.net._callback is None


def test_a_net_that_is_hybridized_again_in_the_middle_is_followed(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    names = []
    for active in (True, False, True):
        training.net.hybridize(active)
        training.steps(2)
    hook.close()
    names = [set(read().tensor_names(step=step)) for step in range(6)]
    assert all(each == names[0] for each in names) and "net_dense0_relu_output_0" in names[0]


def test_the_scripts_own_op_hook_is_left_alone(out_dir, read, logged):
    heard = []
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)

    def own(name, operator, handle):
        heard.append(name)

    training.net.register_op_hook(own)
    training.net.hybridize()
    training.steps(2)
    hook.close()
    assert heard and training.net._callback is own
    assert sum("the script registered an op hook on block" in each for each in logged) == 1
    assert "net_dense0_relu_output_0" not in read().tensor_names()
    assert "net_output_0" in read().tensor_names()


def test_two_devices_run_one_graph_each_in_one_step(out_dir, read):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook, context=[mx.cpu(0), mx.cpu(1)])
    training.net.hybridize()
    x, _ = training.step()
    hook.close()
    saved = values_at(read(), 0)
    np.testing.assert_array_equal(saved["net_dense0_input_0"], x[:3])
    np.testing.assert_array_equal(saved["net_dense0_input_1"], x[3:])
    for i in (0, 1):
        np.testing.assert_array_equal(
            saved[f"net_dense0_relu_output_{i}"],
            np.maximum(saved[f"net_dense0_relu_input_{i}"], 0),
        )


def test_the_failure_of_an_operator_in_a_graph_reaches_the_training(out_dir):
    class Wrong(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.random.normal(0, -1, shape=(2, 2))

    net = nn.HybridSequential()
    net.add(Wrong(), nn.Activation("relu"))
    net.hybridize()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    with pytest.raises(mx.MXNetError):
        net(mx.nd.ones((1,))).asnumpy()
    assert hook.status().error is None


def test_without_mxnets_private_names_the_insides_are_left_out_and_the_rest_is_saved(
    out_dir, read, monkeypatch
):
    for name in ("is_graph", "is_sparse", "is_fresh", "activation_kind", "parameters_of"):
        function = getattr(private_names, name)
        assert function(object()) in (False, None) or name == "is_fresh"
    assert private_names.is_fresh(object())

    monkeypatch.setattr(private_names, "is_graph", lambda block: False)
    monkeypatch.setattr("smdebug.mxnet.hook.parameters_of", lambda trainer: None)
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook)
    training.net.hybridize()
    training.steps(2)
    hook.close()
    names = set(read().tensor_names(step=1))
    assert {"net_output_0", "net_dense0_weight", "gradient/net_dense0_weight"} <= names
    assert "net_dense0_output_0" not in names
    assert hook.status().error is None
