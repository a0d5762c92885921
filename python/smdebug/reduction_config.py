"""`ReductionConfig`: what is saved of a tensor in place of its elements."""

import json

from smdebug import _core
from smdebug.edits import CountingList, edits
from smdebug.exceptions import SMDebugValueError

ALLOWED_REDUCTIONS = ["min", "max", "median", "mean", "std", "variance", "sum", "prod"]
ALLOWED_NORMS = ["l1", "l2"]


class ReductionConfig:
    """The numbers that tensors are reduced to.

    `reductions` and `norms` are taken of the elements, `abs_reductions` and `abs_norms` of their
    absolute values. The elements themselves are saved only with `save_raw_tensor`, the shape with
    `save_shape`. `summary` asks for the statistics alone, which every captured tensor has.

    Reductions of every dtype are computed in float64 and never fail: NaN propagates as in numpy,
    bools count as 0 and 1, complex elements by their absolute value; strings, and tensors without
    elements, have none. In PyTorch `std` and `variance` are unbiased, as torch computes them;
    elsewhere they are of the population. `median` of an even count is the mean of the middle two,
    as in numpy (torch.median gives the lower one); l1 and l2 are always of the flattened tensor.

    A saved reduction has the tensor's dtype where that is float16, bfloat16, float32 or float64
    (a number beyond its range is saved as infinite), float32 for complex64 and float8, and float64
    for integers, bools and complex128. Its shape is () in PyTorch, (1,) elsewhere.
    """

    def __init__(
        self,
        reductions=None,
        abs_reductions=None,
        norms=None,
        abs_norms=None,
        save_raw_tensor=False,
        save_shape=False,
        summary=False,
    ):
        self.reductions = _names("reductions", reductions, ALLOWED_REDUCTIONS)
        self.abs_reductions = _names("abs_reductions", abs_reductions, ALLOWED_REDUCTIONS)
        self.norms = _names("norms", norms, ALLOWED_NORMS)
        self.abs_norms = _names("abs_norms", abs_norms, ALLOWED_NORMS)
        self.save_raw_tensor = _flag("save_raw_tensor", save_raw_tensor)
        self.save_shape = _flag("save_shape", save_shape)
        self.summary = _flag("summary", summary)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        edits.count += 1

    @classmethod
    def from_dict(cls, params):
        """From {"reductions": "mean,abs_max,l2_norm", "save_raw_tensor": true, ...}.

        Flags may be text, "true" or "False", as configurations in JSON have them.
        """
        known = ("reductions", "save_raw_tensor", "save_shape", "summary")
        unknown = sorted(set(params) - set(known))
        if unknown:
            raise SMDebugValueError(f"'{unknown[0]}' is no key of a reduction config; use {known}")
        flags = {key: _flag(key, _from_text(params[key])) for key in known[1:] if key in params}
        return cls.from_core(_core.ReductionConfig.parse(params.get("reductions") or "", **flags))

    def ops_text(self):
        """ "mean,l2_norm,abs_max": the spelling of JSON configurations and collection files."""
        return ",".join(
            [
                *self.reductions,
                *(f"{norm}_norm" for norm in self.norms),
                *(f"abs_{name}" for name in self.abs_reductions),
                *(f"abs_{norm}_norm" for norm in self.abs_norms),
            ]
        )

    def to_json_dict(self):
        return {
            "save_raw_tensor": self.save_raw_tensor,
            "reductions": self.ops_text(),
            "save_shape": self.save_shape,
        } | ({"summary": True} if self.summary else {})

    def to_json(self):
        """The keys of `from_dict` as text, as in collections files."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_json(cls, json_str):
        """From the text of `to_json`."""
        return cls.from_dict(json.loads(json_str))

    def to_core(self):
        return _core.ReductionConfig.parse(
            self.ops_text(), self.save_raw_tensor, self.save_shape, self.summary
        )

    @classmethod
    def from_core(cls, config):
        lists = {"reductions": [], "abs_reductions": [], "norms": [], "abs_norms": []}
        for op in config.ops:
            name = op.removeprefix("abs_")
            kind = "norms" if name in ALLOWED_NORMS else "reductions"
            lists[kind if name == op else f"abs_{kind}"].append(name)
        return cls(
            **lists,
            save_raw_tensor=config.save_raw_tensor,
            save_shape=config.save_shape,
            summary=config.summary,
        )

    def __eq__(self, other):
        if not isinstance(other, ReductionConfig):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = None

    def __repr__(self):
        return f"ReductionConfig({self.to_json_dict()})"


def _names(field, value, allowed):
    if value is None:
        return CountingList()
    if not isinstance(value, (list, tuple)):
        raise SMDebugValueError(f"{field} must be a list of names, found {value!r}")
    names = CountingList()
    for name in value:
        short = name.removesuffix("_norm") if isinstance(name, str) else name
        if short not in allowed:
            raise SMDebugValueError(f"'{name}' in {field} is no reduction; use {allowed}")
        names.append(short)
    return names


def _from_text(flag):
    words = {"true": True, "false": False}
    return words.get(flag.strip().lower(), flag) if isinstance(flag, str) else flag


def _flag(field, value):
    if not isinstance(value, bool):
        raise SMDebugValueError(f"{field} must be True or False, found {value!r}")
    return value
