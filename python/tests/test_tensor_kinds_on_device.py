"""The kinds of test_tensor_kinds.py on the device of stand_in_accelerator.py, which has those whose
memory torch lends. A sparse tensor, for example, is made dense first."""

import numpy as np
import pytest
import stand_in_accelerator
import test_tensor_kinds
from test_tensor_kinds import (
    FAILING,
    NAMES,
    REASON,
    SAVED,
    kept_scalar,
    number_in,
    quietly,
    watched,
)

from conftest import read

mesh = test_tensor_kinds.mesh
SPARSE = ("COO", "CSR", "CSC", "BSR", "BSC", "mkldnn")
LENT = [kind for kind in SAVED if kind != FAILING and not any(each in kind for each in SPARSE)]


@pytest.fixture
def device():
    with stand_in_accelerator.at_work() as accelerator:
        yield accelerator


@pytest.mark.parametrize("kind", LENT)
def test_a_tensor_on_a_device_is_saved_with_its_elements_in_every_way(out_dir, device, kind):
    make, expected = SAVED[kind]
    hook = watched(out_dir, quietly(make))
    assert hook.status().skipped == {}
    assert device.copied + device.copied_at_once > 0 or np.size(expected) == 0
    for name in NAMES:
        found = read(out_dir).tensor(name).value(0)
        assert found.shape == np.shape(expected)
        np.testing.assert_array_equal(found.astype(np.asarray(expected).dtype), expected)


@pytest.mark.parametrize("kind", LENT)
def test_a_scalar_on_a_device_is_its_one_element_or_refused(out_dir, device, kind):
    make, expected = SAVED[kind]
    hook, is_refused = kept_scalar(out_dir, quietly(make))
    number = number_in(expected)
    assert is_refused == (number is None) and hook.status().skipped == {}
    if number is not None:
        assert read(out_dir).tensor("scalar/s").value(0).tolist() == [number]


def test_a_tensor_that_cannot_be_copied_from_its_device_is_skipped_in_every_way(
    out_dir, device, capfd
):
    hook = watched(out_dir, SAVED[FAILING][0]())
    assert hook.status().skipped == {name: f"no copy in host memory: {REASON}" for name in NAMES}
    said = capfd.readouterr().err
    assert [said.count(f"'{name}' is not saved") for name in NAMES] == [1] * len(NAMES)
