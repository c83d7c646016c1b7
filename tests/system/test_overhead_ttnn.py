# SPDX-License-Identifier: Apache-2.0
"""The ttnn provider without ttnn: its table of ops, and what it would call, seen by a module that only writes calls
down. This says nothing about the real module: whether it takes these calls is seen where it is installed."""

import os
import sys
import types
import unittest

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "python"))
from opscope.overhead import Settings, Unavailable  # noqa: E402
from opscope.overhead import ttnn as provider  # noqa: E402

sys.path.pop(0)


class Tensor:
    def __init__(self, shape, **how):
        self.shape, self.how = tuple(shape), how


class Recorder(types.ModuleType):
    """Any name is a function that notes how it was called."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []
        self.calls = []
        self.operations = types.SimpleNamespace(moreh=self)
        for constant in ("TILE_LAYOUT", "ROW_MAJOR_LAYOUT", "DRAM_MEMORY_CONFIG", "bfloat16", "bfloat8_b", "uint32"):
            setattr(self, constant, constant)
        self.BcastOpMath = types.SimpleNamespace(ADD="ADD", SUB="SUB", MUL="MUL")
        self.BcastOpDim = types.SimpleNamespace(H="H", W="W", HW="HW")
        self.LossReductionMode = types.SimpleNamespace(SUM="SUM")
        self.ShardStrategy = types.SimpleNamespace(WIDTH="WIDTH")

    def __getattr__(self, name):
        if name.startswith("__") or name == "logical_not_":  # one that this release lacks
            raise AttributeError(name)

        def call(*args, **kwargs):
            self.calls.append((name, args, kwargs))
            return name

        return call

    def from_torch(self, host, **how):
        return Tensor(host.shape, **how)

    def open_device(self, device_id):
        if device_id == 9:
            raise RuntimeError("no such device")
        return types.SimpleNamespace(number=device_id)


class FakeTorch(types.ModuleType):
    def empty(self, shape):
        made = types.SimpleNamespace(shape=shape)
        made.uniform_ = lambda low, high: made
        return made

    def randint(self, low, high, shape):
        return types.SimpleNamespace(shape=shape)


class Table(unittest.TestCase):
    def test_the_vendors_ops(self):
        entries = list(provider.entries())
        names = [entry.public_name for entry in entries]
        self.assertEqual(len(names), len(set(names)))
        groups = [entry.group for entry in entries]
        # four of the reference's binary ops are no more in the vendor's own list
        self.assertEqual([groups.count(name) for name in ("binary", "unary", "ternary")], [155 + 4, 191, 37])
        for name in ("ttnn.add", "ttnn.operations.moreh.softmax_dim_0", "tt_lib.fused_ops.softmax.softmax"):
            self.assertIn(name, names)

    def test_every_op_of_the_reference_file(self):
        path = harness.reference_data("tenstorrent", "host_overhead_reference.txt")
        with open(path, encoding="utf-8") as file:
            wanted = {line.split(",")[0] for line in file.read().splitlines()[1:]}
        self.assertEqual(wanted - {entry.public_name for entry in provider.entries()}, set())


class Calls(unittest.TestCase):
    def setUp(self):
        self.ttnn = Recorder("ttnn")
        self.saved = {name: sys.modules.get(name) for name in ("ttnn", "torch")}
        sys.modules["ttnn"], sys.modules["torch"] = self.ttnn, FakeTorch("torch")
        self.addCleanup(self.restore)

    def restore(self):
        for name, module in self.saved.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module

    def make(self, name, **settings):
        ops = {op.name: op for op in provider.Provider(Settings(**settings)).ops()}
        call, args, kwargs = ops[name].make()
        self.assertTrue(callable(call))
        unwanted = ("synchronize_device", "complex_tensor", "CoreGrid")
        noted = [entry for entry in self.ttnn.calls if entry[0] not in unwanted]
        return noted[-1][0], args, kwargs or {}

    def test_every_op_can_be_made(self):
        made = provider.Provider(Settings())
        left_out = {}
        for op in made.ops():
            if op.reason:
                left_out[op.name] = op.reason
                continue
            call, args, kwargs = op.make()
            self.assertTrue(callable(call) and isinstance(args, tuple), op.name)
        self.assertEqual(left_out, {"ttnn.logical_not_": "this ttnn has no logical_not_"})

    def test_inputs(self):
        function, args, _ = self.make("ttnn.add")
        self.assertEqual((function, len(args)), ("add", 2))
        self.assertEqual(args[0].shape, (1, 4, 1024, 1024))
        self.assertEqual(args[0].how["layout"], "TILE_LAYOUT")
        self.assertEqual(args[0].how["dtype"], "bfloat16")
        function, args, _ = self.make("ttnn.bcast_mul_w", shape=(1, 2, 64, 96))
        self.assertEqual((function, args[1].shape, args[2:]), ("bcast", (1, 2, 64, 32), ("MUL", "W")))
        function, args, kwargs = self.make("ttnn.operations.moreh.mean_dims_013")
        self.assertEqual((function, len(args), kwargs), ("mean", 1, {"dim": [0, 1, 3], "keepdim": True}))
        function, args, _ = self.make("ttnn.concat_dim_2")
        self.assertEqual((function, len(args[0]), args[1]), ("concat", 2, 2))
        function, args, kwargs = self.make("ttnn.layer_norm", shape=(1, 1, 32, 64))
        self.assertEqual((args[0].shape, kwargs["weight"].shape), ((1, 1, 32, 64), (1, 1, 1, 64)))
        function, args, _ = self.make("ttnn.tilize")
        self.assertEqual(args[0].how["layout"], "ROW_MAJOR_LAYOUT")
        function, args, _ = self.make("ttnn.embedding")
        self.assertEqual((function, args[0].how["dtype"], args[1].how["dtype"]), ("embedding", "uint32", "bfloat16"))

    def test_an_op_that_the_module_refuses_is_left_out(self):
        from opscope.overhead import CannotCall

        def refuse(*_):
            raise TypeError("incompatible function arguments\nlong list")

        self.ttnn.__dict__["gelu"] = refuse
        with self.assertRaises(CannotCall) as caught:
            self.make("ttnn.gelu")
        self.assertIn("incompatible function arguments", str(caught.exception))
        self.assertNotIn("long list", str(caught.exception))

    def test_what_stops_it(self):
        for settings, said in (
            ({"device": "9"}, "no such device"),
            ({"device": "cuda"}, "a number"),
            ({"shape": (2, 2)}, "four dimensions"),
            ({"dtype": "float7"}, "--dtype"),
            ({"layout": "C"}, "--layout"),
        ):
            self.ttnn.__dict__.setdefault("float7", None)
            self.ttnn.__dict__.setdefault("C_LAYOUT", None)
            with self.assertRaises(Unavailable) as caught:
                provider.Provider(Settings(**settings))
            self.assertIn(said, str(caught.exception))
        os.environ["TT_METAL_SLOW_DISPATCH_MODE"] = "1"
        self.addCleanup(os.environ.pop, "TT_METAL_SLOW_DISPATCH_MODE", None)
        with self.assertRaises(Unavailable) as caught:
            provider.Provider(Settings())
        self.assertIn("fast dispatch", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
