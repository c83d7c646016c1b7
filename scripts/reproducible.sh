#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the tree twice, in two folders with paths of different lengths, and compares what is installed, byte for byte.
# `scripts/reproducible.sh [FOLDER]` works in FOLDER (default: a temporary one, removed afterwards); CMAKE_FLAGS goes
# to both. Prints the sum of each file; exit status 1 where two differ.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=${1-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)
python=/usr/bin/python3
[ -x $python ] || python=python3
cd "$here"
mapfile -t files < <($python scripts/tree.py '*')

build_in() { # FOLDER
    mkdir -p "$1"
    tar -cf - -- "${files[@]}" | tar -xf - -C "$1"
    # shellcheck disable=SC2086 # flags are words
    if ! {
        cmake -S "$1" -B "$1/build" ${CMAKE_FLAGS-} && cmake --build "$1/build" -j "${JOBS:-$(nproc)}" &&
            DESTDIR="$1/installed" cmake --install "$1/build" --prefix /usr
    } >"$1.log" 2>&1; then
        echo "reproducible: the build in $1 failed: $1.log" >&2
        exit 2
    fi
}
sums_of() { # FOLDER
    (cd "$1/installed" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

build_in "$work/a"
build_in "$work/another-folder/with a longer path"
sums_of "$work/a" >"$work/a.sums"
sums_of "$work/another-folder/with a longer path" >"$work/b.sums"
cat "$work/a.sums"
if ! diff "$work/a.sums" "$work/b.sums" >"$work/differences"; then
    echo "reproducible: these differ:" >&2
    cat "$work/differences" >&2
    exit 1
fi
echo "reproducible: $(wc -l <"$work/a.sums") files, equal in both builds"
