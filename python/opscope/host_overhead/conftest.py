# SPDX-License-Identifier: Apache-2.0
"""Options of profile_host_overhead.py: those of the vendor's test of the same name, and --ops."""


def pytest_addoption(parser):
    group = parser.getgroup("host overhead")
    group.addoption("--input-method", default="cli", choices=("cli",), help="where the input comes from: cli")
    group.addoption(
        "--cli-input",
        metavar="DIR[::OP]",
        help="folder for host_overhead_profiler_output.csv; with ::OP that op alone, in host_overhead_OP.csv",
    )
    group.addoption(
        "--ops",
        dest="overhead_ops",
        metavar="PROVIDER",
        help="torch, numpy, ttnn, FILE.py or FILE.so; by default what OP begins with, else ttnn or torch, "
        "the first that is installed",
    )
