"""`ReplacedMethod`: a method of ours in the place of one of an object of Keras."""


class ReplacedMethod:
    """Stands on this instance alone, until `undo`. It is put there past Keras, which looks into all
    that an object is given for layers and variables."""

    def __init__(self, owner, name, method):
        """Raises AttributeError where `owner` has no such method."""
        self.original = getattr(owner, name)
        self._own = vars(owner)
        self._name = name
        self._method = method
        self._given = self._own.get(name)  # by the script, on this instance
        self._own[name] = method

    def undo(self):
        """Gives back what was there, unless the script has put something else there since."""
        if self._own.get(self._name) is not self._method:
            return
        del self._own[self._name]
        if self._given is not None:
            self._own[self._name] = self._given
