"""Sessions of TensorFlow 1: what a SessionHook records of them, and that they go on as without."""

import gc
import json
import weakref

import numpy as np
import pytest
from listed_tensors import check_collections_list_what_was_saved

import smdebug.tensorflow as smd
from conftest import REPOSITORY, read, tf
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugTypeError, SMDebugValueError
from smdebug.tensorflow import SessionHook
from smdebug.tensorflow.session.session_tensors import SessionTensors

tf1 = tf.compat.v1
EVERYTHING = ["weights", "biases", "gradients", "losses", "optimizer_variables"]


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own, in which nothing is done at once."""
    with tf.Graph().as_default() as graph:
        yield graph


class Line:
    """weight * x + bias against the sum of x, trained in a session."""

    def __init__(self, hook, optimizer=None, seed=3, dropout=0.0):
        tf1.set_random_seed(seed)
        self.x = tf1.placeholder(tf.float32, (None, 2), name="x")
        weight = tf1.get_variable(
            "scope/weight", initializer=tf.constant([[10.0], [10.0]]), use_resource=True
        )
        bias = tf1.get_variable("scope/bias", initializer=tf.constant([0.5]), use_resource=True)
        inputs = tf.nn.dropout(self.x, dropout) if dropout else self.x
        product = tf.matmul(inputs, weight, name="product")
        target = tf.reduce_sum(self.x, axis=1, keepdims=True)
        self.loss = tf.reduce_mean((product + bias - target) ** 2, name="loss")
        optimizer = optimizer or tf1.train.AdamOptimizer(0.1)
        if hook:
            hook.add_to_collection("losses", self.loss)
            optimizer = hook.wrap_optimizer(optimizer)
        self.train = optimizer.minimize(self.loss)
        self.variables = [weight, bias]

    def run(self, session, steps, fetches=None, seed=0):
        """Trains on random batches; returns the losses."""
        batches = np.random.RandomState(seed)
        fetches = [self.loss, self.train] if fetches is None else fetches
        return [session.run(fetches, {self.x: batches.rand(4, 2)}) for _ in range(steps)]


def test_a_session_is_recorded_as_the_original_did(out_dir):
    expected = json.loads((REPOSITORY / "tests/golden/session_hook/expected.json").read_text())
    expected = expected["trial"]
    hook = SessionHook(
        out_dir,
        include_collections=["weights", "biases", "gradients", "losses", "mine"],
        save_config=smd.SaveConfig(save_interval=3),
    )
    hook.get_collection("mine").include("product")
    tf1.set_random_seed(3)
    x = tf1.placeholder(tf.float32, (None, 2), name="x")
    weight = tf1.Variable([[10.0], [10.0]], name="scope/weight", use_resource=True)
    bias = tf1.Variable([0.5], name="scope/bias", use_resource=True)
    product = tf.matmul(x, weight, name="product")
    loss = tf.reduce_mean(
        (product + bias - tf.reduce_sum(x, axis=1, keepdims=True)) ** 2, name="loss"
    )
    hook.add_to_collection("losses", loss)
    train = hook.wrap_optimizer(tf1.train.AdamOptimizer(0.0)).minimize(loss)
    hook.set_mode(smd.modes.TRAIN)
    generator = np.random.RandomState(0)
    generator.rand(40, 5), generator.randint(0, 3, 40)  # as the golden script did before
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(7):
            session.run([loss, train], {x: generator.rand(4, 2)})
    hook.close()

    trial = read(out_dir)
    assert trial.tensor_names() == expected["tensor_names"]
    assert [mode.name for mode in trial.modes()] == expected["modes"]
    assert trial.steps() == expected["steps"]["GLOBAL"]
    for name, names in expected["tensor_names_by_collection"].items():
        assert trial.tensor_names(collection=name) == names, name
    for step in trial.steps():
        assert trial.tensor_names(step=step) == expected["tensor_names_by_step"][str(step)]
        for name in trial.tensor_names():
            at = expected["tensors"][name]["at"][str(step)]["worker_0"]
            value = trial.tensor(name).value(step)
            assert list(value.shape) == at["shape"], name
            np.testing.assert_allclose(
                value.ravel(), np.ravel(at["value"]["value"]), rtol=1e-5, err_msg=name
            )


def test_variables_have_the_values_that_the_step_starts_from(out_dir):
    hook = SessionHook(
        out_dir, include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=1)
    )
    line = Line(hook, tf1.train.MomentumOptimizer(0.1, 0.9))
    starts = []
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        for seed in range(4):
            raw = session._tf_sess()
            starts.append(raw.run(line.variables))
            line.run(session, 1, seed=seed)
    hook.close()
    trial = read(out_dir)
    for step, (weight, bias) in enumerate(starts):
        np.testing.assert_array_equal(trial.tensor("scope/weight:0").value(step), weight)
        np.testing.assert_array_equal(trial.tensor("scope/bias:0").value(step), bias)
    assert trial.tensor_names(collection="optimizer_variables") == [
        "scope/bias/Momentum:0",
        "scope/weight/Momentum:0",
    ]
    assert trial.tensor_names(collection="biases") == ["scope/bias:0"]
    # Momentum: v' = 0.9 v + g, so the gradient is what the next v has beyond 0.9 v.
    momentum = trial.tensor("scope/weight/Momentum:0")
    names = trial.tensor_names(collection="gradients")
    names = [name for name in names if trial.tensor(name).shape(0) == (2, 1)]
    for step in (0, 1, 2):
        np.testing.assert_allclose(
            momentum.value(step + 1) - 0.9 * momentum.value(step),
            trial.tensor(names[0]).value(step),
            rtol=1e-4,
        )


@pytest.mark.parametrize("interval", [1, 2, 1000])
def test_the_weights_after_training_are_bit_identical_with_dropout(interval, out_dir, warned):
    def trained(hook):
        with tf.Graph().as_default():
            line = Line(hook, dropout=0.4)
            hooks = [hook] if hook else []
            with tf1.train.MonitoredSession(hooks=hooks) as session:
                losses = line.run(session, 7)
                return [loss for loss, _ in losses], session.run(line.variables)

    with warned() as usual:
        losses, weights = trained(None)
    with warned() as texts:
        config = smd.SaveConfig(save_interval=interval)
        hook = SessionHook(out_dir, save_all=True, save_config=config)
        same_losses, same_weights = trained(hook)
        hook.close()
    assert texts <= usual
    assert hook.status().error is None and hook.status().tensors > 0
    assert losses == same_losses
    for one, other in zip(weights, same_weights, strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_a_run_does_not_compute_is_computed_only_where_it_changes_nothing(out_dir, logged):
    hook = SessionHook(
        out_dir,
        include_collections=["asked", "losses"],
        save_config=smd.SaveConfig(save_interval=1),
    )
    line = Line(hook)
    counter = tf1.get_variable("counter", initializer=tf.constant(0.0), use_resource=True)
    hook.get_collection("asked").include("^asked/")
    with tf1.name_scope("asked"):
        tf.identity(line.loss * 2, name="harmless")
        tf.identity(tf1.assign_add(counter, 1.0), name="counts")
        tf.random.uniform((3,), name="random")
        tf.identity(tf1.placeholder(tf.float32, (), name="unfed") + 1, name="hangs_on_it")
        queue = tf.queue.FIFOQueue(3, [tf.float32], shapes=[()])
        tf.identity(queue.dequeue(), name="taken")
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        losses = line.run(session, 3)
        assert session.run(counter) == 0
    hook.close()
    trial = read(out_dir)
    names = trial.tensor_names(collection="asked")
    assert "asked/harmless:0" in names
    for step, (loss, _) in enumerate(losses):
        np.testing.assert_allclose(trial.tensor("asked/harmless:0").value(step), [2 * loss])
    harmful = {"counts", "random/RandomUniform", "unfed", "hangs_on_it", "taken"}
    assert not {f"asked/{name}:0" for name in harmful} & set(names)
    (told,) = [line for line in logged if "are not saved" in line]
    assert "asked/counts:0" in told
    check_collections_list_what_was_saved(trial)


def test_what_stands_in_one_branch_or_in_a_loop_is_left_alone(out_dir):
    hook = SessionHook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    was_v2 = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        x = tf1.placeholder(tf.float32, (), name="x")
        chosen = tf1.cond(
            x > 0, lambda: tf.add(x, 1, name="taken"), lambda: tf.add(x, 2, name="left")
        )
        counted = tf1.while_loop(lambda i: i < 3.0, lambda i: tf.add(i, 1, name="turn"), [chosen])
        # What the branches are made of: one side of a switch has no value.
        negative, positive = tf.raw_ops.Switch(data=x, pred=x > 0)
        sides = [tf.identity(negative, name="negative"), tf.identity(positive, name="positive")]
        merged = tf.raw_ops.Merge(inputs=sides).output
        result = tf.identity(counted + 0 * merged, name="result")
    finally:
        if was_v2:
            tf1.enable_control_flow_v2()
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(result, {x: 1.0}) == 3.0
        assert session.run(result, {x: -1.0}) == 3.0
    hook.close()
    trial = read(out_dir)
    assert trial.tensor("result:0").steps() == [0, 1]
    inside = ("taken:0", "left:0", "turn:0", "negative:0", "positive:0")
    assert not [name for name in trial.tensor_names() if name.endswith(inside)]


def test_a_loss_is_saved_by_a_run_that_asks_for_the_update_alone(out_dir):
    hook = SessionHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    line = Line(hook)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        line.run(session, 2, fetches=line.train)
    hook.close()
    assert read(out_dir).tensor("loss:0").steps() == [0, 1]


def test_each_run_can_be_read_when_it_has_returned(out_dir):
    hook = SessionHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    line = Line(hook)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        for step in range(3):
            (loss, _) = line.run(session, 1)[0]
            hook.flush()
            assert read(out_dir).steps() == list(range(step + 1))
            np.testing.assert_array_equal(read(out_dir).tensor("loss:0").value(step), [loss])


def test_tensors_operations_and_variables_can_be_added_to_a_collection(out_dir):
    hook = SessionHook(
        out_dir, include_collections=["added"], save_config=smd.SaveConfig(save_interval=1)
    )
    line = Line(hook)
    doubled = tf.multiply(line.loss, 2.0, name="doubled")
    hook.get_collection("added").add([doubled, line.variables[0]])
    hook.add_to_collection("added", tf.identity(line.loss, name="same").op)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        losses = line.run(session, 2)
    hook.close()
    trial = read(out_dir)
    assert trial.tensor_names(collection="added") == ["doubled:0", "same:0", "scope/weight:0"]
    np.testing.assert_array_equal(trial.tensor("same:0").value(1), [losses[1][0]])


def test_an_unknown_collection_is_logged_and_ignored(out_dir, logged):
    wanted = ["flatten", "weights"]
    hook = SessionHook(
        out_dir, include_collections=wanted, save_config=smd.SaveConfig(save_interval=1)
    )
    line = Line(hook)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        assert len(line.run(session, 2)) == 2
    hook.close()
    assert len([text for text in logged if "include_collections names 'flatten'" in text]) == 1
    assert hook.status().error is None
    assert read(out_dir).tensor("scope/weight:0").steps() == [0, 1]


def test_sparse_gradients_are_filled_up_with_zeros(out_dir):
    hook = SessionHook(
        out_dir,
        include_collections=["weights", "gradients"],
        save_config=smd.SaveConfig(save_interval=1),
    )
    table = tf1.get_variable("table", initializer=tf.ones((5, 2)), use_resource=True)
    rows = tf1.placeholder(tf.int32, (None,), name="rows")
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, rows))
    train = hook.wrap_optimizer(tf1.train.GradientDescentOptimizer(0.5)).minimize(loss)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train, {rows: [1, 3, 1]})
    hook.close()
    trial = read(out_dir)
    (name,) = trial.tensor_names(collection="gradients")
    expected = np.zeros((5, 2), np.float32)
    for row in (1, 3, 1):
        expected[row] += 1
    np.testing.assert_array_equal(trial.tensor(name).value(0), expected)


def test_sparse_tensors_in_a_run_do_no_harm(out_dir):
    hook = SessionHook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    given = tf1.sparse_placeholder(tf.float32, name="given")
    dense = tf.sparse.to_dense(given, name="dense")
    value = tf1.SparseTensorValue(np.array([[0, 1]]), np.array([2.0], np.float32), (1, 3))
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        got = session.run({"a": (dense, given)}, {given: value})
    hook.close()
    np.testing.assert_array_equal(got["a"][0], [[0, 2, 0]])
    name = [n for n in read(out_dir).tensor_names() if n.startswith("dense")][0]
    np.testing.assert_array_equal(read(out_dir).tensor(name).value(0), [[0, 2, 0]])
    assert hook.status().error is None


def test_variables_of_the_old_kind_are_recorded(out_dir):
    hook = SessionHook(
        out_dir, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=1)
    )
    weight = tf1.get_variable("old", initializer=tf.constant([4.0]), use_resource=False)
    train = hook.wrap_optimizer(tf1.train.GradientDescentOptimizer(0.5)).minimize(weight * weight)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train)
        session.run(train)
    hook.close()
    assert [float(read(out_dir).tensor("old:0").value(step)[0]) for step in (0, 1)] == [4.0, 0.0]


def test_a_run_that_fails_leaves_what_was_saved(out_dir):
    hook = SessionHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    line = Line(hook)
    with pytest.raises(tf.errors.InvalidArgumentError):
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            line.run(session, 2)
            session.run(line.loss)  # x is not fed
    hook.close()
    assert read(out_dir).tensor("loss:0").steps() == [0, 1]


def test_an_interrupt_between_runs_leaves_what_was_saved(out_dir):
    hook = SessionHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    line = Line(hook)
    with pytest.raises(KeyboardInterrupt):
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            line.run(session, 3)
            raise KeyboardInterrupt
    hook.close()
    assert read(out_dir).tensor("loss:0").steps() == [0, 1, 2]


@pytest.mark.parametrize("answer", ["stop", "raise"])
def test_a_rule_that_fires_ends_the_session(answer, out_dir):
    hook = SessionHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        rules=[("ExplodingTensor", {"collection_names": "losses"})],
        on_fire=answer,
    )
    line = Line(hook)
    runs = []

    def train():
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            for value in (1.0, np.nan, 1.0, 1.0):
                if session.should_stop():
                    return
                session.run(line.train, {line.x: [[value, value]]})
                runs.append(value)

    if answer == "raise":
        with pytest.raises(RuleEvaluationConditionMet):
            train()
        assert len(runs) == 1
    else:
        train()
        assert len(runs) == 2
    assert hook.verdicts()[0]["status"] == "IssuesFound"


def test_a_session_cannot_skip_a_step(out_dir):
    with pytest.raises(SMDebugValueError, match="on_fire must be one of"):
        SessionHook(out_dir, rules=["ExplodingTensor"], on_fire="skip_step")


@pytest.mark.parametrize("thing", [None, 3, "adam", object()])
def test_only_optimizers_are_wrapped(thing, out_dir):
    with pytest.raises(SMDebugTypeError, match="wrap_optimizer takes"):
        SessionHook(out_dir).wrap_optimizer(thing)


def test_a_full_disk_does_not_end_the_session(out_dir, monkeypatch):
    hook = SessionHook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    line = Line(hook)
    monkeypatch.setattr(SessionTensors, "of_run", lambda *given: 1 / 0)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        assert len(line.run(session, 3)) == 3
    assert "ZeroDivisionError" in hook.status().error


def test_the_graph_goes_to_tensorboard(out_dir, tmp_path):
    hook = SessionHook(
        out_dir, export_tensorboard=True, save_config=smd.SaveConfig(save_interval=1)
    )
    line = Line(hook)
    hook.set_mode(smd.modes.TRAIN)
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        line.run(session, 1)
    hook.close()
    graphs, tags = [], []
    for path in sorted((tmp_path / "run/tensorboard").rglob("*tfevents*")):
        for event in tf1.train.summary_iterator(str(path)):
            if event.graph_def:
                graphs.append(tf1.GraphDef.FromString(event.graph_def))
            tags += [value.tag for value in event.summary.value]
    assert len(graphs) == 1
    assert "scope/weight" in [node.name for node in graphs[0].node]
    assert [tag for tag in tags if tag.startswith("loss")]


def test_a_hook_that_was_passed_to_no_session_says_so_at_the_end(out_dir, logged):
    hook = SessionHook(out_dir)
    line = Line(None)
    with tf1.train.MonitoredSession() as session:
        line.run(session, 1)
    hook.close()
    hook.close()
    (warning,) = [text for text in logged if "MonitoredSession(hooks=[hook])" in text]
    assert out_dir in warning and "no step was recorded" in warning


def session_in_a_cell(out_dir):
    """What a cell of a notebook does; returns weak references to what it made."""
    hook = SessionHook(
        out_dir, include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=1)
    )
    with tf.Graph().as_default() as graph:
        line = Line(hook)
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            line.run(session, 2)
        return weakref.ref(graph), weakref.ref(hook)


def test_a_cell_that_runs_again_keeps_no_former_graph(tmp_path):
    made = [session_in_a_cell(str(tmp_path / str(i))) for i in range(3)]
    gc.collect()
    # The last hook is the current one until another is made.
    assert [graph() is None for graph, _ in made[:2]] == [True, True]
    assert [hook() is None for _, hook in made[:2]] == [True, True]
    for i in range(2):
        assert read(str(tmp_path / str(i))).steps() == [0, 1]


# Values that have no elements while a graph is built.
GRAPH_VALUES = {
    "constant": lambda: tf.constant([1.0, 2.0]),
    "computed": lambda: tf.constant([1.0, 2.0]) * 2,
    "placeholder": lambda: tf1.placeholder(tf.float32, [None]),
    "variable": lambda: tf1.get_variable("v", initializer=[1.0], use_resource=True),
    "reference variable": lambda: tf1.get_variable("r", initializer=[1.0], use_resource=False),
    "list of tensors": lambda: [tf.constant([1.0]), tf.constant([2.0])],
    "SparseTensor": lambda: tf.SparseTensor([[0, 1]], [1.0], (2, 2)),
    "IndexedSlices": lambda: tf.IndexedSlices(tf.ones((1, 2)), [0], [3, 2]),
    "RaggedTensor": lambda: tf.ragged.constant([[1], [2, 3]]),
    "scalar": lambda: tf.constant(1.0),
    "variable of eager code": lambda: EAGER_VARIABLE,  # a graph cannot read it
}


# Name -> (a value that has elements while a session runs, the array that it is saved as).
EAGER = tf.constant([1.0, 2.0])
EAGER_VARIABLE = tf.Variable(1.0)
VALUES = {
    "numpy": (np.float64([1, 2]), [1, 2]),
    "number": (2.5, [2.5]),
    "list": ([1, 2], [1, 2]),
    "eager tensor": (EAGER, [1, 2]),
    "eager bfloat16": (tf.cast(EAGER, tf.bfloat16), [1, 2]),
    "eager string": (tf.constant(["a", "bc"]), [b"a", b"bc"]),
    "list of eager tensors": ([EAGER, np.ones(2)], [[1, 2], [1, 1]]),
    "one element": (tf.constant(1.5), 1.5),
}


def test_a_value_that_has_elements_is_saved_while_a_session_runs(out_dir):
    hook = SessionHook(
        out_dir, include_collections=["losses"], save_config=smd.SaveConfig(save_interval=1)
    )
    line, results = Line(hook), []
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(2):
            results.append(line.run(session, 1)[0][0])
            hook.save_tensor("result", results[-1])
            for kind, (value, expected) in VALUES.items():
                hook.save_tensor(kind, value)
                if np.size(expected) == 1:
                    hook.save_scalar(kind, value)
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    trial = read(out_dir)
    saved = trial.tensor("result")
    assert [float(saved.value(step)) for step in saved.steps()] == [float(each) for each in results]
    for kind, (_, expected) in VALUES.items():
        value = trial.tensor(kind).value(trial.tensor(kind).steps()[-1])
        np.testing.assert_array_equal(value, np.array(expected))
        assert (f"scalar/{kind}" in trial.tensor_names()) == (np.size(expected) == 1)


def test_a_tensor_of_a_graph_is_logged_once_and_raises_nothing(out_dir, capfd):
    hook = SessionHook(
        out_dir, include_collections=["losses"], save_config=smd.SaveConfig(save_interval=1)
    )
    line = Line(hook)
    values = {kind: make() for kind, make in GRAPH_VALUES.items()}

    def save_all():
        for kind, value in values.items():
            hook.save_tensor(kind, value)
            hook.save_scalar(kind, value)

    save_all()
    with tf1.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            line.run(session, 1)
            save_all()
    save_all()
    hook.close()
    assert hook.status().error is None
    skipped = hook.status().skipped
    assert set(skipped) == {name for kind in values for name in (kind, f"scalar/{kind}")}
    assert (
        "tensor of a graph" in skipped["computed"]
        and "tensor of a graph" in skipped["SparseTensor"]
    )
    logged = capfd.readouterr().err
    for name in skipped:
        assert logged.count(f"'{name}' is not saved") == 1
    assert read(out_dir).steps() == [0, 1, 2]
