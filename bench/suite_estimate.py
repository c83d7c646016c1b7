# SPDX-License-Identifier: Apache-2.0
"""opscope estimate: MB of IR a second and memory against the size of the file, for a million ops that are fused into one
kernel, a million that are not, and a schedule of 80,000 tasks; and the start-up, beside mlir-opt where it is installed."""

import os
import shutil

from run import Row, Skip, median_and_least

TENSOR = "tensor<1x64x64xi8>"
SCHEDULE = """module {
  builtin.module {
    func.func @dispatch_0() {
      %p = torq_hl.program "slice_program_torq_hl.add_0" : !torq_hl.program<slice> {
        torq_hw.slice_task{
        op : "add"
         [{DEDR dims = [ O(H) [100, #map]]}]
         [{CEDR dims = [ T(H) [9, 0]]}]
        }
        torq_hl.return
      }
      %s, %code = torq_hl.descriptor "slice_program_torq_hl.add_0" on 0 program %p : <slice> code [array<i8: 0>] : !torq_hl.invocation<slice>, memref<1xi8>
      %n = torq_hl.program "nss_program_0" : !torq_hl.program<nss> {
      ^bb0(%arg0: !torq_hl.invocation<slice>):
"""
TASK = """        torq_hw.nss_task {{"torq-task-id" = {i} : i64}}() {{
          torq_hw.dma_in_cfg {{write_ndl = #torq_hw<dma_ndl{{dims = [[100, 1], [10, 100]]}}>}}
          torq_hw.dma_in_start loc("model.mlir":{line}:8)
          torq_hw.dma_in_wait
          "torq_hw.slice_start"(%arg0) <{{id = {slice} : index}}> : (!torq_hl.invocation<slice>) -> () loc("model.mlir":{line}:8)
          "torq_hw.slice_wait"() <{{id = {slice} : index}}> : () -> ()
        }}
"""
SCHEDULE_END = """        torq_hl.return
      }
      %i, %c = torq_hl.descriptor "nss_program_0" on 0 program %n : <nss> code [array<i8: 0>] : !torq_hl.invocation<nss>, memref<1xi8>
      torq_hl.start_program %i : !torq_hl.invocation<nss> args(%s : !torq_hl.invocation<slice>) {"torq-action-id" = 0 : i32}
      torq_hl.wait_program %i : !torq_hl.invocation<nss> {"torq-action-id" = 1 : i32}
      return
    }
  }
}
"""


def chain(bench, op, count):
    """A chain of one op, each with a location; element-wise ones become one kernel, matmuls do not."""
    path = bench.path("chain.mlir")
    with open(path, "w", encoding="ascii") as out:
        out.write(f"func.func @main(%arg0: {TENSOR}) -> {TENSOR} {{\n")
        for i in range(count):
            left = f"%{i - 1}" if i else "%arg0"
            out.write(f'  %{i} = {op} {left}, %arg0 : ({TENSOR}, {TENSOR}) -> {TENSOR} loc("model.mlir":{i + 2}:8)\n')
        out.write(f"  return %{count - 1} : {TENSOR}\n}}\n")
    return path


def schedule(bench, count):
    path = bench.path("schedule.mlir")
    with open(path, "w", encoding="ascii") as out:
        out.write(SCHEDULE)
        for i in range(count):
            out.write(TASK.format(i=i, slice=i % 2, line=i + 1))
        out.write(SCHEDULE_END)
    return path


def measure(bench, what, path, target, is_million):
    """CPU time, since it is one thread and the machine may have other work; the memory is the process's peak."""
    size = os.path.getsize(path)
    runs = [bench.timed([bench.opscope, "estimate", path, "--target", target]) for _ in range(5)]
    median, least = median_and_least([run[0] for run in runs])
    what = f"estimate for {target} of {what}, {size / 1e6:.0f} MB"
    yield Row(f"{what}: rate", size / 1e6 / median, "MB/s", limit=50, limit_text=">= 50 MB/s", at_least=True,
              best=size / 1e6 / least)
    yield Row(f"{what}: memory by size of the file", max(run[2] for run in runs) * 1048576 / size, "x", limit=8,
              limit_text="<= 8 x")
    if is_million:
        yield Row(f"{what}: time", median, "s", limit=10, limit_text="<= 10 s", best=least)


def as_json(bench, what, path, is_million):
    """All ops, where the table shows the longest."""
    out = bench.path("estimate.json")
    runs = [bench.timed([bench.opscope, "estimate", path, f"--json={out}"]) for _ in range(3)]
    median, least = median_and_least([run[0] for run in runs])
    yield Row(f"estimate --json of {what}: CPU", median, "s", limit=10 if is_million else None,
              limit_text="<= 10 s" if is_million else "", best=least)
    os.unlink(out)


def start_up(bench):
    path = chain(bench, "tosa.add", 1)
    other = shutil.which("mlir-opt-22") or shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    times = 31
    median, best = bench.repeated(lambda: bench.timed([bench.opscope, "estimate", path])[1] * 1000, times)
    floor = bench.repeated(lambda: bench.timed([other, path])[1] * 1000, times)[0] if other else None
    yield Row("estimate: start-up, a model of one op", median, "ms", floor=floor,
              floor_name=f"{os.path.basename(other)} of the same" if other else "", limit=10, limit_text="<= 10 ms", best=best)
    if not other:
        yield Skip("mlir-opt, the peer of the start-up, is not installed")


def rows(bench):
    count = 100_000 if bench.quick else 1_000_000
    for op, what in (("tosa.add", "fused ops"), ("tosa.matmul", "ops of their own")):
        path = chain(bench, op, count)
        for target in ("sl2610", "cpu"):
            yield from measure(bench, f"{count:,} {what}", path, target, not bench.quick)
        yield from as_json(bench, f"{count:,} {what}", path, not bench.quick)
        os.unlink(path)
    tasks = count * 8 // 100
    path = schedule(bench, tasks)
    yield from measure(bench, f"a schedule of {tasks:,} tasks", path, "sl2610", False)
    os.unlink(path)
    yield from start_up(bench)
