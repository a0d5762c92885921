"""The values of variables, saved once per step: weights, and what an optimizer keeps."""

from smdebug.tensorflow import names
from smdebug.tensorflow.tensors import as_array


class VariableValues:
    """A list of variables, each with its place in the run."""

    def __init__(self, session, is_bias=None):
        self._session = session
        self._is_bias = is_bias  # of the name of a weight
        self._sites = []
        self._variables = []
        self._are_mirrored = []  # whether replicas hold a copy each, alike in a sound training

    def may_be_due(self):
        """Whether one of those that are known is due, or none is known."""
        return not self._sites or any(site.is_due() for site in self._sites)

    def follow_weights(self, weights):
        """`weights`: (name of its layer, variable) of each."""
        if self._is_known([variable for _, variable in weights]):
            return
        named = []
        for layer, variable in weights:
            name = names.variable_name(variable)
            collection = "biases" if self._is_bias(name) else "weights"
            named.append((names.layer_weight(layer, name), collection, variable))
        self._follow(named)
        # Statistics of its own shards are what a replica moves: they are one with the others' when
        # the model is read.
        self._are_mirrored = [variable.trainable for _, variable in weights]

    def follow_optimizer(self, variables):
        if not self._is_known(variables):
            self._follow([(names.variable_name(v), "optimizer_variables", v) for v in variables])

    def put(self, values, are_replicas_apart):
        """Saves those that are due: what `values` has under the variable's id, else what it
        holds; where replicas are workers of their own, what each of them holds."""
        known = zip(self._sites, self._variables, self._are_mirrored, strict=True)
        for site, variable, is_mirrored in known:
            if not site.is_due():
                continue
            if is_mirrored and are_replicas_apart:
                put_copies(self._session, site, variable)
            else:
                value = values.get(id(variable))
                site.put(as_array(value_of(variable) if value is None else value))

    def _is_known(self, variables):
        return len(variables) == len(self._variables) and all(
            new is old for new, old in zip(variables, self._variables, strict=True)
        )

    def _follow(self, named):
        self._sites = [self._session.tensor(name, [collection]) for name, collection, _ in named]
        self._variables = [variable for _, _, variable in named]
        self._are_mirrored = [True] * len(named)


def put_copies(session, site, variable):
    """Saves what each replica holds of a variable, where it is due, in a run that tells replicas
    apart."""
    inner = variable if callable(variable.value) else variable.value  # of Keras 3
    copies = [as_array(copy.read_value()) for copy in session.copies(inner)]
    if len(copies) == 1:  # not of the strategy: they share it
        site.put(copies[0])
    else:
        site.put_each(copies)


def value_of(variable):
    """What a variable holds now: a tensor of the framework."""
    value = variable.value
    value = value() if callable(value) else value  # tf.Variable; Keras 3 has it as a property
    read = getattr(value, "read_value", None)  # Keras 3 on TensorFlow: a tf.Variable inside
    return value if read is None else read()
