"""What a script makes of a model while it is recorded: TorchScript, graphs, copies, files. Each is
as without smdebug."""

import copy
import io
import pickle
import textwrap
import warnings

import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, run_script

# A step that is saved, or not; and before the first step.
MOMENTS = ["before the first step", "in a saved step", "in an idle step"]
SAVE_ALL = {"include_collections": ["activation_gradients", "buffers", "inputs", "outputs"]}


def script(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(model)


def trace(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(model, torch.ones(2, 4))


def through_file(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def dynamically_quantized(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, torch.qint8)


def fused(model):
    model = torch.nn.Sequential(copy.deepcopy(model).fc1, torch.nn.ReLU()).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.fuse_modules(model, ["0", "1"])


def parametrized(model):
    model = copy.deepcopy(model)
    torch.nn.utils.parametrizations.weight_norm(model.fc1)
    return model


EXPORTS = {
    "script": script,
    "freeze": lambda model: torch.jit.freeze(script(model)),
    "trace": trace,
    "fx": torch.fx.symbolic_trace,
    "export": lambda model: torch.export.export(model, (torch.ones(2, 4),)).module(),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "torch.save": through_file,
    "quantized": dynamically_quantized,
    "fused": fused,
    "parametrized": parametrized,
    "DataParallel": torch.nn.DataParallel,
}


@pytest.fixture
def recorded(out_dir):
    """Makes a recorded model at one of the MOMENTS."""
    made = []

    def make(moment, net=Net):
        torch.manual_seed(1)
        model = net().eval()
        hook = smd.Hook(
            out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2), **SAVE_ALL
        )
        hook.register_module(model)
        made.append(hook)
        for _ in range(MOMENTS.index(moment)):
            model(torch.ones(2, 4)).sum().backward()
        return model, hook

    yield make
    for hook in made:
        hook.close()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", EXPORTS)
def test_what_is_made_of_a_recorded_model_computes_the_same(recorded, kind, moment):
    model, hook = recorded(moment)
    twin = Net().eval()
    twin.load_state_dict(model.state_dict())
    x = torch.randn(2, 4)
    expected = EXPORTS[kind](twin)(x)
    made = EXPORTS[kind](model)
    assert torch.equal(made(x), expected)
    assert torch.equal(made(x), expected)  # also in a step of its own
    assert hook.status().error is None
    model(x)
    assert hook.status().error is None


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_model_is_recorded_as_before_after_it_was_scripted(recorded, out_dir, moment):
    model, hook = recorded(moment)
    seen = []
    model.fc1.register_forward_hook(lambda module, arguments, output: seen.append(module))
    model.relu.register_forward_pre_hook(lambda module, arguments: seen.append(module))
    with pytest.raises(Exception):  # noqa: B017, PT011 - torch cannot script the hooks of the user
        script(model)
    before = len(seen)
    model(torch.ones(2, 4))
    model(torch.ones(2, 4))
    assert len(seen) - before == 4
    hook.close()
    trial = read(out_dir)
    for step in trial.steps():
        names = trial.tensor_names(step=step)
        assert {"fc1_input_0", "fc1_output_0", "relu_input_0", "Net_output_0"} <= set(names)


def test_torch_is_as_before_when_every_hook_is_closed(tmp_path):
    from torch.jit import _recursive

    before = _recursive.create_script_module
    first, second = smd.Hook(str(tmp_path / "1")), smd.Hook(str(tmp_path / "2"))
    first.register_module(Net())
    second.register_module(Net())
    assert _recursive.create_script_module is not before
    first.close()
    assert _recursive.create_script_module is not before
    second.close()
    assert _recursive.create_script_module is before


def test_a_hooked_model_is_recorded_where_torch_scripts_elsewhere(recorded, monkeypatch):
    monkeypatch.setattr(torch.jit, "_recursive", None)
    _, hook = recorded("in a saved step")
    assert hook.status().error is None


@pytest.mark.parametrize("options", [{}, {"gradients": "final"}, {"step_on": "optimizer"}])
def test_files_of_what_a_training_uses_contain_nothing_of_smdebug(out_dir, options):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    hook = smd.Hook(
        out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2), **SAVE_ALL, **options
    )
    hook.register_module(model)
    hook.register_loss(loss)
    for step in range(3):
        optimizer.zero_grad()
        loss(model(torch.ones(2, 4)), torch.tensor([0, 2])).backward()
        optimizer.step()
        for each in (model, loss, optimizer):
            file = io.BytesIO()
            torch.save(each, file)
            assert b"smdebug" not in file.getvalue(), (step, each)
    hook.close()
    assert hook.status().error is None and hook.status().steps_saved > 0


LOAD = """
import sys
class NoSmdebug:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "smdebug":
            raise ImportError("smdebug is not installed here")
sys.meta_path.insert(0, NoSmdebug())
import pickle, torch
with open(sys.argv[1], "rb") as file:
    kind, data = file.readline(), file.read()
import io
if kind == b"torch.save\\n":
    model = torch.load(io.BytesIO(data), weights_only=False)
else:
    model = pickle.loads(data)
torch.manual_seed(0)
loss = model(torch.randn(2, 4)).sum()
loss.backward()
print(loss.item(), "smdebug" in sys.modules)
"""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", ["torch.save", "pickle", "pickle 2", "deepcopy"])
def test_a_model_that_was_saved_is_loaded_where_smdebug_is_not_installed(
    recorded, tmp_path, kind, moment
):
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.0), torch.nn.Tanh())
    model, _ = recorded(moment, lambda: model)
    file = io.BytesIO()
    if kind == "torch.save":
        torch.save(model, file)
    elif kind == "deepcopy":
        pickle.dump(copy.deepcopy(model), file)
    else:
        pickle.dump(model, file, protocol=2 if kind.endswith("2") else None)
    assert b"smdebug" not in file.getvalue()
    path = tmp_path / "model"
    path.write_bytes(kind.encode() + b"\n" + file.getvalue())
    done = run_script(tmp_path, textwrap.dedent(LOAD), arguments=[path])
    torch.manual_seed(0)
    with torch.no_grad():
        twin = copy.deepcopy(model)
        expected = twin(torch.randn(2, 4)).sum().item()
    assert done.stdout.split() == [str(expected), "False"]
