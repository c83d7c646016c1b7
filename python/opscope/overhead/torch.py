# SPDX-License-Identifier: Apache-2.0
"""The ops of torch, from its operator registry: every op that has a public Python function or method is called with
inputs chosen from its schema. Some ops need more than a schema says; RECIPES has their inputs. What cannot be called
with any of these is left out, with what torch said.

On a CPU the work is done when the call returns, so the default shape is small: what is left is the dispatch. With a
GPU calls return early, and the shape is the one of the reference measurements on accelerators."""

from opscope import _torch
from opscope._process import note
from opscope.overhead import CannotCall, Op, Unavailable, first_line, import_package, shape_text

CPU_SHAPE = (1, 4, 8, 8)
DEVICE_SHAPE = (1, 4, 1024, 1024)

# Where the Python function of an op may be: (prefix of the registry's name, prefix in Python).
PLACES = (("special_", "torch.special."), ("linalg_", "torch.linalg."), ("fft_", "torch.fft."), ("", "torch."))
METHODS = "torch.Tensor."
FUNCTIONAL = "torch.nn.functional."

# Ops of other hardware, of the interpreter, or that change the process.
LEFT_OUT_PREFIXES = {
    "cudnn_": "needs cuDNN",
    "miopen_": "needs MIOpen",
    "mkldnn_": "works on tensors in a layout of its own",
    "quantize": "works on quantised tensors",
    "quantized_": "works on quantised tensors",
    "q_": "works on quantised tensors",
    "fbgemm_": "works on quantised tensors",
    "fake_quantize": "is for training quantised models",
    "sparse_": "works on sparse tensors",
}
LEFT_OUT = {
    "from_file": "reads a file",
    "set": "changes its input",
    "resize_as": "changes its input",
    "resize": "changes its input",
    "requires_grad_": "changes its input",
    "retain_grad": "needs autograd",
    "backward": "needs autograd",
    "record_stream": "needs a CUDA stream",
    "manual_seed": "changes the process",
    "choose_qparams_optimized": "is for quantised models",
    "save": "writes a file",
    "import_ir_module": "reads a file",
    "wait": "is for futures",
    "is_pinned": "needs a GPU",
    "pin_memory": "needs a GPU",
    "align_to": "needs named tensors",
    "align_as": "needs named tensors",
    "align_tensors": "needs named tensors",
    "refine_names": "needs named tensors",
    "rename": "needs named tensors",
    "unflatten": "needs named tensors",
    "data": "is an attribute",
    "grad": "is an attribute",
    "int_repr": "works on quantised tensors",
    "dequantize": "works on quantised tensors",
    "ccol_indices": "works on sparse tensors",
    "col_indices": "works on sparse tensors",
    "crow_indices": "works on sparse tensors",
    "row_indices": "works on sparse tensors",
    "coalesce": "works on sparse tensors",
    "is_coalesced": "works on sparse tensors",
    "indices": "works on sparse tensors",
    "values": "works on sparse tensors",
    "dense_dim": "works on sparse tensors",
    "hspmm": "works on sparse tensors",
    "sspaddmm": "works on sparse tensors",
    "smm": "works on sparse tensors",
}

MATMUL = set(
    "addbmm addmm addmv addr baddbmm bmm chain_matmul dot einsum inner linear bilinear matmul mm mv outer ger vdot"
    " tensordot multi_dot kron matrix_exp matrix_power".split()
)
REDUCTION = set(
    "all amax amin aminmax any argmax argmin count_nonzero logsumexp max mean median min mode nanmean nanmedian"
    " nanquantile nansum norm prod quantile std std_mean sum trace var var_mean kthvalue topk cumsum cumprod cummax"
    " cummin logcumsumexp dist equal".split()
)
DECOMPOSITION = set(
    "cholesky det geqrf inverse logdet lu nuclear_norm pinverse qr slogdet svd triangular_solve frobenius_norm".split()
)
CONVOLUTION = ("conv", "pool", "unfold", "fold", "upsample", "grid_sampl", "pixel_", "im2col", "col2im", "affine_grid")
SHAPE = set(
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack reshape repeat_interleave tile roll flip"
    " fliplr flipud rot90 pad constant_pad_nd block_diag combinations cartesian_prod meshgrid broadcast_tensors tril"
    " triu diag diag_embed diagflat take gather index_select masked_select clone flatten repeat tolist".split()
)
CREATION = set(
    "arange bartlett_window blackman_window empty eye full hamming_window hann_window kaiser_window linspace logspace"
    " ones rand randint randn randperm range zeros scalar_tensor tril_indices triu_indices complex polar vander".split()
)


class Inputs:
    """Tensors to call ops with, made once each."""

    def __init__(self, torch, shape, dtype, device, layout):
        self.torch, self.shape, self.dtype, self.device, self.layout = torch, shape, dtype, device, layout
        self.made = {}

    def tensor(self, shape=None, kind="float"):
        torch = self.torch
        shape = self.shape if shape is None else tuple(shape)
        key = (shape, kind)
        if key not in self.made:
            generator = torch.Generator().manual_seed(1)
            if kind == "float":
                value = torch.rand(shape, generator=generator).to(self.dtype)
            elif kind == "symmetric":
                value = torch.rand(shape, generator=generator)
                value = (value @ value.transpose(-1, -2) + 2 * torch.eye(shape[-1])).to(self.dtype)
            elif kind == "complex":
                value = torch.complex(torch.rand(shape, generator=generator), torch.rand(shape, generator=generator))
            elif kind == "bool":
                value = torch.rand(shape, generator=generator) > 0.5
            elif kind == "zero":
                value = torch.zeros(shape, dtype=torch.int64)
            else:
                value = torch.randint(0, 3, shape, generator=generator)
            value = value.to(self.device)
            if self.layout == "channels_last" and value.dim() == 4:
                value = value.to(memory_format=torch.channels_last)
            self.made[key] = value
        return self.made[key]


def recipes(i):
    """Inputs that a schema does not tell: name -> (args, kwargs). `i` makes tensors."""
    t = i.tensor
    shape = i.shape if len(i.shape) >= 2 else (32, 32)
    rows, columns = shape[-2], shape[-1]
    square = (columns, columns)
    image = (shape + (1,) * 4)[:4] if len(shape) < 4 else shape[-4:]
    image = image if min(image[2:]) >= 8 else (1, 4, 32, 32)
    channels = image[1]
    sequence = (image[0], channels, image[3])
    volume = (1, 2, 8, 8, 8)
    spd = (4, 4)

    def recurrent(gates, has_cell):
        hidden = t((1, 2, 4))
        weights = [t((4 * gates, 4)), t((4 * gates, 4)), t((4 * gates,)), t((4 * gates,))]
        state = [hidden, hidden] if has_cell else hidden
        return (t((3, 2, 4)), state, weights, True, 1, 0.0, False, False, False), {}

    return {
        "matmul": ((t(), t(shape[:-2] + (columns, rows))), {}),
        "mm": ((t((rows, columns)), t((columns, rows))), {}),
        "bmm": ((t((2, rows, columns)), t((2, columns, rows))), {}),
        "mv": ((t((rows, columns)), t((columns,))), {}),
        "dot": ((t((columns,)), t((columns,))), {}),
        "vdot": ((t((columns,)), t((columns,))), {}),
        "inner": ((t((rows, columns)), t((rows, columns))), {}),
        "outer": ((t((rows,)), t((columns,))), {}),
        "ger": ((t((rows,)), t((columns,))), {}),
        "addmm": ((t((rows, rows)), t((rows, columns)), t((columns, rows))), {}),
        "addmv": ((t((rows,)), t((rows, columns)), t((columns,))), {}),
        "addr": ((t((rows, columns)), t((rows,)), t((columns,))), {}),
        "addbmm": ((t((rows, rows)), t((2, rows, columns)), t((2, columns, rows))), {}),
        "baddbmm": ((t((2, rows, rows)), t((2, rows, columns)), t((2, columns, rows))), {}),
        "chain_matmul": ((t((rows, columns)), t((columns, rows))), {}),
        "multi_dot": (([t((rows, columns)), t((columns, rows))],), {}),
        "einsum": (("ij,jk->ik", t((rows, columns)), t((columns, rows))), {}),
        "tensordot": ((t((rows, columns)), t((columns, rows)), 1), {}),
        "linear": ((t(), t((rows, columns)), t((rows,))), {}),
        "bilinear": ((t((rows, columns)), t((rows, columns)), t((4, columns, columns))), {}),
        "conv1d": ((t(sequence), t((channels, channels, 3))), {}),
        "conv2d": ((t(image), t((channels, channels, 3, 3))), {"padding": 1}),
        "conv3d": ((t(volume), t((2, 2, 3, 3, 3))), {}),
        "conv_transpose1d": ((t(sequence), t((channels, channels, 3))), {}),
        "conv_transpose2d": ((t(image), t((channels, channels, 3, 3))), {}),
        "conv_transpose3d": ((t(volume), t((2, 2, 3, 3, 3))), {}),
        "conv_tbc": ((t((8, 2, 4)), t((3, 4, 4)), t((4,))), {}),
        "convolution": ((t(image), t((channels, channels, 3, 3)), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), {}),
        "batch_norm": ((t(image), None, None, t((channels,)), t((channels,)), False, 0.1, 1e-5, False), {}),
        "native_batch_norm": ((t(image), None, None, t((channels,)), t((channels,)), False, 0.1, 1e-5), {}),
        "instance_norm": ((t(image), None, None, None, None, True, 0.1, 1e-5, False), {}),
        "group_norm": ((t(image), 2 if channels % 2 == 0 else 1), {}),
        "native_group_norm": (
            (t(image), None, None, image[0], channels, image[2] * image[3], 1, 1e-5),
            {},
        ),
        "layer_norm": ((t(), (columns,)), {}),
        "native_layer_norm": ((t(), (columns,), None, None, 1e-5), {}),
        "local_response_norm": ((t(image), 2), {}),
        "renorm": ((t((rows, columns)), 2, 0, 1.0), {}),
        "embedding": ((t((rows, columns)), t((8,), "zero")), {}),
        "embedding_bag": ((t((rows, columns)), t((8,), "zero"), t((1,), "zero")), {}),
        "one_hot": ((t((8,), "int"),), {}),
        "nll_loss": ((t((rows, columns)), t((rows,), "zero")), {}),
        "nll_loss_nd": ((t((rows, columns)), t((rows,), "zero")), {}),
        "nll_loss2d": ((t(image), t((image[0],) + image[2:], "zero")), {}),
        "cross_entropy_loss": ((t((rows, columns)), t((rows,), "zero")), {}),
        "multi_margin_loss": ((t((rows, columns)), t((rows,), "zero")), {}),
        "binary_cross_entropy": ((t(), t()), {}),
        "binary_cross_entropy_with_logits": ((t(), t()), {}),
        "kl_div": ((t(), t()), {}),
        "ctc_loss": (
            (
                t((10, 2, 5)).log_softmax(2),
                t((2, 3), "int").clamp(min=1),
                i.torch.tensor([10, 10]),
                i.torch.tensor([3, 3]),
            ),
            {},
        ),
        "cosine_embedding_loss": ((t((rows, columns)), t((rows, columns)), t((rows,))), {}),
        "max_pool1d": ((t(sequence), 2), {}),
        "max_pool2d": ((t(image), 2), {}),
        "max_pool3d": ((t(volume), 2), {}),
        "max_pool1d_with_indices": ((t(sequence), 2), {}),
        "max_pool2d_with_indices": ((t(image), [2, 2]), {}),
        "max_pool3d_with_indices": ((t(volume), [2, 2, 2]), {}),
        "avg_pool1d": ((t(sequence), 2), {}),
        "avg_pool2d": ((t(image), 2), {}),
        "avg_pool3d": ((t(volume), 2), {}),
        "adaptive_avg_pool1d": ((t(sequence), 2), {}),
        "adaptive_avg_pool2d": ((t(image), (2, 2)), {}),
        "adaptive_avg_pool3d": ((t(volume), (2, 2, 2)), {}),
        "adaptive_max_pool1d": ((t(sequence), 2), {}),
        "adaptive_max_pool2d": ((t(image), (2, 2)), {}),
        "adaptive_max_pool3d": ((t(volume), (2, 2, 2)), {}),
        "pixel_shuffle": ((t((1, 4, 8, 8)), 2), {}),
        "pixel_unshuffle": ((t((1, 4, 8, 8)), 2), {}),
        "channel_shuffle": ((t((1, 4, 8, 8)), 2), {}),
        "grid_sampler": ((t(image), t((image[0], 8, 8, 2)), 0, 0, False), {}),
        "grid_sampler_2d": ((t(image), t((image[0], 8, 8, 2)), 0, 0, False), {}),
        "grid_sampler_3d": ((t(volume), t((1, 4, 4, 4, 3)), 0, 0, False), {}),
        "affine_grid_generator": ((t((1, 2, 3)), [1, 4, 8, 8], False), {}),
        "unfold": ((t(), -1, 2, 2), {}),
        "im2col": ((t(image), 2), {}),
        "pad": ((t(), (1, 1)), {}),
        "constant_pad_nd": ((t(), (1, 1)), {}),
        "reshape": ((t(), (-1,)), {}),
        "view": ((t(), -1), {}),
        "reshape_as": ((t(), t()), {}),
        "expand": ((t((1, columns)), rows, columns), {}),
        "expand_as": ((t((1, columns)), t((rows, columns))), {}),
        "broadcast_to": ((t((1, columns)), (rows, columns)), {}),
        "repeat": ((t(),) + (1,) * (len(i.shape) - 1) + (2,), {}),
        "tile": ((t(), (2,)), {}),
        "permute": ((t(), tuple(reversed(range(len(i.shape))))), {}),
        "transpose": ((t(), -2, -1), {}),
        "swapaxes": ((t(), -2, -1), {}),
        "swapdims": ((t(), -2, -1), {}),
        "movedim": ((t(), 0, -1), {}),
        "moveaxis": ((t(), 0, -1), {}),
        "split": ((t(), 1, 0), {}),
        "split_with_sizes": ((t((4, columns)), [1, 3]), {}),
        "tensor_split": ((t((4, columns)), 2), {}),
        "hsplit": ((t((4, 4)), 2), {}),
        "vsplit": ((t((4, 4)), 2), {}),
        "dsplit": ((t((4, 4, 4)), 2), {}),
        "chunk": ((t((4, columns)), 2), {}),
        "narrow": ((t(), -1, 0, 1), {}),
        "select": ((t(), -1, 0), {}),
        "slice": ((t(), -1, 0, 1), {}),
        "slice_copy": ((t(), -1, 0, 1, 1), {}),
        "as_strided": ((t(), (2, 2), (1, 1)), {}),
        "roll": ((t(), 1), {}),
        "flip": ((t(), (-1,)), {}),
        "rot90": ((t((rows, columns)), 1, (0, 1)), {}),
        "unsqueeze": ((t(), 0), {}),
        "diff": ((t(),), {}),
        "gather": ((t((rows, columns)), 1, t((rows, 2), "zero")), {}),
        "take_along_dim": ((t((rows, columns)), t((rows, 2), "zero"), 1), {}),
        "index_select": ((t((rows, columns)), 0, t((2,), "zero")), {}),
        "index_add": ((t((rows, columns)), 0, t((2,), "zero"), t((2, columns))), {}),
        "index_copy": ((t((rows, columns)), 0, t((2,), "zero"), t((2, columns))), {}),
        "index_fill": ((t((rows, columns)), 0, t((2,), "zero"), 1.0), {}),
        "index_reduce": ((t((rows, columns)), 0, t((2,), "zero"), t((2, columns)), "mean"), {}),
        "index_put": ((t((rows, columns)), (t((2,), "zero"),), t((2, columns))), {}),
        "scatter": ((t((rows, columns)), 1, t((rows, 2), "zero"), t((rows, 2))), {}),
        "scatter_add": ((t((rows, columns)), 1, t((rows, 2), "zero"), t((rows, 2))), {}),
        "scatter_reduce": ((t((rows, columns)), 1, t((rows, 2), "zero"), t((rows, 2)), "sum"), {}),
        "select_scatter": ((t((rows, columns)), t((columns,)), 0, 0), {}),
        "slice_scatter": ((t((rows, columns)), t((rows, columns)), 0, 0, rows, 1), {}),
        "diagonal_scatter": ((t(square), t((columns,))), {}),
        "take": ((t(), t((8,), "zero")), {}),
        "put": ((t(), t((8,), "zero"), t((8,))), {}),
        "masked_fill": ((t(), t(None, "bool"), 1.0), {}),
        "masked_select": ((t(), t(None, "bool")), {}),
        "masked_scatter": ((t(), t(None, "bool"), t()), {}),
        "where": ((t(None, "bool"), t(), t()), {}),
        "bucketize": ((t(), i.torch.linspace(0, 1, 8, device=i.device)), {}),
        "searchsorted": ((i.torch.linspace(0, 1, 8, device=i.device), t()), {}),
        "histc": ((t(None, "float").float(),), {}),
        "bincount": ((t((columns,), "int"),), {}),
        "cross": ((t((rows, 3)), t((rows, 3))), {"dim": -1}),
        "kthvalue": ((t(), 1), {}),
        "topk": ((t(), 1), {}),
        "quantile": ((t((rows, columns)), 0.5), {}),
        "nanquantile": ((t((rows, columns)), 0.5), {}),
        "logsumexp": ((t(), -1), {}),
        "norm": ((t(),), {}),
        "std_mean": ((t(),), {}),
        "var_mean": ((t(),), {}),
        "dropout": ((t(), 0.5, True), {}),
        "feature_dropout": ((t(image), 0.5, True), {}),
        "alpha_dropout": ((t(), 0.5, True), {}),
        "feature_alpha_dropout": ((t(image), 0.5, True), {}),
        "native_dropout": ((t(), 0.5, True), {}),
        "multinomial": ((t((rows, columns)), 1), {}),
        "normal": ((t(), t()), {}),
        "cholesky": ((t(spd, "symmetric"),), {}),
        "cholesky_ex": ((t(spd, "symmetric"),), {}),
        "cholesky_inverse": ((t(spd, "symmetric"),), {}),
        "cholesky_solve": ((t(spd, "symmetric"), t(spd, "symmetric")), {}),
        "triangular_solve": ((t(spd), t(spd, "symmetric")), {}),
        "solve_triangular": ((t(spd, "symmetric"), t(spd)), {"upper": True}),
        "lu_solve": ((t(spd).float(),) + tuple(i.torch.linalg.lu_factor(t(spd, "symmetric").float())), {}),
        "linalg_lu_solve": (tuple(i.torch.linalg.lu_factor(t(spd, "symmetric").float())) + (t(spd).float(),), {}),
        "lu_unpack": (tuple(i.torch.linalg.lu_factor(t(spd, "symmetric").float())), {}),
        "ldl_solve": (tuple(i.torch.linalg.ldl_factor(t(spd, "symmetric").float())) + (t(spd).float(),), {}),
        "ormqr": ((t(spd), t((4,)), t(spd)), {}),
        "orgqr": ((t(spd), t((4,))), {}),
        "householder_product": ((t(spd), t((4,))), {}),
        "matrix_power": ((t(spd), 2), {}),
        "cond": ((t(spd, "symmetric"),), {}),
        "det": ((t(spd, "symmetric"),), {}),
        "cdist": ((t((rows, columns)), t((rows, columns))), {}),
        "pdist": ((t((4, columns)),), {}),
        "cosine_similarity": ((t(), t()), {}),
        "renorm_": ((t((rows, columns)), 2, 0, 1.0), {}),
        "fft": ((t(None, "complex"),), {}),
        "stft": ((t((64,)), 16), {"return_complex": True, "window": i.torch.ones(16, device=i.device)}),
        "istft": ((t((9, 13), "complex"), 16), {"window": i.torch.ones(16, device=i.device)}),
        "view_as_complex": ((t((rows, 2)),), {}),
        "view_as_real": ((t((rows, 2), "complex"),), {}),
        "vander": ((t((4,)),), {}),
        "arange": ((16,), {"device": i.device}),
        "range": ((0, 16), {"device": i.device}),
        "linspace": ((0.0, 1.0, 16), {"device": i.device}),
        "logspace": ((0.0, 1.0, 16), {"device": i.device}),
        "full": ((i.shape, 1.0), {"device": i.device}),
        "full_like": ((t(), 1.0), {}),
        "new_full": ((t(), i.shape, 1.0), {}),
        "randint": ((0, 8, i.shape), {"device": i.device}),
        "randint_like": ((t(), 8), {}),
        "randperm": ((16,), {"device": i.device}),
        "tril_indices": ((4, 4), {"device": i.device}),
        "triu_indices": ((4, 4), {"device": i.device}),
        "empty_strided": ((square, (columns, 1)), {"device": i.device}),
        "gru_cell": ((t((2, 4)), t((2, 4)), t((12, 4)), t((12, 4))), {}),
        "lstm_cell": ((t((2, 4)), (t((2, 4)), t((2, 4))), t((16, 4)), t((16, 4))), {}),
        "rnn_tanh_cell": ((t((2, 4)), t((2, 4)), t((4, 4)), t((4, 4))), {}),
        "rnn_relu_cell": ((t((2, 4)), t((2, 4)), t((4, 4)), t((4, 4))), {}),
        "scaled_dot_product_attention": ((t((1, 2, 8, 16)), t((1, 2, 8, 16)), t((1, 2, 8, 16))), {}),
        "rnn_tanh": recurrent(1, False),
        "rnn_relu": recurrent(1, False),
        "gru": recurrent(3, False),
        "lstm": recurrent(4, True),
        "clamp": ((t(), 0.1, 0.9), {}),
        "clip": ((t(), 0.1, 0.9), {}),
        "block_diag": ((t((4, 4)), t((4, 4))), {}),
        "broadcast_tensors": ((t((1, 4)), t((4, 1))), {}),
        "cartesian_prod": ((t((4,)), t((4,))), {}),
        "meshgrid": ((t((8,)), t((8,))), {"indexing": "ij"}),
        "is_nonzero": ((t((1,)),), {}),
        "item": ((t((1,)),), {}),
        "view_as_complex_copy": ((t((rows, 2)),), {}),
        "prelu": ((t(), t((1,))), {}),
        "glu": ((t(),), {}),
        "to": ((t(), i.torch.float64), {}),
        "type_as": ((t(), t()), {}),
        "gradient": ((t((rows, columns)),), {}),
        "trapezoid": ((t(),), {}),
        "unique_dim": ((t((rows, columns), "int"), 0), {}),
        "polygamma": ((1, t()), {}),
        "ldexp": ((t(), t(None, "int")), {}),
        "interpolate": ((t(image),), {"scale_factor": 2}),
        "isin": ((t(), t((4,))), {}),
        "tensorinv": ((t((4, 2, 2), "float").reshape(4, 2, 2),), {"ind": 1}),
        "segment_reduce": ((t((4, 4)), "sum"), {"lengths": i.torch.tensor([2, 2])}),
    }


# What to pass for an argument by name, where the type says too little.
NAMED_INTS = {"dim": -1, "dim0": -2, "dim1": -1, "diagonal": 0, "n": 2, "k": 1, "groups": 1, "p": 2, "chunks": 2}
NAMED_LISTS = {"dim": [-1], "dims": [0], "kernel_size": [2, 2], "size": None, "output_size": [8, 8], "shifts": [1]}
INTEGER_NAMES = ("index", "indices", "target", "labels", "offsets")


def value_of(argument, i, kind, shape):
    """A value for an argument, or CannotCall."""
    type_text, name = str(argument.type), argument.name
    if type_text == "Tensor":
        if name in INTEGER_NAMES:
            return i.tensor(shape, "zero")
        return i.tensor(shape, "bool" if name in ("mask", "condition") else kind)
    if type_text.startswith("Optional["):
        return None
    if type_text == "List[Tensor]":
        return [i.tensor(shape, kind), i.tensor(shape, kind)]
    if type_text == "List[int]":
        value = NAMED_LISTS.get(name, [1])
        return list(shape) if value is None else value
    if type_text == "int":
        return NAMED_INTS.get(name, 1)
    simple = {"number": 2, "float": 0.5, "bool": False}
    if type_text in simple:
        return simple[type_text]
    raise CannotCall("no value can be made for its argument %s (%s)" % (name, type_text))


def call_from_schema(schema, i, kind, shape):
    args, kwargs = [], {}
    is_creation = not tensor_arguments(schema)
    for argument in schema.arguments:
        if argument.has_default_value():
            if is_creation and argument.name == "device":
                kwargs["device"] = i.device
            continue
        value = value_of(argument, i, kind, shape)
        if argument.kwarg_only:
            if value is not None:
                kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def tensor_arguments(schema):
    return sum(str(a.type) == "Tensor" and not a.has_default_value() for a in schema.arguments)


def group_of(name, schemas):
    short = name.split("_", 1)[1] if name.startswith(("linalg_", "special_", "fft_")) else name
    if short in MATMUL:
        return "matmul"
    if short.endswith("norm") and short != "norm" or "_norm" in short:
        return "norm"
    if name.startswith("linalg_"):
        return "linalg"
    if name.startswith("fft_") or short in ("stft", "istft"):
        return "fft"
    if short.split("_")[0] in ("lstm", "gru", "rnn"):
        return "recurrent"
    if any(word in short for word in CONVOLUTION) and short != "unfold":
        return "convolution"
    if "loss" in short or short in ("binary_cross_entropy", "kl_div"):
        return "loss"
    if short in REDUCTION:
        return "reduction"
    returns = schemas[0].returns
    is_view = bool(returns) and any(getattr(s.returns[0], "alias_info", None) for s in schemas if s.returns)
    if short in SHAPE or is_view or "split" in short or "scatter" in short:
        return "shape"
    if short in CREATION or short.startswith(("new_", "rand")) or short.endswith("_like"):
        return "creation"
    count = min(3, max(tensor_arguments(schema) for schema in schemas))
    return ("creation", "unary", "binary", "ternary")[count]


class Provider:
    name = "torch"

    def __init__(self, settings):
        torch = import_package("torch")
        self.torch = torch
        self.version = str(torch.__version__)
        device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
        shape = settings.shape or (CPU_SHAPE if device == "cpu" else DEVICE_SHAPE)
        dtype = getattr(torch, settings.dtype or "float32", None)
        if not isinstance(dtype, torch.dtype):
            raise Unavailable("torch has no data type %s" % settings.dtype)
        if settings.layout not in (None, "strided", "channels_last"):
            raise Unavailable("a layout of torch is strided or channels_last, not %s" % settings.layout)
        torch.set_grad_enabled(False)
        try:
            torch.zeros(1, device=device)
        except Exception as error:
            raise Unavailable("torch cannot use the device %s: %s" % (device, first_line(error))) from error
        self.inputs = Inputs(torch, tuple(shape), dtype, device, settings.layout)
        self.synchronize = torch.cuda.synchronize if device.startswith("cuda") else None
        words = [shape_text(shape), str(dtype).rsplit(".", 1)[-1], device]
        self.description = ", ".join(words + ([settings.layout] if settings.layout else []))
        self.recipes = None
        if settings.is_traced:
            self.observe()

    def observe(self):
        """A zone for each op of torch's dispatcher, from a library of ours made for this version of torch."""
        try:
            _torch.load(self.torch, note)
        except _torch.CannotBuild as error:
            raise Unavailable("--trace: the ops of torch %s cannot be observed: %s" % (self.version, error)) from error

    def find(self, name):
        """(name in Python, callable) of an op of the registry, or None."""
        torch = self.torch
        for prefix, place in PLACES:
            if name.startswith(prefix):
                owner = torch if place == "torch." else getattr(torch, place.split(".")[1], None)
                short = name[len(prefix) :]
                call = getattr(owner, short, None)
                if callable(call) and not isinstance(call, type):
                    return place + short, call
        functional = getattr(torch.nn.functional, name, None)
        if callable(functional) and not isinstance(functional, type):
            return FUNCTIONAL + name, functional
        method = getattr(torch.Tensor, name, None)
        return (METHODS + name, method) if callable(method) else None

    def registry(self):
        """name -> schemas, of the ops a user calls: no in-place variants, none with out=, none of the insides."""
        found = {}
        for schema in self.torch._C._jit_get_all_schemas():
            space, _, name = schema.name.partition("::")
            if space != "aten" or name.startswith("_") or name.endswith(("_", "_backward")) or not schema.arguments:
                continue
            overload = getattr(schema, "overload_name", "")
            if "out" in overload.split("_") or any(a.name == "out" for a in schema.arguments):
                continue
            if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
                continue
            types = {str(argument.type) for argument in schema.arguments}
            if name not in CREATION and not any("Tensor" in text for text in types):
                continue
            found.setdefault(name, []).append(schema)
        return found

    def ops(self):
        listed = {}
        for name, schemas in sorted(self.registry().items()):
            found = self.find(name)
            if found is None or found[0] in listed:
                continue
            public, call = found
            reason = LEFT_OUT.get(name)
            for prefix, text in LEFT_OUT_PREFIXES.items():
                reason = text if name.startswith(prefix) else reason
            make = None if reason else (lambda call=call, name=name, schemas=schemas: self.make(call, name, schemas))
            listed[public] = Op(public, group_of(name, schemas), make, self.synchronize, reason)
        return list(listed.values())

    def candidates(self, name, schemas):
        """Inputs to try, the likeliest first."""
        if self.recipes is None:
            self.recipes = recipes(self.inputs)
        short = name.split("_", 1)[1] if name.startswith(("linalg_", "special_", "fft_")) else name
        if name in self.recipes or short in self.recipes:
            yield self.recipes[name if name in self.recipes else short]
        shape = self.inputs.shape
        square = (8, 8)
        kinds = ["float"]
        if name.startswith("linalg_") or name in DECOMPOSITION:  # the work grows with the cube of the size
            for kind in ("symmetric", "float"):
                yield from self.from_schemas(schemas, kind, square)
        if name.startswith("bitwise_") or name in ("gcd", "lcm"):
            kinds.insert(0, "int")
        if "complex" in name or name.endswith(("ifft", "irfft", "hfft")):
            kinds.insert(0, "complex")
        tries = [(kind, shape) for kind in kinds]
        tries += [("float", square), ("symmetric", square), ("int", shape), ("bool", shape), ("complex", shape)]
        tries += [("float", (8,)), ("float", (2, 8, 8)), ("float", (1, 2, 4, 4, 4)), ("int", (8,))]
        for kind, size in tries:
            yield from self.from_schemas(schemas, kind, size)

    def from_schemas(self, schemas, kind, size):
        for schema in sorted(schemas, key=lambda s: (-tensor_arguments(s), len(s.arguments))):
            try:
                yield call_from_schema(schema, self.inputs, kind, size)
            except CannotCall as error:
                self.problem = error

    def make(self, call, name, schemas):
        """The first inputs that the op takes."""
        first, self.problem = None, None
        for args, kwargs in self.candidates(name, schemas):
            try:
                call(*args, **kwargs)
                return call, tuple(args), kwargs or None
            except MemoryError:
                raise
            except Exception as error:  # any: it is torch that decides
                first = first or error
        if first is None:
            raise self.problem
        raise CannotCall("it takes none of the inputs that were tried: %s" % first_line(first))
