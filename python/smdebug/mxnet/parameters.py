"""The parameters of one registered model: their values and gradients."""

from mxnet.gluon.parameter import DeferredInitializationError

from smdebug._core import gradient_name
from smdebug.log import get_logger
from smdebug.mxnet.arrays import host_copy, readable
from smdebug.mxnet.private_names import is_fresh, is_sparse

logger = get_logger()


class ModelParameters:
    """Finds a model's parameters by name whenever a step is saved, so that those that get their
    shape late, or are replaced, are seen.

    A value is that of the first device: all have the same. A gradient is the sum over the devices,
    which is what the trainer uses.
    """

    def __init__(self, session, block):
        self._session = session
        self._block = block
        self._value_sites = {}  # name of a parameter -> its place
        self._gradient_sites = {}
        self._has_told = False

    def put_values(self):
        for name, parameter in self._block.collect_params().items():
            site = self._value_sites.get(name)
            if site is None:
                site = self._value_sites[name] = self._session.tensor(name)
            if not site.is_due():
                continue
            if is_sparse(parameter):
                self._tell(name)
                continue
            arrays = _present(parameter.list_data)
            if arrays:
                site.put(readable(arrays[0]))

    def put_gradients(self, is_wanted, is_reduced=False, fresh_only=False):
        """Saves the gradients of the parameters of which `is_wanted` is true; with `fresh_only`, of
        those that backward came to since their last update. `is_reduced` says that each device has
        the sum."""
        for name, parameter in self._block.collect_params().items():
            if parameter.grad_req == "null" or not is_wanted(parameter):
                continue
            site = self._gradient_sites.get(name)
            if site is None:
                site = self._session.tensor(gradient_name(name))
                self._gradient_sites[name] = site
            if not site.is_due():
                continue
            if fresh_only and not any(map(is_fresh, _present(parameter.list_data))):
                continue
            gradients = _present(parameter.list_grad)
            if len(gradients) == 1 or (gradients and is_reduced):
                site.put(readable(gradients[0]))
            elif gradients:
                site.put(sum(host_copy(gradient) for gradient in gradients))

    def _tell(self, name):
        if not self._has_told:
            self._has_told = True
            logger.warning(
                "parameter '%s' is stored sparse, which only its trainer can read: its value and "
                "those of others like it are not saved, their gradients are",
                name,
            )


def _present(list_arrays):
    """The arrays of a parameter, one per device; none while it waits for its shape, or was never
    initialized."""
    try:
        return list_arrays()
    except (DeferredInitializationError, RuntimeError):
        return []
