"""MirroredStrategy over two devices of the CPU: the training is the same to the bit, and what each
replica has is recorded under a worker of its own, which is named after its device."""

import json
import pathlib
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_watching import FunctionalDropout
from listed_tensors import check_collections_list_what_was_saved

import smdebug.tensorflow as smd
from conftest import KERAS_3, digits, read, split_cpu
from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules import Rule, builtin
from smdebug.tensorflow.keras.step_trace import StepTrace

L = keras.layers
DEVICES = [f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in (0, 1)]
KERNEL, BIAS = "last/weights/.*kernel:0", "last/weights/.*bias:0"
EVERY = smd.SaveConfig(save_interval=1)
RATE = 0.25
X, Y = digits(40)
T = np.eye(10, dtype=np.float32)[Y]


@pytest.fixture(scope="module")
def strategy():
    split_cpu()
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def made(strategy, *extra, optimizer=None, **how):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((64,)), *extra, L.Dense(10, name="last")])
        model.compile(optimizer or keras.optimizers.SGD(RATE), "mse", **how)
    return model


def trained(model, hook=None, epochs=1, **how):
    how = {"batch_size": 16, "shuffle": False, "verbose": 0, **how}
    history = model.fit(X, T, epochs=epochs, callbacks=[hook] if hook else [], **how)
    return model.get_weights(), history.history


def recorder(out_dir, include_workers="all", **how):
    how = {"save_all": True, "save_config": EVERY, **how}
    return smd.KerasHook(out_dir, include_workers=include_workers, **how)


def values(trial, pattern, step, mode=smd.modes.GLOBAL):
    """What each worker saved of the one tensor of such a name, in the order of the workers."""
    (name,) = [each for each in trial.tensor_names() if re.fullmatch(pattern, each)]
    tensor = trial.tensor(name)
    assert tensor.workers(step, mode=mode) == trial.workers()
    return [tensor.value(step, mode=mode, worker=worker) for worker in trial.workers()]


def copies(strategy, variable):
    """The tf.Variable of each replica."""
    inner = variable if isinstance(variable, tf.Variable) else variable.value
    return strategy.experimental_local_results(inner)


# --- values ---


def test_every_value_of_a_replica_is_that_of_its_part_of_the_batch(strategy, out_dir):
    with recorder(out_dir) as hook:
        model = made(strategy)
        kernel, bias = model.get_weights()
        after, _ = trained(model, hook)
    trial = read(out_dir)
    assert trial.workers() == DEVICES
    assert trial.steps() == [0, 1, 2]
    for step in trial.steps():
        inputs = values(trial, "last/inputs", step)
        batch = slice(16 * step, 16 * step + 16)
        np.testing.assert_array_equal(np.concatenate(inputs), X[batch])
        assert all(len(part) for part in inputs)
        updates = np.zeros_like(kernel), np.zeros_like(bias)
        total = 0
        outputs = values(trial, "last/outputs", step)
        labels = values(trial, "labels", step)
        np.testing.assert_array_equal(np.concatenate(labels), T[batch])
        for r, (x, t) in enumerate(zip(inputs, labels, strict=True)):
            y = x @ kernel + bias
            np.testing.assert_allclose(outputs[r], y, rtol=1e-4, atol=1e-6)
            # The loss that is minimised: each replica's mean counts half.
            loss = np.mean((y - t) ** 2) / 2
            slope = (y - t) / y.size
            gradients = x.T @ slope, slope.sum(axis=0)
            np.testing.assert_allclose(values(trial, "replica_loss", step)[r], loss, rtol=1e-5)
            for pattern, mine, update in zip(
                (r".*last/kernelGrad", r".*last/biasGrad"), gradients, updates, strict=True
            ):
                theirs = values(trial, pattern, step)[r]
                np.testing.assert_allclose(theirs, mine, rtol=1e-4, atol=1e-7)
                update += mine
            total += loss
        np.testing.assert_array_equal(
            values(trial, "predictions", step)[1], values(trial, "last/outputs", step)[1]
        )
        kernel, bias = kernel - RATE * updates[0], bias - RATE * updates[1]
        for r in (0, 1):
            np.testing.assert_allclose(values(trial, KERNEL, step)[r], kernel, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(values(trial, BIAS, step)[r], bias, rtol=1e-4, atol=1e-6)
        if step == 0:  # later ones are means over the epoch
            np.testing.assert_allclose(values(trial, "loss", 0)[1], total, rtol=1e-4)
    np.testing.assert_array_equal(values(trial, KERNEL, 2)[1], after[0])


def test_each_replica_has_its_own_copy_of_what_the_optimizer_keeps(strategy, out_dir):
    with strategy.scope():
        adam = keras.optimizers.Adam(0.01)
    with recorder(out_dir, include_collections=["optimizer_variables"], save_all=False) as hook:
        model = made(strategy, optimizer=adam)
        trained(model, hook)
        own = adam.variables
        for variable in own() if callable(own) else own:
            copy = copies(strategy, variable)[1]
            copy.assign_add(tf.ones(copy.shape, copy.dtype))
        trained(model, hook)
    trial = read(out_dir)
    names = trial.collection("optimizer_variables").tensor_names
    moments = [each for each in names if "kernel" in each]
    assert len(moments) == 2
    for name in moments:
        same, other = ([trial.tensor(name).value(s, worker=w) for w in DEVICES] for s in (2, 3))
        np.testing.assert_array_equal(same[0], same[1])
        assert (other[1] - other[0]).min() > 0.5


def test_statistics_that_replicas_move_apart_are_what_the_model_shows(strategy, out_dir):
    with recorder(out_dir) as hook:
        model = made(strategy, L.BatchNormalization(name="norm"))
        trained(model, hook)
        (mean,) = [each for each in model.non_trainable_variables if "moving_mean" in _name(each)]
        shown = model.get_layer("norm").get_weights()[2]
    assert not np.array_equal(*[copy.numpy() for copy in copies(strategy, mean)])
    trial = read(out_dir)
    for value in values(trial, ".*moving_mean:0", trial.steps()[-1]):
        np.testing.assert_array_equal(value, shown)
    assert builtin("ReplicasDiffer", trial).judge()["status"] == "NoIssuesFound"


def _name(variable):
    return getattr(variable, "path", None) or variable.name


def test_evaluation_and_prediction_are_recorded_for_each_replica(strategy, out_dir):
    model = made(strategy)
    plain = model.evaluate(X, T, batch_size=16, verbose=0), model.predict(X, 16, verbose=0)
    with recorder(out_dir) as hook:
        loss = model.evaluate(X, T, batch_size=16, verbose=0, callbacks=[hook])
        predicted = model.predict(X, 16, verbose=0, callbacks=[hook])
    assert loss == plain[0]
    np.testing.assert_array_equal(predicted, plain[1])
    trial = read(out_dir)
    for mode in (smd.modes.EVAL, smd.modes.PREDICT):
        steps = trial.steps(mode=mode)
        found = [np.concatenate(values(trial, "last/inputs", step, mode)) for step in steps]
        np.testing.assert_array_equal(np.concatenate(found), X)
        found = [np.concatenate(values(trial, "predictions", step, mode)) for step in steps]
        np.testing.assert_array_equal(np.concatenate(found), plain[1])


# --- workers ---


def test_files_are_named_after_devices_as_readers_expect(strategy, out_dir):
    with recorder(out_dir) as hook:
        trained(made(strategy), hook)
    found = {each.name for each in (pathlib.Path(out_dir) / "index/000000000").iterdir()}
    device = "_job-localhost_replica-0_task-0_device-CPU-"
    assert found == {f"{step:012}_{device}{r}.json" for step in range(3) for r in (0, 1)}
    collections = pathlib.Path(out_dir) / "collections/000000000"
    assert {each.name for each in collections.iterdir()} == {
        f"{device}{r}_collections.json" for r in (0, 1)
    }
    trial = read(out_dir)
    assert trial.num_workers == 2
    tensors = [trial.tensor(name) for name in trial.tensor_names()]
    saved = sum(len(each.workers(step)) for each in tensors for step in each.steps())
    assert hook.status().records == saved
    assert hook.cost().bytes_written == hook.status().bytes


def test_one_worker_is_the_first_replica(strategy, tmp_path):
    weights = []
    for workers in ("one", "all"):
        with recorder(str(tmp_path / workers), workers) as hook:
            weights.append(trained(made(strategy), hook))
    assert all(np.array_equal(a, b) for a, b in zip(weights[0][0], weights[1][0], strict=True))
    one, both = read(str(tmp_path / "one")), read(str(tmp_path / "all"))
    assert one.workers() == ["worker_0"]
    for pattern in ("last/inputs", "last/outputs", ".*/kernelGrad", KERNEL, "loss"):
        (mine,), (first, _) = values(one, pattern, 1), values(both, pattern, 1)
        np.testing.assert_array_equal(mine, first)


def test_what_a_script_saves_is_there_under_every_worker(strategy, out_dir):
    def save(batch, logs):
        hook.save_tensor("extra", np.arange(3) + batch)
        hook.save_scalar("count", batch)

    saves = keras.callbacks.LambdaCallback(on_train_batch_end=save)
    with recorder(out_dir, save_all=False, export_tensorboard=True) as hook:
        model = made(strategy)
        model.fit(X, T, batch_size=16, verbose=0, callbacks=[hook, saves])
    trial = read(out_dir)
    for value in values(trial, "extra", 1):
        np.testing.assert_array_equal(value, [1, 2, 3])
    assert [float(each[0]) for each in values(trial, "scalar/count", 2)] == [2, 2]
    assert hook.status().tensorboard_error is None


# --- the training ---


# Keras 3 itself fails over several batches in one execution under a strategy.
TOGETHER = {} if KERAS_3 else {"steps_per_execution": 2}


@pytest.mark.parametrize(
    "workers, extra, how",
    [
        # The other models contain this one.
        pytest.param("all", [], {}, marks=pytest.mark.long),
        ("all", [L.BatchNormalization], TOGETHER),
        ("all", [L.Dropout], {}),
        ("one", [FunctionalDropout], {}),
        ("all", [L.BatchNormalization], {"run_eagerly": True}),
    ],
)
def test_weights_and_history_are_the_same_to_the_bit(strategy, out_dir, workers, extra, how):
    def model():
        layers = [kind(0.3) if kind is L.Dropout else kind() for kind in extra]
        return made(strategy, L.Dense(8, name="first"), *layers, optimizer="adam", **how)

    validation = {"validation_data": (X[:20], T[:20]), "epochs": 2}
    plain = trained(model(), **validation)
    every_third = smd.SaveConfig(save_interval=3)
    with recorder(out_dir, workers, save_config=every_third) as hook:
        watched = trained(model(), hook, **validation)
    for mine, theirs in zip(watched[0], plain[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert watched[1] == plain[1]
    assert hook.status().error is None
    assert "first/outputs" in read(out_dir).tensor_names()
    assert "run" not in vars(strategy)


def test_replicas_that_come_after_the_first_step_are_not_told_apart(strategy, out_dir, logged):
    alone = keras.Sequential([keras.Input((64,)), L.Dense(10)])
    alone.compile("sgd", "mse")
    with recorder(out_dir) as hook:
        trained(alone, hook)
        trained(made(strategy), hook)
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"]
    assert len([each for each in logged if "replicas cannot be distinguished" in each]) == 1
    assert len(trial.tensor("last/inputs").value(3)) == 8


# --- rules ---


class Drifts(keras.callbacks.Callback):
    """Adds to one replica's copy of a weight, after the second batch."""

    def __init__(self, strategy):
        super().__init__()
        self._strategy = strategy

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2:
            copy = copies(self._strategy, self.model.get_layer("last").kernel)[1]
            copy.assign_add(0.5 * tf.ones(copy.shape))


def test_a_replica_that_drifts_is_found_and_sound_ones_are_not(strategy, tmp_path):
    verdicts = {}
    for name, callbacks in {"sound": [], "drifts": [Drifts(strategy)]}.items():
        with recorder(str(tmp_path / name)) as hook:
            made(strategy).fit(
                X, T, batch_size=16, verbose=0, shuffle=False, callbacks=[*callbacks, hook]
            )
        verdicts[name] = builtin("ReplicasDiffer", read(str(tmp_path / name))).judge()
    assert verdicts["sound"]["status"] == "NoIssuesFound"
    assert verdicts["drifts"]["status"] == "IssuesFound"
    assert verdicts["drifts"]["step"]["global"] == 2
    worst = verdicts["drifts"]["evidence"][0]
    assert worst["worker"] == DEVICES[1] and worst["tensor"].endswith("last/kernel:0")
    assert worst["value"] == pytest.approx(0.5, rel=1e-5)


SECOND_PART = slice(24, 32)  # of X: what the second replica takes of the second batch of 16


def images_with_nan(rows):
    images = X.copy()
    images[rows] = np.nan
    return images


def fitted(strategy, hook, images, epochs=1, **how):
    made(strategy, **how).fit(
        images, T, batch_size=16, shuffle=False, verbose=0, epochs=epochs, callbacks=[hook]
    )


NOT_FINITE = ("ExplodingTensor", {"tensor_regex": "^last/inputs$"})


def test_rules_inside_the_hook_judge_every_replica(strategy, out_dir):
    told = []
    with recorder(out_dir, rules=[NOT_FINITE], on_fire=told.append) as hook:
        fitted(strategy, hook, images_with_nan(SECOND_PART))
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "IssuesFound"
    assert verdict["step"]["global"] == 1
    assert [each["worker"] for each in verdict["evidence"]] == [DEVICES[1]]
    assert verdict["observations_judged"] == 6  # three steps of two replicas
    assert [each["evidence"][0]["worker"] for each in told] == [DEVICES[1]]
    statuses = {each.name: each for each in (pathlib.Path(out_dir) / "rules").glob("*.json")}
    second = "ExplodingTensor__job-localhost_replica-0_task-0_device-CPU-1.json"
    found = {name: json.loads(each.read_text())["status"] for name, each in statuses.items()}
    assert found == {"ExplodingTensor.json": "NoIssuesFound", second: "IssuesFound"}


def test_a_rule_that_fires_on_both_replicas_is_answered_once(strategy, out_dir, logged):
    told = []
    rules = [NOT_FINITE, ("ExplodingTensor", {"tensor_regex": "^inputs$"})]
    with recorder(out_dir, rules=rules, on_fire=told.append) as hook:
        fitted(strategy, hook, images_with_nan(slice(16, 32)))
    assert [each["parameters"]["tensor_regex"] for each in told] == ["^last/inputs$", "^inputs$"]
    assert {each["evidence"][0]["worker"] for each in told} == {DEVICES[0]}
    assert len([each for each in logged if each.startswith("ExplodingTensor")]) == 1


def test_a_rule_of_ones_own_judges_each_replica_apart(strategy, out_dir):
    class FirstPixels(Rule):
        made = []

        def __init__(self, base_trial):
            super().__init__(base_trial)
            self.seen = []
            self.made.append(self.seen)

        def invoke_at_step(self, step):
            self.seen.append(self.base_trial.tensor("last/inputs").value(step)[0])
            return False

    with recorder(out_dir, rules=[FirstPixels]) as hook:
        fitted(strategy, hook, X)
    first, second = FirstPixels.made
    np.testing.assert_array_equal(first, X[[0, 16, 32]])
    np.testing.assert_array_equal(second, X[[8, 24, 36]])
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "NoIssuesFound"


@pytest.mark.parametrize("answer", ["stop", "raise"])
def test_a_rule_of_the_second_replica_ends_fit(strategy, out_dir, answer):
    with recorder(out_dir, rules=[NOT_FINITE], on_fire=answer) as hook:
        if answer == "stop":
            fitted(strategy, hook, images_with_nan(SECOND_PART), epochs=3)
        else:
            with pytest.raises(RuleEvaluationConditionMet) as raised:
                fitted(strategy, hook, images_with_nan(SECOND_PART), epochs=3)
            assert raised.value.step == 1
    assert hook.status().steps == 2


def test_rules_judge_the_first_replica_where_it_alone_is_recorded(strategy, out_dir):
    with recorder(out_dir, "one", rules=[NOT_FINITE]) as hook:
        fitted(strategy, hook, images_with_nan(SECOND_PART))
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "NoIssuesFound"
    assert verdict["observations_judged"] == 3


# --- replicas that differ ---


class Uneven(keras.Sequential):
    """Its second replica calls a layer, and draws random numbers, which the first does not."""

    def train_step(self, data):
        self._call_extra(data[0])
        return super().train_step(data)

    def test_step(self, data):
        self._call_extra(data[0])
        return super().test_step(data)

    def predict_step(self, data):
        self._call_extra(data)
        return super().predict_step(data)

    def _call_extra(self, x):
        context = tf.distribute.get_replica_context()
        if tf.get_static_value(tf.convert_to_tensor(context.replica_id_in_sync_group)) == 1:
            self.extra(tf.nn.dropout(x, 0.5))


def uneven(strategy, **how):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = Uneven([keras.Input((64,)), L.Dense(10, name="last")])
        model.extra = L.ReLU(name="extra")
        model.compile(keras.optimizers.SGD(RATE), "mse", **how)
    return model


@pytest.mark.parametrize("workers", ["one", "all"])
@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}])
def test_tensors_that_only_one_replica_has_are_left_out_with_a_word(
    strategy, out_dir, logged, workers, how
):
    def results(hook):
        model = uneven(strategy, **how)
        weights, history = trained(model, hook, validation_data=(X[:20], T[:20]))
        callbacks = [hook] if hook else []
        return weights, history, model.predict(X, 16, verbose=0, callbacks=callbacks)

    plain = results(None)
    with recorder(out_dir, workers) as hook:
        watched = results(hook)
    assert hook.status().error is None
    for mine, theirs in zip(watched[0], plain[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert watched[1] == plain[1]
    np.testing.assert_array_equal(watched[2], plain[2])
    trial = read(out_dir)
    for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT):
        parts = values(trial, "last/inputs", trial.steps(mode=mode)[0], mode)
        np.testing.assert_array_equal(np.concatenate(parts), X[: 8 * len(trial.workers())])
    assert not [each for each in trial.tensor_names() if each.startswith("extra")]
    check_collections_list_what_was_saved(trial)
    (said,) = [each for each in logged if "some replicas have it" in each]
    assert said.endswith("(logged once for the layer 'extra')")


def test_a_failure_while_one_replica_is_traced_reaches_no_other(strategy, out_dir, monkeypatch):
    """Their results must be alike, or TensorFlow fails."""
    plain = trained(made(strategy))
    finished, calls = StepTrace.finished, []

    def failing(trace):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("planted")
        return finished(trace)

    monkeypatch.setattr(StepTrace, "finished", failing)
    with recorder(out_dir) as hook:
        watched = trained(made(strategy), hook)
    assert "planted" in hook.status().error
    for mine, theirs in zip(watched[0], plain[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)


# --- loops of one's own ---


# Whether a step is a graph, and whether XLA compiles its loss and gradient. It fails over several
# devices of the CPU where it is to compile the whole step.
LOOPS = {
    "eager": (False, False),
    "function": (True, False),
    "eager, compiled inside": (False, True),
    "function, compiled inside": (True, True),
}
LOOP_KINDS = pytest.mark.parametrize("kind", LOOPS)


def run_loop(strategy, hook, step_of, kind, images=X, steps=2):
    """Steps with a shard of 8 for either replica; returns the kernels before them."""
    is_graph, is_compiled = LOOPS[kind]
    with strategy.scope():
        kernel = tf.Variable(np.full((64, 10), 0.01, np.float32), name="kernel")

    def shard(context, step):
        start = 16 * (step % 2) + 8 * context.replica_id_in_sync_group
        return images[start : start + 8], T[start : start + 8]

    def compute(x, t):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((x @ kernel - t) ** 2)
        return loss, tape.gradient(loss, kernel)

    if is_compiled:
        compute = tf.function(compute, jit_compile=True)

    def step(x, t):
        loss, gradient = compute(x, t)
        if not is_compiled:
            hook.save_tensor("norm", tf.norm(gradient), "extra")
        total = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        step_of(kernel, total)
        return loss

    run = strategy.run
    if is_graph:
        run = tf.function(lambda f, args: strategy.run(step, args))
    before = []
    for number in range(steps):
        before.append(kernel.numpy())
        parts = [
            strategy.experimental_distribute_values_from_function(
                lambda context, i=i: tf.constant(shard(context, number)[i])  # noqa: B023
            )
            for i in (0, 1)
        ]
        run(step, args=tuple(parts))
    return before


def descend(kernel, total):
    kernel.assign_sub(0.1 * total)


@pytest.mark.parametrize("workers", ["one", "all"])
@LOOP_KINDS
def test_a_loop_of_ones_own_is_recorded_for_each_replica(strategy, out_dir, workers, kind):
    with recorder(out_dir, workers) as hook:
        kernels = run_loop(strategy, hook, descend, kind)
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.workers() == (DEVICES if workers == "all" else ["worker_0"])
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 1]
    for step, kernel in enumerate(kernels):
        for r, _ in enumerate(trial.workers()):
            start = 16 * step + 8 * r
            x, t = X[start : start + 8], T[start : start + 8]
            difference = x @ kernel - t
            gradient = 2 * x.T @ difference / difference.size
            close = {"rtol": 1e-4, "atol": 1e-7}
            np.testing.assert_array_equal(values(trial, "weights/kernel:0", step)[r], kernel)
            np.testing.assert_allclose(
                values(trial, "loss", step)[r], np.mean(difference**2), **close
            )
            np.testing.assert_allclose(
                values(trial, "gradients/kernelGrad", step)[r], gradient, **close
            )
            if "compiled" not in kind:
                norm = np.linalg.norm(gradient)
                np.testing.assert_allclose(values(trial, "norm", step)[r], norm, **close)


@pytest.mark.parametrize("workers", ["one", "all"])
@LOOP_KINDS
def test_a_loop_notes_the_losses_of_the_first_replica(strategy, out_dir, workers, kind):
    hook = recorder(out_dir, workers, save_config=smd.SaveConfig(save_interval=3))
    hook.note_every_step()
    kernels = run_loop(strategy, hook, descend, kind, steps=4)
    hook.close()
    assert hook.status().error is None
    expected = []
    for step, kernel in enumerate(kernels):
        shard = slice(16 * (step % 2), 16 * (step % 2) + 8)
        expected.append(np.mean((X[shard] @ kernel - T[shard]) ** 2))
    steps, losses = zip(*read(out_dir).series("loss"), strict=True)
    assert steps == (0, 1, 2, 3)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


@LOOP_KINDS
def test_a_loop_saves_the_steps_that_are_due_under_each_replica(strategy, out_dir, kind):
    with recorder(out_dir, save_config=smd.SaveConfig(save_interval=2, start_step=1)) as hook:
        kernels = run_loop(strategy, hook, descend, kind, steps=5)
    trial = read(out_dir)
    tensor = trial.tensor("weights/kernel:0")
    assert tensor.steps() == [2, 4]
    for step in tensor.steps():
        for kernel in values(trial, "weights/kernel:0", step):
            np.testing.assert_array_equal(kernel, kernels[step])


@pytest.mark.parametrize("answer", ["raise", "stop"])
@LOOP_KINDS
def test_a_rule_of_the_second_replica_ends_a_loop_before_its_update(
    strategy, out_dir, kind, answer
):
    kernels = []

    def update(kernel, total):
        kernels.append(kernel)
        kernel.assign_sub(0.1 * total)

    rules = [("ExplodingTensor", {"collection_names": "gradients"})]
    ending = RuleEvaluationConditionMet if answer == "raise" else SystemExit
    with recorder(out_dir, rules=rules, on_fire=answer) as hook:
        with pytest.raises(ending) as raised:
            run_loop(strategy, hook, update, kind, images_with_nan(SECOND_PART))
    assert answer == "raise" or raised.value.code == 3
    (verdict,) = hook.verdicts()
    assert verdict["step"]["global"] == 1
    assert {each["worker"] for each in verdict["evidence"]} == {DEVICES[1]}
    if kind != "function, compiled inside":  # there the update is made when we hear of it
        moved = kernels[0].numpy() - np.full((64, 10), 0.01, np.float32)
        assert np.isfinite(moved).all() and moved.any()


@LOOP_KINDS
def test_both_replicas_of_a_sound_loop_are_judged(strategy, out_dir, kind):
    rules = [("ExplodingTensor", {"collection_names": "gradients"})]
    with recorder(out_dir, rules=rules, on_fire="stop") as hook:
        run_loop(strategy, hook, descend, kind)
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "NoIssuesFound"
    assert verdict["observations_judged"] == 4
    assert hook.status().error is None


def test_every_step_has_the_mean_loss_of_both_replicas(strategy, out_dir):
    def errors(model):
        kernel, bias = model.get_weights()
        return np.mean((X @ kernel + bias - T) ** 2, axis=1)

    plain = trained(made(strategy), epochs=2)
    hook, model = recorder(out_dir, save_config=smd.SaveConfig(save_interval=100)), made(strategy)
    hook.note_every_step()
    before = errors(model)
    weights, history = trained(model, hook, epochs=2)
    hook.close()
    assert hook.status().error is None
    for mine, theirs in zip(weights, plain[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert history == plain[1]
    trial = read(out_dir)
    steps, losses = zip(*trial.series("loss", mode=smd.modes.TRAIN), strict=True)
    assert list(steps) == list(range(6))
    assert losses[0] == pytest.approx(before[:16].mean(), rel=1e-5)
    of_epochs = [np.average(losses[i : i + 3], weights=[16, 16, 8]) for i in (0, 3)]
    np.testing.assert_allclose(of_epochs, history["loss"], rtol=1e-5)
    rates = trial.series("learning_rate/SGD/0", mode=smd.modes.TRAIN)
    assert rates == [(step, RATE) for step in range(6)]


@pytest.mark.parametrize("has_replicas", [False, True])
def test_a_loss_that_a_model_was_given_is_still_there_afterwards(strategy, out_dir, has_replicas):
    model = made(strategy if has_replicas else tf.distribute.get_strategy())
    given = model.compute_loss

    def doubled(*arguments, **keywords):
        return 2 * given(*arguments, **keywords)

    model.compute_loss = doubled
    with recorder(out_dir) as hook:
        trained(model, hook)
    assert model.compute_loss is doubled
