"""What models contain and how they are run: every kind is recorded, or skipped and said once."""

import copy
import io
import pickle
import threading
import warnings

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug.exceptions import SMDebugTypeError


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


class Gives(torch.nn.Module):
    """Gives what `make` makes of its input, and the input itself."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x), x


def fake(x):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(3, 4)


def quantized(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)


@pytest.mark.parametrize(
    "make",
    [
        quantized,
        fake,
        lambda x: torch.empty(3, device="meta"),
        lambda x: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    ],
    ids=["quantized", "fake", "meta", "nested"],
)
def test_a_tensor_without_elements_of_ours_is_skipped_and_said_once(out_dir, make, capfd):
    model = Gives(make)
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        for step in range(3):
            model(torch.full((2,), float(step)))
    assert list(hook.status().skipped) == ["Gives_output_0"]
    assert hook.status().error is None
    assert capfd.readouterr().err.count("'Gives_output_0' is not saved") == 1
    trial = read(out_dir)
    assert not trial.has_tensor("Gives_output_0")
    assert trial.collection("all").tensor_names == set(trial.tensor_names())
    for step in range(3):
        assert trial.tensor("Gives_output_1").value(step).tolist() == [step, step]


@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp"])
def test_tensors_of_a_function_transform_are_skipped(out_dir, transform):
    model = torch.nn.Linear(3, 1)
    x = torch.randn(4, 3)
    expected = model(x).detach()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        if transform == "vmap":
            output = torch.vmap(model)(x)
        elif transform == "grad":
            output, _ = torch.func.vjp(model, x)
        else:
            output, _ = torch.func.jvp(model, (x,), (torch.ones_like(x),))
        torch.testing.assert_close(output.detach(), expected)
        assert {"Linear_input_0", "Linear_output_0"} == set(hook.status().skipped)
        model(x)  # a plain call is recorded again
    assert hook.status().error is None
    np.testing.assert_array_equal(read(out_dir).tensor("Linear_output_0").value(1), expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.eye(3).to_sparse_csr(),
        lambda: torch.arange(6.0).reshape(2, 3).to_mkldnn(),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj(),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
        lambda: torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[::2],
        lambda: torch.arange(6.0).reshape(2, 3).expand(4, 2, 3),
        lambda: torch.ones(3, 2).to(memory_format=torch.contiguous_format).T,
        lambda: torch.empty(0, 5),
        lambda: torch.tensor(7.0),
        lambda: torch.arange(4).to(torch.int8),
    ],
    ids="sparse csr mkldnn conj neg permuted expanded transposed empty scalar int8".split(),
)
def test_a_tensor_is_saved_whatever_its_memory_looks_like(out_dir, make):
    tensor = make()
    dense = tensor.to_dense() if tensor.layout != torch.strided else tensor
    expected = dense.resolve_conj().resolve_neg().contiguous().numpy()
    model = Gives(lambda x: tensor)
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        model(torch.zeros(1))
    assert hook.status().skipped == {}
    saved = read(out_dir).tensor("Gives_output_0").value(0)
    np.testing.assert_array_equal(saved.reshape(expected.shape), expected)


def test_a_subclass_of_tensor_is_recorded(out_dir):
    class Marked(torch.Tensor):
        pass

    model = Gives(lambda x: (x + 1).as_subclass(Marked))
    with every_step(out_dir, include_regex=["_output_0"]) as hook:
        hook.register_module(model)
        model(torch.zeros(2))
    assert read(out_dir).tensor("Gives_output_0").value(0).tolist() == [1, 1]


# --- modules ---


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpointed_model_is_recorded_once_and_trains_to_the_same_bits(out_dir, use_reentrant):
    class Blocks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 8)
            self.block = torch.nn.Sequential(
                torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(inplace=True)
            )
            self.last = torch.nn.Linear(8, 3)

        def forward(self, x):
            return self.last(checkpoint(self.block, self.first(x), use_reentrant=use_reentrant))

    torch.manual_seed(0)
    plain, watched = Blocks(), Blocks()
    watched.load_state_dict(plain.state_dict())
    expected = train(plain, 4)
    outputs = []
    watched.block[1].register_forward_hook(lambda m, a, out: outputs.append(out.detach().clone()))
    with every_step(out_dir, save_all=True, include_collections=["activation_gradients"]) as hook:
        hook.register_module(watched)
        assert train(watched, 4) == expected
    trial = read(out_dir)
    repeated = [n for n in trial.tensor_names() if n.endswith("_output_1") or "_input_1" in n]
    assert repeated == []
    assert len(outputs) > 4 or not use_reentrant  # the block did run again in backward
    np.testing.assert_array_equal(trial.tensor("block.1_output_0").value(0), outputs[0])
    assert trial.tensor("gradient/Blocks_block.0.weight").steps() == [0, 1, 2, 3]
    assert hook.status().error is None


def test_a_reparametrised_layer_has_the_names_that_torch_gives(out_dir):
    model = Net()
    torch.nn.utils.parametrizations.weight_norm(model.fc1)
    before = {n: p.detach().clone().numpy() for n, p in model.named_parameters()}
    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4)).sum().backward()
    trial = read(out_dir)
    assert "fc1.parametrizations.weight.original0" in before
    for name, parameter in model.named_parameters():
        gradient = trial.tensor(f"gradient/Net_{name}").value(0)
        np.testing.assert_array_equal(gradient, parameter.grad)
        if "weight" in name:
            np.testing.assert_array_equal(trial.tensor(f"Net_{name}").value(0), before[name])


def test_a_layer_that_is_reparametrised_during_training_is_followed(out_dir):
    model = Net()

    def reparametrise(step):
        if step == 1:
            torch.nn.utils.parametrizations.spectral_norm(model.fc2)

    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        train(model, 4, on_step=reparametrise)
    trial = read(out_dir)
    assert trial.tensor("Net_fc2.weight").steps() == [0, 1]
    assert trial.tensor("Net_fc2.parametrizations.weight.original").steps() == [2, 3]
    assert trial.tensor("gradient/Net_fc2.parametrizations.weight.original").steps() == [2, 3]


def test_a_tied_weight_is_one_tensor_with_one_gradient_per_backward(out_dir):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(5, 3)
            self.head = torch.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    model = Tied()
    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        model(torch.tensor([1, 3])).square().sum().backward()
    trial = read(out_dir)
    assert trial.tensor_names() == ["Tied_embedding.weight", "gradient/Tied_embedding.weight"]
    gradient = trial.tensor("gradient/Tied_embedding.weight").value(0)
    np.testing.assert_array_equal(gradient, model.embedding.weight.grad)


def test_a_lazy_model_brings_buffers_and_final_gradients_too(out_dir):
    model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d())
    wanted = ["weights", "buffers", "gradients", "optimizer_state"]
    with every_step(out_dir, include_collections=wanted, gradients="final") as hook:
        hook.register_module(model)
        model(torch.randn(4, 5)).square().sum().backward()
        optimizer = torch.optim.Adam(model.parameters())
        optimizer.step()
        model(torch.randn(4, 5)).square().sum().backward()
        optimizer.step()
    trial = read(out_dir)
    assert hook.status().skipped == {}
    assert trial.tensor("Sequential_0.weight").steps() == [0, 1]
    assert trial.tensor("gradient/Sequential_0.weight").steps() == [0, 1]
    assert trial.tensor("optimizer_state/Sequential_1.weight/exp_avg").steps() == [0, 1]
    assert trial.tensor("buffer/Sequential_1.running_mean").steps() == [1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("kind", ["script", "trace"])
def test_a_model_with_a_scripted_child_is_recorded_around_it(out_dir, logged, kind):
    torch.manual_seed(0)
    inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    scripted = (
        torch.jit.script(inner) if kind == "script" else torch.jit.trace(inner, torch.ones(2, 4))
    )
    model = torch.nn.Sequential()
    model.add_module("inner", scripted)
    model.add_module("last", torch.nn.Linear(4, 3))
    wanted = ["weights", "gradients", "buffers"]
    with every_step(out_dir, include_collections=wanted, include_regex=["_output_"]) as hook:
        hook.register_module(model)
        train(model, 2)
    assert len([line for line in logged if "'inner'" in line and "TorchScript" in line]) == 1
    trial = read(out_dir)
    assert trial.tensor("Sequential_inner.0.weight").steps() == [0, 1]
    assert trial.tensor("gradient/Sequential_inner.0.weight").steps() == [0, 1]
    assert trial.tensor("last_output_0").steps() == [0, 1]
    assert hook.status().error is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_scripted_model_as_a_whole_is_refused_with_what_can_be_recorded(out_dir):
    model = torch.jit.script(torch.nn.Linear(4, 3))

    class Around(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.script = model

        def forward(self, x):
            return self.script(x)

    wanted = {"include_collections": ["weights", "gradients"], "include_regex": ["_output_"]}
    with every_step(out_dir, **wanted) as hook:
        with pytest.raises(SMDebugTypeError, match="call the script in the forward of a plain mod"):
            hook.register_module(model)
        around = Around()
        hook.register_module(around)
        train(around, 2)
    names = {"Around_script.weight", "gradient/Around_script.weight", "Around_output_0"}
    assert names <= set(read(out_dir).tensor_names())


def test_data_parallel_is_recorded_as_the_model_inside(out_dir):
    torch.manual_seed(0)
    inner = Net(dropout=0.5)
    plain = copy.deepcopy(inner)
    model = torch.nn.DataParallel(inner)
    further = ["buffers", "activation_gradients", "optimizer_state"]
    with every_step(out_dir, save_all=True, include_collections=further) as hook:
        hook.register_module(model)
        assert train(model, 2) == train(plain, 2)
    names = read(out_dir).tensor_names(step=1)
    assert {"Net_fc1.weight", "fc1_output_0", "Net_input_0", "Net_output_0"} <= set(names)
    assert "activation_gradient/fc1_output_0" in names
    assert not [name for name in names if "module" in name or name.endswith("_1")]


def test_a_gradient_of_a_gradient_is_recorded(out_dir):
    def run(model):
        torch.manual_seed(1)
        x = torch.randn(3, 4, requires_grad=True)
        (of_x,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
        loss = of_x.square().sum()
        loss.backward()
        return loss.item(), model.fc1.weight.grad.clone()

    torch.manual_seed(0)
    plain = Net()
    watched = copy.deepcopy(plain)
    expected = run(plain)
    wanted = ["gradients", "activation_gradients"]
    with every_step(out_dir, include_collections=wanted) as hook:
        hook.register_module(watched)
        loss, gradient = run(watched)
    assert loss == expected[0] and torch.equal(gradient, expected[1])
    saved = read(out_dir).tensor("gradient/Net_fc1.weight").value(0)
    np.testing.assert_array_equal(saved, gradient)


def test_inference_mode_is_recorded(out_dir):
    model = Net()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        with torch.inference_mode():
            expected = model(torch.ones(2, 4)).numpy()
    assert hook.status().skipped == {} and hook.status().error is None
    np.testing.assert_array_equal(read(out_dir).tensor("Net_output_0").value(0), expected)


def test_the_fast_path_of_a_transformer_layer_gives_way_to_the_hooks(out_dir):
    model = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with every_step(out_dir, include_regex=["_output_0$"]) as hook:
        hook.register_module(model)
        with torch.no_grad():
            output = model(torch.randn(2, 3, 8))
    trial = read(out_dir)
    assert {"linear1_output_0", "norm2_output_0"} <= set(trial.tensor_names())
    saved = trial.tensor("TransformerEncoderLayer_output_0").value(0)
    np.testing.assert_array_equal(saved, output)


def test_a_recurrent_layer_is_recorded_with_its_states(out_dir):
    model = torch.nn.Sequential()
    model.add_module("lstm", torch.nn.LSTM(4, 3, batch_first=True))
    x = torch.randn(2, 5, 4)
    with every_step(out_dir, include_regex=["lstm_output"]) as hook:
        hook.register_module(model)
        output, (h, c) = model(x)
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True)
        of_packed, _ = model(packed)
    trial = read(out_dir)
    for number, expected in enumerate([output, h, c]):
        value = trial.tensor(f"lstm_output_{number}").value(0)
        np.testing.assert_array_equal(value, expected.detach())
    np.testing.assert_array_equal(trial.tensor("lstm_output_0").value(1), of_packed.data.detach())


def test_a_model_that_moves_to_another_dtype_is_followed(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4)).sum().backward()
        model.double()
        model(torch.randn(2, 4).double()).sum().backward()
    trial = read(out_dir)
    for name in ("Net_fc1.weight", "gradient/Net_fc1.weight"):
        dtypes = [trial.tensor(name).value(step).dtype for step in (0, 1)]
        assert dtypes == [np.float32, np.float64]


# --- copies ---


def make_watched(out_dir):
    torch.manual_seed(0)
    model = Net(dropout=0.5)
    further = ["buffers", "activation_gradients", "optimizer_state", "inputs"]
    hook = every_step(out_dir, save_all=True, include_collections=further, gradients="final")
    hook.register_module(model)
    return model, hook


def test_a_copy_that_is_made_in_the_middle_of_a_step_trains_alone(out_dir):
    model, hook = make_watched(out_dir)
    loss = model(torch.randn(2, 4)).sum()
    clone = copy.deepcopy(model)
    loss.backward()
    hook.close()
    losses = train(clone, 2, seed=4)
    twin = Net(dropout=0.5)
    twin.load_state_dict(model.state_dict())
    assert losses == train(twin, 2, seed=4)
    assert hook.status().steps == 1 and hook.status().error is None


@pytest.mark.parametrize("way", ["pickle", "torch.save"])
def test_a_model_that_is_saved_in_the_middle_of_a_step_is_loaded_without_hooks(out_dir, way):
    model, hook = make_watched(out_dir)
    model(x=torch.randn(2, 4)).sum().backward()
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
    twin = Net(dropout=0.5)
    twin.load_state_dict(model.state_dict())
    assert train(loaded, 2, seed=4) == train(twin, 2, seed=4)
    assert loaded(x=torch.ones(1, 4)).shape == (1, 3)
    assert hook.status().steps == 1 and hook.status().error is None
    assert set(model.state_dict()) == set(Net().state_dict())
    hook.close()


def test_a_backward_on_another_thread_brings_activation_gradients(out_dir):
    model, hook = make_watched(out_dir)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(2, 4)).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        optimizer.step()
    hook.close()
    trial = read(out_dir)
    assert trial.tensor("activation_gradient/fc1_output_0").steps() == [0, 1, 2]
    assert trial.tensor("optimizer_state/Net_fc1.weight/exp_avg").steps() == [0, 1, 2]
