# SPDX-License-Identifier: Apache-2.0
"""The ops of NumPy: its universal functions, by their number of inputs, and the functions of its namespace that
compute, reduce and reshape arrays."""

from opscope.overhead import CannotCall, Op, Unavailable, first_line, import_package, shape_text

SHAPE = (32, 32)

MATMUL = {"matmul", "dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron"}
REDUCTION = set(
    "all amax amin any argmax argmin average count_nonzero cumprod cumsum mean median nanargmax nanargmin nanmax"
    " nanmean nanmedian nanmin nanprod nanstd nansum nanvar percentile prod ptp quantile std sum trace var".split()
)
SHAPE_OPS = set(
    "broadcast_to concatenate copy diag diagonal expand_dims flip fliplr flipud hstack moveaxis pad ravel repeat"
    " reshape roll rollaxis rot90 split squeeze stack swapaxes take tile transpose tril triu vstack column_stack"
    " dstack".split()
)
UNARY = set(
    "angle around diff ediff1d exp fix gradient i0 imag nan_to_num real round sinc sort argsort unique where".split()
)
BINARY = set("allclose array_equal convolve correlate cross interp isclose isin".split())
CREATION = set(
    "arange empty empty_like eye full full_like identity linspace logspace ones ones_like zeros zeros_like".split()
)
NORM = {"linalg.norm"}
LINALG = ["linalg." + name for name in "norm det inv solve svd qr eig eigh cholesky matrix_power pinv".split()]


class Provider:
    name = "numpy"

    def __init__(self, settings):
        numpy = import_package("numpy")
        if settings.device not in (None, "cpu"):
            raise Unavailable("numpy has no device %s" % settings.device)
        if settings.layout not in (None, "C", "F"):
            raise Unavailable("a layout of numpy is C or F, not %s" % settings.layout)
        self.numpy, self.version = numpy, str(numpy.__version__)
        self.shape = tuple(settings.shape or SHAPE)
        try:
            self.dtype = numpy.dtype(settings.dtype or "float64")
        except TypeError:
            raise Unavailable("numpy has no data type %s" % settings.dtype) from None
        self.layout = settings.layout or "C"
        self.description = ", ".join((shape_text(self.shape), str(self.dtype), "layout " + self.layout))
        numpy.seterr(all="ignore")
        self.made = {}

    def array(self, kind="float"):
        if kind not in self.made:
            random = self.numpy.random.default_rng(1)
            value = random.integers(1, 8, self.shape) if kind == "int" else random.random(self.shape) + 0.5
            if kind == "bool":
                value = value > 1
            value = value.astype(self.dtype) if kind == "float" else value
            self.made[kind] = self.numpy.array(value, order=self.layout)
        return self.made[kind]

    def special(self, name):
        """Inputs of functions that take more than arrays."""
        a, shape = self.array(), self.shape
        flat, square = a.ravel(), self.numpy.eye(8) * 4 + 1
        return {
            "matmul": (a, a.swapaxes(-1, -2) if a.ndim > 1 else a),
            "dot": (a, a.swapaxes(-1, -2) if a.ndim > 1 else a),
            "tensordot": (flat, flat, 1),
            "vdot": (flat, flat),
            "outer": (flat[:32], flat[:32]),
            "inner": (flat, flat),
            "einsum": ("i,i->", flat, flat),
            "kron": (square, square),
            "broadcast_to": (a, (2,) + shape),
            "concatenate": ([a, a],),
            "stack": ([a, a],),
            "hstack": ([a, a],),
            "vstack": ([a, a],),
            "dstack": ([a, a],),
            "column_stack": ([a, a],),
            "expand_dims": (a, 0),
            "moveaxis": (a, 0, -1),
            "rollaxis": (a, a.ndim - 1),
            "swapaxes": (a, 0, -1),
            "pad": (a, 1),
            "repeat": (a, 2),
            "tile": (a, 2),
            "reshape": (a, (-1,)),
            "roll": (a, 1),
            "split": (flat[: len(flat) // 2 * 2], 2),
            "take": (a, [0]),
            "percentile": (a, 50),
            "quantile": (a, 0.5),
            "where": (self.array("bool"), a, a),
            "convolve": (flat[:32], flat[:3]),
            "correlate": (flat[:32], flat[:3]),
            "cross": (flat[:3], flat[:3]),
            "interp": (flat, self.numpy.arange(4.0), self.numpy.arange(4.0)),
            "arange": (16,),
            "linspace": (0.0, 1.0, 16),
            "logspace": (0.0, 1.0, 16),
            "empty": (shape,),
            "ones": (shape,),
            "zeros": (shape,),
            "eye": (16,),
            "identity": (16,),
            "full": (shape, 1.0),
            "full_like": (a, 1.0),
            "linalg.solve": (square, square),
            "linalg.matrix_power": (square, 2),
            "linalg.norm": (a.reshape(len(a), -1),),
        }.get(name, (square,) if name.startswith("linalg.") else None)

    def make(self, name, call, inputs):
        args = self.special(name)
        tries = [args] if args is not None else []
        tries += [tuple(self.array(kind) for _ in range(inputs)) for kind in ("float", "int", "bool")]
        first = None
        for candidate in tries:
            try:
                call(*candidate)
                return call, candidate, None
            except MemoryError:
                raise
            except Exception as error:
                first = first or error
        raise CannotCall("it takes none of the inputs that were tried: %s" % first_line(first))

    def add(self, ops, name, group, inputs):
        owner = self.numpy
        for part in name.split("."):
            owner = getattr(owner, part, None)
        if not callable(owner) or "numpy." + name in ops:
            return
        ops["numpy." + name] = Op("numpy." + name, group, lambda: self.make(name, owner, inputs))

    def ops(self):
        numpy, ops = self.numpy, {}
        for name in sorted(MATMUL):
            self.add(ops, name, "matmul", 2)
        for name in dir(numpy):
            value = getattr(numpy, name, None)
            if isinstance(value, numpy.ufunc) and value.__name__ == name:  # one name each: abs is absolute
                self.add(ops, name, {1: "unary", 2: "binary"}.get(value.nin, "ternary"), value.nin)
        for names, group, inputs in (
            (REDUCTION, "reduction", 1),
            (SHAPE_OPS, "shape", 1),
            (UNARY, "unary", 1),
            (BINARY, "binary", 2),
            (CREATION, "creation", 1),
        ):
            for name in sorted(names):
                self.add(ops, name, group, inputs)
        for name in LINALG:
            self.add(ops, name, "norm" if name in NORM else "linalg", 1)
        return list(ops.values())
