#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks what is staged, as it is staged, in a second or two: scripts/lint_sources.py on the tree that the commit would
# make; clang-format and shellcheck on the files that the commit changes. A tool that is not there is named and skipped.
# As a hook of git, which `git commit --no-verify` passes by:
#
#     ln -s ../../scripts/pre-commit.sh .git/hooks/pre-commit
set -eu
cd "$(git rev-parse --show-toplevel)"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mapfile -d '' -t sources < <(git diff --cached --name-only -z --diff-filter=ACMR -- '*.c' '*.h' '*.cpp' '*.hpp')
mapfile -d '' -t shell_scripts < <(git diff --cached --name-only -z --diff-filter=ACMR -- '*.sh' .ci/run)
git checkout-index --all --quiet --prefix="$tree/"
# A hook inherits where its repository is; below, the copy is a folder of its own.
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
cd "$tree"

failed=0
checked() { # TOOL FILE...: whether there is something to check, and the tool to do it
    [ $# -gt 1 ] || return 1
    command -v "$1" >/dev/null && return 0
    echo "pre-commit: skipped: $1 is not installed" >&2
    return 1
}

python=/usr/bin/python3
[ -x $python ] || python=python3
$python scripts/lint_sources.py || failed=1
$python scripts/python_options.py || failed=1
if checked clang-format "${sources[@]}"; then
    clang-format --dry-run -Werror --ferror-limit=3 "${sources[@]}" || failed=1
fi
if checked shellcheck "${shell_scripts[@]}"; then
    shellcheck "${shell_scripts[@]}" || failed=1
fi
[ $failed = 0 ] || echo "pre-commit: what is staged does not pass (make format rewrites the sources; then git add them again)" >&2
exit $failed
