# SPDX-License-Identifier: Apache-2.0
"""The ops of ttnn that its vendor's host overhead profiler measures, by the names of its reference file. They need the
installed module and a device; both were out of reach when this was written, so that only the table itself is tested.

Fast dispatch is assumed, as in the reference measurements: with TT_METAL_SLOW_DISPATCH_MODE set, calls wait for the
device, and the times are of something else.

An op is one line of a table: NAME, then where its name is not that of the function, = FUNCTION, then its arguments in
order: a, b and c are tensors, #WORD is something about the shape, @WORD a constant of ttnn, the rest are Python values;
key=value is a keyword. Without arguments an op takes as many tensors as its group says. !WORD changes the inputs: !row
(layout ROW_MAJOR), !int (b holds indices), !h !w !hw (b is one tile high, wide or both), !one (b is 1 x 1), !flat (b
and c are one row), !flatbias (c is one row), !batch (b is without batch and channels), !sharded (in the cores' own
memory), !complex (tensors are complex)."""

import ast
import os

from opscope.overhead import CannotCall, Op, Unavailable, first_line, import_package, shape_text

SHAPE = (1, 4, 1024, 1024)
TILE = 32

BINARY = """
assign_binary = assign a b | add | add_sharded = add a b !sharded | sub | mul | mul_bcast_h = mul a b !h
mul_bcast_w = mul a b !w | mul_bcast_hw = mul a b !one | divide | div | div_no_nan | hypot | squared_difference
logaddexp | logaddexp2 | atan2 | logical_xor | subalpha a b 2 | addalpha a b 2 | ldexp | bias_gelu | logical_and
isclose a b rtol=1e-4 atol=1e-6 | logical_or | gt | ge | lt | le | eq | ne | where_binary_x_const_y = where a 2 b
where_binary_x_y_const = where a b 2 | matmul | copy
bcast_add_h = bcast a b @ADD @H !h | bcast_add_h_sharded = bcast a b @ADD @H !h !sharded
bcast_add_w = bcast a b @ADD @W !w | bcast_add_hw = bcast a b @ADD @HW !hw
bcast_sub_h = bcast a b @SUB @H !h | bcast_sub_h_sharded = bcast a b @SUB @H !h !sharded
bcast_sub_w = bcast a b @SUB @W !w | bcast_sub_hw = bcast a b @SUB @HW !hw
bcast_mul_h = bcast a b @MUL @H !h | bcast_mul_h_sharded = bcast a b @MUL @H !h !sharded
bcast_mul_w = bcast a b @MUL @W !w | bcast_mul_hw = bcast a b @MUL @HW !hw
concat_dim_0 = concat [a,b] 0 | concat_dim_1 = concat [a,b] 1 | concat_dim_2 = concat [a,b] 2
concat_dim_3 = concat [a,b] 3
lerp_binary = lerp a b 0.5 | logical_and_ | logical_or_ | logical_xor_ | xlogy
embedding b a !row !int | nextafter | conj_bw a b !complex | unary_add_bw = add_bw a b 2 | assign_bw
unary_div_bw = div_bw a b 2 | rdiv_bw a b 2 | sqrt_bw | tan_bw | exp_bw | exp2_bw | expm1_bw
unary_pow_bw = pow_bw a b 2 | tanh_bw | log_bw | abs_bw | rsqrt_bw | neg_bw | relu_bw | clamp_bw a b 0.2 0.8
clamp_min_bw = clamp_bw a b min=0.2 | clamp_max_bw = clamp_bw a b max=0.8
gelu_bw_none = gelu_bw a b approximate='none' | gelu_bw_tanh = gelu_bw a b approximate='tanh'
bias_gelu_unary_bw_none = bias_gelu_bw a b 2.0 approximate='none'
bias_gelu_unary_bw_tanh = bias_gelu_bw a b 2.0 approximate='tanh'
hardsigmoid_bw | i0_bw | hardshrink_bw a b 0.4 | softshrink_bw a b 0.4 | hardswish_bw
softplus_bw a b beta=1.0 threshold=20.0
polygamma_bw a b 2 | atan_bw | atanh_bw | asin_bw | asinh_bw | cosh_bw | cos_bw | acosh_bw | acos_bw | erfinv_bw
leaky_relu_bw a b 0.1 | elu_bw a b 0.5 | hardtanh_bw a b min=-0.5 max=0.5 | sin_bw | sinh_bw | celu_bw a b 1.0
log10_bw
log1p_bw | erf_bw | erfc_bw | digamma_bw | deg2rad_bw | rad2deg_bw | reciprocal_bw | relu6_bw | rpow_bw a b 2.0
silu_bw
selu_bw | square_bw | lgamma_bw | trunc_bw | frac_bw | log_sigmoid_bw | tanhshrink_bw | threshold_bw a b 0.5 2.0
logit_bw | logiteps_bw a b eps=0.001 | softsign_bw | sign_bw | ceil_bw | log2_bw | fmod_bw a b 0.3
remainder_bw a b 0.3
imag_bw a b !complex | real_bw a b !complex | multigammaln_bw | repeat_bw a b [1,1,1,1] | div_no_nan_bw a b 2.0
mse_loss a b reduction=@SUM
moreh.softmax_backward_dim_0 = moreh.softmax_backward a b dim=0
moreh.softmax_backward_dim_1 = moreh.softmax_backward a b dim=1
moreh.softmax_backward_dim_2 = moreh.softmax_backward a b dim=2
moreh.softmax_backward_dim_3 = moreh.softmax_backward a b dim=3
moreh.softmin_backward_dim_0 = moreh.softmin_backward a b dim=0
moreh.softmin_backward_dim_1 = moreh.softmin_backward a b dim=1
moreh.softmin_backward_dim_2 = moreh.softmin_backward a b dim=2
moreh.softmin_backward_dim_3 = moreh.softmin_backward a b dim=3
moreh.logsoftmax_backward_dim_0 = moreh.logsoftmax_backward a b dim=0
moreh.logsoftmax_backward_dim_1 = moreh.logsoftmax_backward a b dim=1
moreh.logsoftmax_backward_dim_2 = moreh.logsoftmax_backward a b dim=2
moreh.logsoftmax_backward_dim_3 = moreh.logsoftmax_backward a b dim=3
scale_mask_softmax_in_place a scale=2.0 mask=b !batch | angle_bw a b !complex | fill_bw | fill_zero_bw | floor_bw
round_bw
moreh.mean_backward a dim=[0] keepdim=True
complex_add = add a b !complex | complex_sub = sub a b !complex | complex_mul = mul a b !complex
complex_div = div a b !complex
"""

UNARY = """
assign_unary = assign a memory_config=@DRAM | add_unary = add a 2.0 | sub_unary = sub a 2.0 | mul_unary = mul a 2.0
gelu | relu | relu6 | relu_min a 0.2 | relu_max a 0.8 | exp | reciprocal | sqrt | log | log2 | log10 | log1p | tanh
clip a 0.2 0.8 | hardtanh | deg2rad | rad2deg | cbrt | softplus | mish | polyval a [1.0,2.0,3.0] | sign | abs | silu
square
neg | sigmoid | sigmoid_accurate | hardsigmoid | swish | hardswish | leaky_relu a 0.1 | softsign | softshrink a 0.4
hardshrink a 0.4
cos | sin | cosh | sinh | acos | asin | elu a 0.5 | exp2 | tanhshrink | heaviside a 0.5 | atan | atanh | logical_not
isfinite
isinf | isposinf | isneginf | isnan | logit a eps=0.001 | lgamma | erfinv | multigammaln | i0 | digamma | tan
polygamma a 2
gtz | gez | ltz | lez | eqz | nez | where_x_const_const = where a 2 3 | threshold a 0.5 2.0
reshape a #shape | transpose_01 = transpose a 0 1 | transpose_02 = transpose a 0 2 | transpose_12 = transpose a 1 2
transpose_13 = transpose a 1 3 | transpose_23 = transpose a 2 3 | permute a (0,2,1,3)
tilize a !row | untilize | tilize_with_val_padding a #shape 0.0 !row | untilize_with_unpadding a #last
tilize_with_zero_padding a !row | pad a ((0,0),(0,0),(0,32),(0,32)) value=0.0 | slice a [0,0,0,0] #half
clone | typecast a @BFLOAT8 | arange 0 1024 1 device=@DEVICE | full #shape 2.0 device=@DEVICE
ones #shape device=@DEVICE
ones_like | empty_like | zeros #shape device=@DEVICE | zeros_like | full_like a 2.0 | split_dim_3 = split a 2 dim=3
split_dim_2 = split a 2 dim=2 | empty #shape device=@DEVICE | tril | triu
sum_dim_0 = sum a dim=0 | sum_dim_1 = sum a dim=1 | sum_dim_2 = sum a dim=2 | sum_dim_3 = sum a dim=3
sum_dim_23 = sum a dim=(2,3)
min_dim_2 = min a dim=2 | min_dim_3 = min a dim=3 | min_dim_23 = min a dim=(2,3)
max_dim_2 = max a dim=2 | max_dim_3 = max a dim=3 | max_dim_23 = max a dim=(2,3) | min | max | sum | mean
rpow a 2 | rsub a 2.0 | rdiv a 2.0 | real a !complex | imag a !complex | complex_abs = abs a !complex
conj a !complex
complex_recip = reciprocal a !complex | polar a !complex | log_sigmoid | expm1 | asinh | acosh
erf_fast_and_approx_True = erf a fast_and_approximate_mode=True
erf_fast_and_approx_False = erf a fast_and_approximate_mode=False
erfc | rsqrt_fast_and_approx_True = rsqrt a fast_and_approximate_mode=True
rsqrt_fast_and_approx_False = rsqrt a fast_and_approximate_mode=False | signbit
fill_rm #N #C #H #W 32 32 a 2.0 1.0 !row | fill_ones_rm #N #C #H #W 32 32 a !row
var_hw | logical_not_ | std_hw | normalize_hw | normalize_global
glu_dim_3 = glu a 3 | geglu_dim_3 = geglu a 3 | reglu_dim_3 = reglu a 3 | swiglu_dim_3 = swiglu a 3
glu_dim_2 = glu a 2 | geglu_dim_2 = geglu a 2 | reglu_dim_2 = reglu a 2 | swiglu_dim_2 = swiglu a 2
repeat a @SHAPE1112 | repeat_interleave_dim_0 = repeat_interleave a 2 dim=0
repeat_interleave_dim_1 = repeat_interleave a 2 dim=1
repeat_interleave_dim_2 = repeat_interleave a 2 dim=2 | pow_int = pow a 2 | pow_float = pow a 2.5 | identity
argmax_dim_3 = argmax a dim=3 !row | argmax_dim_None = argmax a !row | softmax_in_place
moreh.softmax_dim_0 = moreh.softmax a dim=0 | moreh.softmax_dim_1 = moreh.softmax a dim=1
moreh.softmax_dim_2 = moreh.softmax a dim=2 | moreh.softmax_dim_3 = moreh.softmax a dim=3
moreh.softmin_dim_0 = moreh.softmin a dim=0 | moreh.softmin_dim_1 = moreh.softmin a dim=1
moreh.softmin_dim_2 = moreh.softmin a dim=2 | moreh.softmin_dim_3 = moreh.softmin a dim=3
moreh.logsoftmax_dim_0 = moreh.logsoftmax a dim=0 | moreh.logsoftmax_dim_1 = moreh.logsoftmax a dim=1
moreh.logsoftmax_dim_2 = moreh.logsoftmax a dim=2 | moreh.logsoftmax_dim_3 = moreh.logsoftmax a dim=3
moreh.norm_dim_0 = moreh.norm a p=2.0 dim=0 | moreh.norm_dim_1 = moreh.norm a p=2.0 dim=1
moreh.norm_dim_2 = moreh.norm a p=2.0 dim=2 | moreh.norm_dim_3 = moreh.norm a p=2.0 dim=3
tt_lib.fused_ops.softmax.softmax = softmax a dim=-1
moreh.mean_dims_0 = moreh.mean a dim=[0] keepdim=True | moreh.mean_dims_01 = moreh.mean a dim=[0,1] keepdim=True
moreh.mean_dims_012 = moreh.mean a dim=[0,1,2] keepdim=True
moreh.mean_dims_013 = moreh.mean a dim=[0,1,3] keepdim=True
moreh.mean_dims_023 = moreh.mean a dim=[0,2,3] keepdim=True
moreh.mean_dims_0123 = moreh.mean a dim=[0,1,2,3] keepdim=True
moreh.mean_dims_1 = moreh.mean a dim=[1] keepdim=True | moreh.mean_dims_12 = moreh.mean a dim=[1,2] keepdim=True
moreh.mean_dims_13 = moreh.mean a dim=[1,3] keepdim=True | moreh.mean_dims_123 = moreh.mean a dim=[1,2,3] keepdim=True
moreh.mean_dims_2 = moreh.mean a dim=[2] keepdim=True | moreh.mean_dims_23 = moreh.mean a dim=[2,3] keepdim=True
moreh.mean_dims_3 = moreh.mean a dim=[3] keepdim=True
"""

TERNARY = """
mac | where | lerp | layer_norm a weight=b bias=c !flat | rms_norm a weight=b !flat
add_layer_norm = layer_norm a residual_input_tensor=c weight=b !flat | addcmul a b c value=2.0
addcdiv a b c value=2.0
addalpha_bw a b c 2.0 | addcmul_bw a b c b 2.0 | addcdiv_bw a b c b 2.0 | div_bw | mul_bw | max_bw | min_bw | add_bw
where_bw a b c b | sub_bw | rsub_bw | atan2_bw | hypot_bw
bias_gelu_bw_none = bias_gelu_bw a b c approximate='none' | bias_gelu_bw_tanh = bias_gelu_bw a b c approximate='tanh'
squared_difference_bw | lerp_bw_float_weight = lerp_bw a b c 0.5 | lerp_bw_tensor_weight = lerp_bw a b c b | ldexp_bw
xlogy_bw
logaddexp_bw | logaddexp2_bw | concat_bw_dim_0 = concat_bw a b c 0 | concat_bw_dim_1 = concat_bw a b c 1
concat_bw_dim_2 = concat_bw a b c 2 | concat_bw_dim_3 = concat_bw a b c 3 | subalpha_bw a b c 2.0
moreh.norm_backward a b c p=2.0 dim=0 keepdim=True | linear a b bias=c !flatbias
"""

TABLES = (("binary", BINARY, "a b"), ("unary", UNARY, "a"), ("ternary", TERNARY, "a b c"))


class Entry:
    """A line of a table, taken apart."""

    __slots__ = ("name", "function", "arguments", "marks", "group")

    def __init__(self, text, group, default):
        words = text.split()
        self.group, self.name = group, words[0]
        if len(words) > 1 and words[1] == "=":
            self.function, words = words[2], words[3:]
        else:
            self.function, words = words[0], words[1:]
        self.marks = {word[1:] for word in words if word[0] == "!"}
        self.arguments = [word for word in words if word[0] != "!"] or default.split()

    @property
    def public_name(self):
        if self.name.startswith("tt_lib."):
            return self.name
        return "ttnn." + ("operations." + self.name if self.name.startswith("moreh.") else self.name)


def entries():
    for group, table, default in TABLES:
        for line in table.strip().splitlines():
            for text in line.split("|"):
                yield Entry(text.strip(), group, default)


class Provider:
    name = "ttnn"

    def __init__(self, settings):
        ttnn = import_package("ttnn")
        if os.environ.get("TT_METAL_SLOW_DISPATCH_MODE"):
            raise Unavailable("TT_METAL_SLOW_DISPATCH_MODE is set: host overhead is measured with fast dispatch")
        self.ttnn = ttnn
        self.version = str(getattr(ttnn, "__version__", ""))
        self.shape = tuple(settings.shape or SHAPE)
        self.dtype = getattr(ttnn, settings.dtype or "bfloat16", None)
        layout = (settings.layout or "TILE").upper().replace("_LAYOUT", "")
        self.layout = getattr(ttnn, layout + "_LAYOUT", None)
        if self.dtype is None or self.layout is None or len(self.shape) != 4:
            raise Unavailable(
                "ttnn takes a --dtype and --layout it knows (bfloat16, TILE, ROW_MAJOR) and four dimensions"
            )
        number = settings.device or "0"
        if not number.isdigit():
            raise Unavailable("a device of ttnn is a number, not %s" % number)
        try:
            self.device = ttnn.open_device(device_id=int(number))
        except Exception as error:
            raise Unavailable("ttnn cannot open device %s: %s" % (number, first_line(error))) from error
        enable = getattr(self.device, "enable_program_cache", None)
        if callable(enable):  # older releases: without it every call compiles
            enable()
        self.description = "%s, %s, %s, device %s" % (
            shape_text(self.shape),
            settings.dtype or "bfloat16",
            layout,
            number,
        )
        self.made = {}

    def synchronize(self):
        self.ttnn.synchronize_device(self.device)

    # --- inputs ---

    def tensor(self, shape, is_row_major=False, is_index=False, is_sharded=False):
        """On the device, uniform in -100 to 100, made once."""
        key = (tuple(shape), is_row_major, is_index, is_sharded)
        if key not in self.made:
            import torch

            ttnn = self.ttnn
            host = torch.randint(0, TILE, shape) if is_index else torch.empty(shape).uniform_(-100, 100)
            layout = ttnn.ROW_MAJOR_LAYOUT if is_row_major else self.layout
            dtype = ttnn.uint32 if is_index else self.dtype
            memory = self.sharded(shape) if is_sharded else ttnn.DRAM_MEMORY_CONFIG
            self.made[key] = ttnn.from_torch(host, dtype=dtype, layout=layout, device=self.device, memory_config=memory)
        return self.made[key]

    def sharded(self, shape):
        ttnn = self.ttnn
        cores = min(8, max(1, shape[-1] // TILE))
        return ttnn.create_sharded_memory_config(
            shape, core_grid=ttnn.CoreGrid(y=1, x=cores), strategy=ttnn.ShardStrategy.WIDTH
        )

    def shape_of(self, entry, letter):
        batch, channels, height, width = self.shape
        if entry.name == "embedding":
            return (batch, width) if letter == "b" else (height, width)
        if letter == "c" and "flatbias" in entry.marks:
            return (1, 1, 1, width)
        if letter in "bc" and "flat" in entry.marks and not (entry.name == "add_layer_norm" and letter == "c"):
            return (1, 1, 1, width)
        if letter == "b":
            for mark, shape in (
                ("h", (batch, channels, TILE, width)),
                ("w", (batch, channels, height, TILE)),
                ("hw", (batch, channels, TILE, TILE)),
                ("one", (batch, channels, 1, 1)),
                ("batch", (1, 1, height, width)),
            ):
                if mark in entry.marks:
                    return shape
        if "sharded" in entry.marks:
            return (1, 1, height, width)
        return self.shape

    def input(self, entry, letter):
        marks = entry.marks
        tensor = self.tensor(
            self.shape_of(entry, letter), "row" in marks, "int" in marks and letter == "b", "sharded" in marks
        )
        if "complex" not in marks:
            return tensor
        return self.ttnn.complex_tensor(tensor, tensor)

    def special(self, word):
        ttnn, (batch, channels, height, width) = self.ttnn, self.shape
        if word[0] == "#":
            return {
                "#shape": list(self.shape),
                "#last": [batch - 1, channels - 1, height - 1, width - 1],
                "#half": [batch, channels, height // 2, width // 2],
                "#N": batch,
                "#C": channels,
                "#H": height,
                "#W": width,
            }[word]
        if word in ("@ADD", "@SUB", "@MUL"):
            return getattr(ttnn.BcastOpMath, word[1:])
        if word in ("@H", "@W", "@HW"):
            return getattr(ttnn.BcastOpDim, word[1:])
        if word == "@SUM":
            return ttnn.LossReductionMode.SUM
        return {
            "@DRAM": lambda: ttnn.DRAM_MEMORY_CONFIG,
            "@BFLOAT8": lambda: ttnn.bfloat8_b,
            "@DEVICE": lambda: self.device,
            "@SHAPE1112": lambda: ttnn.Shape([1, 1, 1, 2]),
        }[word]()

    def value(self, entry, word):
        if word in ("a", "b", "c"):
            return self.input(entry, word)
        if word == "[a,b]":
            return [self.input(entry, "a"), self.input(entry, "b")]
        return self.special(word) if word[0] in "#@" else ast.literal_eval(word)

    def find(self, entry):
        owner = self.ttnn.operations if entry.function.startswith("moreh.") else self.ttnn
        for part in entry.function.split("."):
            owner = getattr(owner, part, None)
        return owner

    def make(self, entry):
        call = self.find(entry)
        args, kwargs = [], {}
        try:
            for word in entry.arguments:
                key, equals, value = word.partition("=")
                if equals and key.isidentifier():
                    kwargs[key] = self.value(entry, value)
                else:
                    args.append(self.value(entry, word))
            call(*args, **kwargs)  # compiles
            self.synchronize()
        except MemoryError:
            raise
        except Exception as error:
            raise CannotCall("this ttnn does not take the inputs made for it: %s" % first_line(error)) from None
        return call, tuple(args), kwargs or None

    def ops(self):
        listed = []
        for entry in entries():
            has_function = callable(self.find(entry))
            reason = None if has_function else "this ttnn has no %s" % entry.function
            listed.append(
                Op(entry.public_name, entry.group, lambda entry=entry: self.make(entry), self.synchronize, reason)
            )
        return listed
