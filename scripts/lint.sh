#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the sources as they lie in the work tree (tracked files and new ones that are not ignored):
# clang-format, scripts/lint_sources.py (what the style page bans) and shellcheck. A tool that is not there is
# named and skipped. `scripts/lint.sh --format` rewrites instead of checking.
set -eu
cd "$(dirname "$0")/.."

python=/usr/bin/python3
[ -x $python ] || python=python3
mapfile -t sources < <($python scripts/tree.py '*.c' '*.h' '*.cpp' '*.hpp')
mapfile -t shell_scripts < <($python scripts/tree.py '*.sh' '.ci/run')
failed=0

if [ "${1-}" = --format ]; then
    clang-format -i "${sources[@]}"
    exit 0
fi

if command -v clang-format >/dev/null; then
    clang-format --dry-run -Werror --ferror-limit=3 "${sources[@]}" || failed=1
else
    echo "lint: skipped: clang-format is not installed"
fi

$python scripts/lint_sources.py || failed=1
$python scripts/python_options.py || failed=1

if command -v shellcheck >/dev/null; then
    shellcheck "${shell_scripts[@]}" || failed=1
else
    echo "lint: skipped: shellcheck is not installed"
fi

[ $failed = 0 ] && echo "lint: ${#sources[@]} C and C++ files, ${#shell_scripts[@]} shell scripts: fine"
exit $failed
