"""TensorBoard, asked by its own reader, shows the graph, numbers and histograms of a training."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import smdebug.tensorflow as smd
from conftest import digits
from smdebug.file_writer import FileWriter

L = keras.layers
X, Y = digits(32)


def made(**how):
    keras.utils.set_random_seed(3)
    layers = [keras.Input((64,)), L.Dense(4, activation="relu", name="first")]
    model = keras.Sequential([*layers, L.Dense(10, name="second")])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, **how)
    return model


def recorder(out_dir, collections=("weights", "gradients"), **how):
    config = smd.SaveConfig(save_interval=1)
    how = {"export_tensorboard": True, **how}
    return smd.KerasHook(out_dir, include_collections=[*collections], save_config=config, **how)


def fitted(hook, model):
    history = model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[hook])
    hook.close()
    assert hook.status().error is None
    return history.history


def shown(folder):
    """What TensorBoard makes of a folder."""
    accumulator = EventAccumulator(str(folder), size_guidance={"histograms": 0, "scalars": 0})
    accumulator.Reload()
    return accumulator


def nodes(board):
    """The names and the kinds of the operations in a graph and in the functions that it calls."""
    graph = tf.compat.v1.GraphDef.FromString(board.Graph().SerializeToString())
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    found = [node for nodes in bodies for node in nodes]
    return " ".join(node.name for node in found), {node.op for node in found}


@pytest.mark.parametrize("how", [{}, {"jit_compile": True}, {"steps_per_execution": 2}])
def test_the_graph_of_the_training_is_shown_beside_its_numbers_and_histograms(out_dir, how):
    model = made(**how)
    history = fitted(recorder(out_dir), model)
    board = shown(f"{out_dir}/tensorboard/TRAIN")
    names, operators = nodes(board)
    assert "first" in names and "second" in names
    assert "MatMul" in operators
    losses = board.Scalars("loss")
    assert losses[-1].value == pytest.approx(history["loss"][0], rel=1e-5)
    kernel = next(
        tag for tag in board.Tags()["histograms"] if tag.startswith("weights/second/weights")
    )
    last = board.Histograms(kernel)[-1].histogram_value
    expected = model.get_layer("second").kernel.numpy().astype(np.float64)
    assert (last.num, last.min, last.max) == (expected.size, expected.min(), expected.max())
    assert last.sum == pytest.approx(expected.sum())


def test_the_graph_is_written_once_and_into_a_folder_of_ones_own(out_dir, tmp_path):
    folder = tmp_path / "board"
    hook = recorder(out_dir, export_tensorboard=False, tensorboard_dir=str(folder))
    model = made()
    model.fit(X, Y, batch_size=8, verbose=0, validation_data=(X[:8], Y[:8]), callbacks=[hook])
    fitted(hook, made())
    assert [path.name for path in folder.rglob("*graph*")] == ["000000000000_0_graph.tfevents"]
    assert shown(folder / "TRAIN").Graph().node


def test_the_graph_that_nothing_is_saved_from_is_the_one_that_keras_has(out_dir):
    fitted(recorder(out_dir, ["losses"]), made())
    assert "first" in nodes(shown(f"{out_dir}/tensorboard/TRAIN"))[0]


@pytest.mark.parametrize("how", [{}, {"jit_compile": True}])
def test_the_graph_of_a_loop_of_ones_own_is_shown(out_dir, how):
    model = made()
    model(X[:8])
    hook = recorder(out_dir)

    @tf.function(**how)
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for start in (0, 8, 16):
        step(tf.constant(X[start : start + 8]), tf.constant(Y[start : start + 8]))
    hook.close()
    assert hook.status().error is None
    board = shown(f"{out_dir}/tensorboard/TRAIN")
    assert "SparseSoftmaxCrossEntropyWithLogits" in nodes(board)[1]
    assert len(board.Scalars("loss")) == 3


def test_where_nothing_is_a_graph_or_nothing_is_asked_for_there_is_no_graph(out_dir, tmp_path):
    fitted(recorder(out_dir), made(run_eagerly=True))
    assert shown(f"{out_dir}/tensorboard/TRAIN").Tags()["scalars"]
    fitted(recorder(str(tmp_path / "other"), export_tensorboard=False), made())
    assert not list(tmp_path.rglob("*graph*"))


def test_a_graph_that_cannot_be_written_is_said_and_the_run_goes_on(out_dir, logged, monkeypatch):
    def fails(file, graph):
        raise ValueError("Cannot serialize: it exceeds 2 GB")

    monkeypatch.setattr(FileWriter, "write_graph", fails)
    fitted(recorder(out_dir), made())
    assert sum("no graph" in message for message in logged) == 1
    assert len(shown(f"{out_dir}/tensorboard/TRAIN").Scalars("loss")) == 4
