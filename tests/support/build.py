# SPDX-License-Identifier: Apache-2.0
"""Configures and builds the tree in a folder of its own; a build is a test of its own, warnings are errors."""

import os
import shutil
import subprocess
import tempfile

from .process import run_logged

CONFIGURE_LIMIT_S = 900
BUILD_LIMIT_S = 5400


def build(step, context, folder, flags, targets=()):
    """Returns True when the tree builds with these flags; the result is counted in the step."""
    log = os.path.join(context.logs, f"{step.name}-build.log")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    command = ["cmake", "-S", context.source, "-B", folder, *generator, "-DOPSCOPE_WERROR=ON", *flags]
    finished = run_logged(command, log, CONFIGURE_LIMIT_S, env=context.env)
    if finished.status != 0:
        step.failed("configure", finished.reason(), log)
        return False
    command = ["cmake", "--build", folder, "-j", str(context.jobs)]
    if targets:
        command += ["--target", *targets]
    finished = run_logged(command, log, BUILD_LIMIT_S, env=context.env, append=True)
    if finished.status != 0:
        step.failed("build", finished.reason(), log)
        return False
    step.passed("build")
    return True


def sanitizer_problem(compiler, sanitizer):
    """Why programs with this sanitizer do not run here, or None. Kernels and containers differ."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "probe.c")
        program = os.path.join(folder, "probe")
        with open(source, "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        made = subprocess.run(
            [compiler, f"-fsanitize={sanitizer}", source, "-o", program], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            return f"{compiler} -fsanitize={sanitizer}: {first_line(made.stderr)}"
        ran = subprocess.run([*steady_addresses(), program], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            return f"programs with {sanitizer} sanitizer do not run here: {first_line(ran.stderr)}"
    return None


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip() if lines else "no message"


def steady_addresses():
    """Sanitizer run-times of 2022 do not know the wide address randomisation of newer kernels: switch it off."""
    command = ["setarch", os.uname().machine, "-R"]
    try:
        done = subprocess.run([*command, "true"], capture_output=True, check=False)
    except OSError:
        return []
    return command if done.returncode == 0 else []
