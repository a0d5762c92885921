"""Every kind of torch's tensors, through every way into a hook: saved by name, recorded, or
returned by a module inside of a dict and a dataclass. It is saved with its elements, or skipped
with one log line each, and the module returns the same object."""

import contextlib
import dataclasses
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import smdebug.pytorch as smd
from conftest import read
from smdebug.exceptions import SMDebugTypeError

X = torch.tensor([[1.5, -2.0], [0.0, 4.0]])
ROWS = X.tolist()
Z = torch.tensor([1 + 2j, 3 - 4j])
NUMBERS = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float64".split()
FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]
NO_DTYPES = ["complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.fixture(scope="module", autouse=True)
def mesh():
    """A group of one process, for tensors that are distributed."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


@dataclasses.dataclass
class Output:
    value: object


class Gives(torch.nn.Module):
    """Returns the attribute `output`."""

    def forward(self, x):
        return self.output


class Subclass(torch.Tensor):
    """A tensor class of the user."""


class Failing(torch.Tensor):
    """A tensor class whose operators fail."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        raise RuntimeError("the operator failed")


class Wrapper(torch.Tensor):
    """A tensor class that keeps its elements elsewhere."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        raise RuntimeError("the operator failed")

    def __repr__(self, **options):
        return "Wrapper"


def fake(device=None):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(2, 2, device=device)


def fake_parameter():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.nn.Linear(2, 2).weight


def inference():
    with torch.inference_mode():
        return X + 0


def freed():
    """A tensor without its memory, as FSDP leaves one."""
    tensor = torch.ones(1)
    tensor.untyped_storage().resize_(0)
    return tensor


def escaped(transform, x):
    """A tensor of a function transform, after its end."""
    kept = []
    getattr(torch.func, transform)(lambda x: kept.append(x) or x.sum())(x)
    return kept[0]


def nested(layout):
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


def whole(tensor, placement=None):
    mesh = init_device_mesh("cpu", (1,))
    return distribute_tensor(tensor, mesh, [placement or Shard(0)])


def local(tensor, placement):
    return DTensor.from_local(tensor, init_device_mesh("cpu", (1,)), [placement])


def outside(dtype=torch.float32):
    return torch.sparse_coo_tensor([[5], [1]], torch.ones(1, dtype=dtype), (2, 2))


# Name -> (makes a tensor, the array that it is saved as).
SAVED = {
    **{
        each: (lambda d=each: torch.tensor([0.0, 3.0]).to(getattr(torch, d)), [0, 3])
        for each in NUMBERS
    },
    "bool": (lambda: X > 0, X.numpy() > 0),
    **{each: (lambda d=each: X.to(getattr(torch, d)), ROWS) for each in FLOAT8},
    "complex64": (lambda: Z, [1 + 2j, 3 - 4j]),
    "complex128": (lambda: Z.to(torch.complex128), [1 + 2j, 3 - 4j]),
    "conj": (lambda: Z.conj(), [1 - 2j, 3 + 4j]),
    "neg": (lambda: Z.conj().imag, [-2, 4]),
    "Parameter": (lambda: torch.nn.Parameter(X), ROWS),
    "Parameter of ints": (lambda: torch.nn.Parameter(X.int(), requires_grad=False), X.int()),
    "subclass": (lambda: X.as_subclass(Subclass), ROWS),
    "subclass whose operators fail": (lambda: X.as_subclass(Failing), ROWS),
    "inference": (inference, ROWS),
    "parameter of inference": (lambda: torch.nn.Parameter(inference(), requires_grad=False), ROWS),
    "empty": (lambda: torch.empty(3, 0, 2), np.empty((3, 0, 2))),
    "0-d": (lambda: torch.tensor(3.5), np.array(3.5)),
    "64 dimensions": (lambda: torch.ones((1,) * 64), np.ones((1,) * 64)),
    "expanded": (lambda: torch.tensor([1.0, 2.0]).expand(3, 2), [[1, 2]] * 3),
    "overlapping": (lambda: torch.arange(4.0).as_strided((2, 3), (1, 1)), [[0, 1, 2], [1, 2, 3]]),
    "COO": (lambda: X.to_sparse(), ROWS),
    "hybrid COO": (lambda: X.to_sparse(1), ROWS),
    "COO with gradient": (lambda: X.to_sparse().requires_grad_(), ROWS),
    "COO with sums": (
        lambda: torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)),
        [[0, 3], [0, 0]],
    ),
    "COO without values": (lambda: torch.sparse_coo_tensor(size=(2, 2)), np.zeros((2, 2))),
    "empty COO": (lambda: torch.sparse_coo_tensor(size=(0, 2)), np.zeros((0, 2))),
    "COO of bfloat16": (lambda: X.bfloat16().to_sparse(), ROWS),
    "CSR": (lambda: X.to_sparse_csr(), ROWS),
    "CSC": (lambda: X.to_sparse_csc(), ROWS),
    "BSR": (lambda: X.to_sparse_bsr((1, 1)), ROWS),
    "BSC": (lambda: X.to_sparse_bsc((2, 2)), ROWS),
    "mkldnn": (lambda: X.to_mkldnn(), ROWS),
    "DTensor": (lambda: whole(X), ROWS),
    "replicated DTensor": (lambda: whole(X, Replicate()), ROWS),
    "partial DTensor": (lambda: local(X, Partial()), ROWS),
    "DTensor parameter": (lambda: torch.nn.Parameter(whole(X)), ROWS),
    "computed DTensor": (lambda: torch.nn.Parameter(whole(X)) * 2, np.multiply(ROWS, 2)),
    "DTensor of bfloat16": (lambda: whole(X.bfloat16()), ROWS),
    "conj DTensor": (lambda: whole(Z).conj(), [1 - 2j, 3 + 4j]),
    "transposed DTensor": (lambda: whole(X).T, np.transpose(ROWS)),
    "empty DTensor": (lambda: whole(torch.empty(0, 2)), np.empty((0, 2))),
    "result of a collective": (
        lambda: all_reduce(X, "sum", init_device_mesh("cpu", (1,))),
        ROWS,
    ),
}
# Name -> (makes a tensor, what the log says).
SKIPPED = {
    **{
        each: (lambda d=each: torch.empty(2, 2, dtype=getattr(torch, d)), each)
        for each in NO_DTYPES
    },
    "bits8": (lambda: torch.empty(2, dtype=torch.bits8), "not supported"),
    "quantized": (
        lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.quint8),
        "a quantized tensor: save its dequantize()",
    ),
    "quantized by channel": (
        lambda: torch.quantize_per_channel(X, torch.ones(2), torch.zeros(2), 0, torch.qint8),
        "a quantized tensor",
    ),
    "nested": (lambda: nested(torch.strided), "a nested tensor has no single shape"),
    "jagged": (lambda: nested(torch.jagged), "a nested tensor has no single shape"),
    "meta": (lambda: X.to("meta"), "a meta tensor has a shape but no elements"),
    "meta parameter": (lambda: torch.nn.Parameter(X.to("meta")), "a meta tensor"),
    "meta DTensor": (lambda: local(X.to("meta"), Shard(0)), "a meta tensor"),
    "meta COO": (lambda: torch.sparse_coo_tensor(size=(2, 2), device="meta"), "a meta tensor"),
    "expanded meta": (lambda: torch.ones(2, device="meta").expand(3, 2), "a meta tensor"),
    "fake": (fake, "a FakeTensor has a shape but no elements"),
    "fake of a GPU": (lambda: fake("cuda"), "a FakeTensor has a shape but no elements"),
    "fake of meta": (lambda: fake("meta"), "has a shape but no elements"),
    "fake parameter": (fake_parameter, "a FakeTensor has a shape but no elements"),
    "parameter of a lazy module": (
        lambda: torch.nn.LazyLinear(3).weight,
        "before the first call of its module",
    ),
    "buffer of a lazy module": (
        lambda: torch.nn.LazyBatchNorm1d().running_mean,
        "before the first call of its module",
    ),
    "of vmap": (lambda: escaped("vmap", torch.ones(2, 3)), "storage"),
    "of grad": (lambda: escaped("grad", torch.ones(2)), "storage"),
    "freed": (freed, "no elements in memory"),
    "wrapper": (lambda: Wrapper(X), "a tensor of type 'Wrapper' has no elements in memory"),
    "COO with indices outside": (outside, "its indices do not fit into its shape"),
    "COO with negative indices": (
        lambda: torch.sparse_coo_tensor([[-1], [1]], [1.0], (2, 2), check_invariants=False),
        "its indices do not fit into its shape",
    ),
    "CSR with indices outside": (
        lambda: torch.sparse_csr_tensor([0, 1, 2], [0, 9], [1.0, 2.0], (2, 2)),
        "index out of range",
    ),
}
FAILING, REASON = "subclass whose operators fail", "the operator failed"
NAMES = ("tensor", "record_output_0", "Gives_output_0", "Gives_output_1")


def quietly(make):
    """Calls `make` without the warnings of torch's prototypes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


@contextlib.contextmanager
def no_warning_of_torch():
    """Asserts that what the hook asks a tensor makes torch warn the user of nothing."""
    was_always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # by default, torch gives most of its warnings once per process
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        torch.set_warn_always(was_always)
    messages = [str(each.message) for each in caught]
    # By default, torch gives this one only to the program, which made a sparse tensor earlier.
    assert [text for text in messages if "tensor support is in beta" not in text] == []


def watched(out_dir, value):
    """The closed hook of a step in which `value` takes every way."""
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    model = Gives()
    object.__setattr__(model, "output", {"a": value, "b": [Output(value)]})
    with no_warning_of_torch():
        hook.register_module(model)
        output = model(torch.ones(1))
        assert output["a"] is value and output["b"][0].value is value
        hook.save_tensor("tensor", value)
        hook.record_tensor_value("record", value)
        hook.save_scalar("sound", 1)
        hook.close()
    assert hook.status().error is None
    return hook


@pytest.mark.parametrize("kind", SAVED)
def test_a_tensor_is_saved_with_its_elements_in_every_way(out_dir, kind):
    make, expected = SAVED[kind]
    hook = watched(out_dir, quietly(make))
    assert hook.status().skipped == {}
    for name in NAMES:
        found = read(out_dir).tensor(name).value(0)
        assert found.shape == np.shape(expected)
        np.testing.assert_array_equal(found.astype(np.asarray(expected).dtype), expected)


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_tensor_without_plain_elements_is_skipped_with_its_reason_in_every_way(
    out_dir, kind, capfd
):
    make, reason = SKIPPED[kind]
    hook = watched(out_dir, quietly(make))
    skipped = hook.status().skipped
    assert set(skipped) == set(NAMES)
    assert all(reason in each and "\n" not in each for each in skipped.values())
    said = capfd.readouterr().err
    assert [said.count(f"'{name}' is not saved") for name in NAMES] == [1] * len(NAMES)
    assert read(out_dir).tensor("scalar/sound").value(0).tolist() == [1]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: whole(torch.tensor([1.5])), 1.5),
        (lambda: whole(torch.tensor(1.5), Replicate()), 1.5),
        (lambda: all_reduce(torch.tensor([1.5]), "sum", init_device_mesh("cpu", (1,))), 1.5),
        (lambda: torch.tensor([1.5]).to_mkldnn(), 1.5),
        (lambda: torch.quantize_per_tensor(torch.tensor([1.5]), 0.5, 0, torch.quint8), 1.5),
        (lambda: torch.tensor([1.5]).to(torch.float8_e4m3fnuz), 1.5),
        (lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 0.5], (1,)), 1.5),
        (freed, "its memory was freed"),
        (lambda: [freed()], "its memory was freed"),
        (lambda: torch.sparse_coo_tensor([[5]], [1.0], (1,)), "size is inconsistent"),
        (lambda: torch.nn.LazyLinear(1).weight, "before the first call of its module"),
        (lambda: Wrapper(torch.ones(1)), "the operator failed"),
        (lambda: whole(torch.tensor([1j])), "it is complex"),
    ],
)
def test_a_scalar_is_any_tensor_of_one_element_or_skipped(out_dir, make, expected):
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(torch.nn.Linear(1, 1))
    hook.save_scalar("s", quietly(make))
    hook.close()
    assert hook.status().error is None
    if isinstance(expected, str):
        assert expected in hook.status().skipped["scalar/s"]
    else:
        assert read(out_dir).tensor("scalar/s").value(0).tolist() == [expected]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: [freed(), freed()], "its memory was freed"),
        (lambda: [outside(), outside()], "size is inconsistent"),
        (lambda: [torch.nn.LazyLinear(3).weight], "before the first call of its module"),
        (lambda: [X, whole(X)], "cannot be stacked"),
        (lambda: [X, None], "cannot be stacked"),
        (lambda: [nested(torch.strided)], "cannot be stacked"),
    ],
)
def test_a_list_with_a_tensor_that_cannot_be_read_is_skipped(out_dir, make, reason):
    with smd.Hook(out_dir) as hook:
        hook.save_tensor("list", quietly(make))
    assert reason in hook.status().skipped["list"] and hook.status().error is None


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_list_that_contains_itself_is_skipped(out_dir, depth):
    values = [X] if depth else [1.0]
    values.append([values] if depth == 2 else values)
    with smd.Hook(out_dir) as hook:
        hook.save_tensor("tensor", values)
        hook.save_scalar("scalar", values)
    skipped = hook.status().skipped
    assert all("contain themselves" in skipped[name] for name in ("tensor", "scalar/scalar"))


def test_a_message_about_a_tensor_without_memory_does_not_read_it(out_dir):
    shape = "shape \\(1,\\)"
    with smd.Hook(out_dir) as hook:
        for call in (hook.register_module, hook.register_loss):
            with pytest.raises(SMDebugTypeError, match=shape):
                call(freed())
        with pytest.raises(SMDebugTypeError, match=shape):
            hook.get_collection("mine").add_module_tensors(freed())
        with pytest.raises(SMDebugTypeError, match="an object of type builtins.dict"):
            hook.save_tensor("t", {"a": [freed()]})


def kept_scalar(out_dir, value):
    """The hook after `value` was saved as a scalar in a step, and whether it was refused."""
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(torch.nn.Linear(1, 1))
    is_refused = False
    with no_warning_of_torch():
        for _ in range(2):
            try:
                hook.save_scalar("s", value)
            except SMDebugTypeError as error:
                assert "'s' must be one number" in str(error)
                is_refused = True
        hook.save_scalar("sound", 1)
        hook.close()
    assert hook.status().error is None
    assert read(out_dir).tensor("scalar/sound").value(0).tolist() == [1]
    return hook, is_refused


def number_in(expected):
    """The number that a scalar of these elements is, None if they are not one real number."""
    found = np.asarray(expected)
    is_number = found.size == 1 and found.dtype.kind in "fiub"
    return float(found.reshape(())) if is_number else None


@pytest.mark.parametrize("kind", SAVED)
def test_a_scalar_of_a_kind_that_is_saved_is_its_one_element_or_refused(out_dir, kind):
    make, expected = SAVED[kind]
    hook, is_refused = kept_scalar(out_dir, quietly(make))
    number = number_in(expected)
    if kind == FAILING:
        assert hook.status().skipped == {"scalar/s": "its value cannot be read: " + REASON}
    else:
        assert is_refused == (number is None) and hook.status().skipped == {}
    if number is not None:
        assert read(out_dir).tensor("scalar/s").value(0).tolist() == [number]


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_scalar_of_a_kind_without_elements_is_skipped_or_refused(out_dir, kind, capfd):
    hook, is_refused = kept_scalar(out_dir, quietly(SKIPPED[kind][0]))
    assert set(hook.status().skipped) == (set() if is_refused else {"scalar/s"})
    assert capfd.readouterr().err.count("'scalar/s' is not saved") == (0 if is_refused else 1)
    assert "scalar/s" not in read(out_dir).tensor_names()
