#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that what a make target needs is there: scripts/setup.sh [--check] SET... with SET one of build,
# test, lint, bench. Looks for commands and headers first (a few milliseconds, no package manager involved),
# says what is missing, and installs just that from Debian's packages, as root or through sudo. --check only
# looks.
#
#   OPSCOPE_NO_INSTALL=1   install nothing: say what is missing and what will be skipped for it
#   BUILD                  build folder whose CMake cache is dropped after an installation, so that the next
#                          build looks again for what was not there before (default: build)
#
# Exit status: 0 when everything that is required is there, 1 otherwise. What is optional is only reported.
set -eu

# One line per item: set | package | how to see that it is there | required or optional | what it is for.
# A probe is a list of alternatives: a command name or an absolute path (a glob is fine).
items() {
    cat <<'TABLE'
build|gcc|cc gcc clang|required|compiling anything
build|libc6-dev|/usr/include/stdlib.h|required|compiling anything
build|cmake|cmake|required|configuring the build
build|libzstd-dev|/usr/include/zstd.h /usr/local/include/zstd.h|required|storing traces
build|ninja-build|ninja|optional|a faster build than with make
build|python3-dev|/usr/include/python3*/Python.h|optional|recording the calls of Python programs
build|npm|npm|optional|the page of opscope view
test|gcc|gcc|optional|the gcc and sanitizer builds
test|python3|/usr/bin/python3 python3|required|running the tests
test|python3-coverage|/usr/lib/python3/dist-packages/coverage|optional|coverage beside the profiler
test|python3-dbg|/usr/bin/python3-dbg|optional|the Python extension in a debug interpreter, with reference counts checked
test|python3-gevent|/usr/lib/python3/dist-packages/gevent|optional|tracks of gevent's greenlets
test|python3-greenlet|/usr/lib/python3/dist-packages/greenlet|optional|tracks of greenlets
test|python3-ipython|/usr/lib/python3/dist-packages/IPython|optional|the notebook's %%opscope
test|python3-trio|/usr/lib/python3/dist-packages/trio|optional|tracks of trio's tasks
test|python3-numpy|/usr/lib/python3/dist-packages/numpy|optional|the NumPy example
test|python3-pytest|/usr/lib/python3/dist-packages/_pytest|optional|pytest sessions under the profiler
test|python3-pytest-xdist|/usr/lib/python3/dist-packages/xdist|optional|workers of pytest under the profiler
test|python3-venv|/usr/lib/python3*/ensurepip|optional|the test of the Python package
test|libpython3.11-testsuite|/usr/lib/python3*/test/test_generators.py|optional|CPython's own tests under the profiler
test|python3-numpy|/usr/lib/python3/dist-packages/numpy|optional|measuring the ops of numpy
test|python3-torch|/usr/lib/python3/dist-packages/torch|optional|measuring the ops of torch
test|libtorch-dev|/usr/include/ATen/record_function.h|optional|native times of torch's ops
test|opencl-headers|/usr/include/CL/cl.h|optional|OpenCL programs under the profiler
test|ocl-icd-opencl-dev|/usr/lib/*/libOpenCL.so /usr/lib/libOpenCL.so|optional|OpenCL programs under the profiler
test|pocl-opencl-icd|/etc/OpenCL/vendors/pocl.icd|optional|OpenCL programs under the profiler
test|clinfo|clinfo|optional|an OpenCL program of somebody else
test|clpeak|clpeak|optional|an OpenCL program of somebody else
test|libcmocka-dev|/usr/include/cmocka.h /usr/local/include/cmocka.h|optional|unit tests
test|g++|g++|optional|tests of the C++ header
test|pkgconf|pkg-config|optional|the test of the installed pkg-config file
test|man-db|man|optional|checking the man pages
test|clang|clang|optional|the clang build and the fuzz targets
test|libclang-rt-14-dev|/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a|optional|the fuzz targets
test|python3-protobuf|/usr/lib/python3/dist-packages/google/protobuf|optional|a foreign reader of the Perfetto export
test|protobuf-compiler|protoc|optional|a foreign reader of the Perfetto export
test|nodejs|node nodejs|optional|a foreign reader of the Chrome export
test|npm|npm|optional|a foreign reader of the Chrome export, and the page
test|chromium|chromium|optional|the page in a browser
test|gcc-aarch64-linux-gnu|aarch64-linux-gnu-gcc|optional|the aarch64 build
test|libc6-dev-arm64-cross|/usr/aarch64-linux-gnu/include/stdlib.h|optional|the aarch64 build
test|qemu-user|qemu-aarch64|optional|running the unit tests for aarch64
lint|python3|/usr/bin/python3 python3|required|checking the sources
lint|clang-format|clang-format|optional|checking the formatting
lint|shellcheck|shellcheck|optional|checking the shell scripts
bench|python3|/usr/bin/python3 python3|required|printing the table
bench|python3-venv|/usr/lib/python3*/ensurepip|optional|viztracer, as a peer
bench|python3-numpy|/usr/lib/python3/dist-packages/numpy|optional|the NumPy loop
bench|opencl-headers|/usr/include/CL/cl.h|optional|what a command of OpenCL costs
bench|ocl-icd-opencl-dev|/usr/lib/*/libOpenCL.so /usr/lib/libOpenCL.so|optional|what a command of OpenCL costs
bench|pocl-opencl-icd|/etc/OpenCL/vendors/pocl.icd|optional|what a command of OpenCL costs
bench|hyperfine|hyperfine|optional|timing whole commands
TABLE
}

is_there() {
    local alternative
    for alternative in $1; do # unquoted on purpose: a list of alternatives, with globs
        case $alternative in
        /*) [ -e "$alternative" ] && return 0 ;;
        *) command -v "$alternative" >/dev/null 2>&1 && return 0 ;;
        esac
    done
    return 1
}

# Fills missing (packages), reasons (one line each) and blocked (a required one is among them).
look() {
    local set package probe need purpose
    missing=()
    reasons=()
    blocked=0
    while IFS='|' read -r set package probe need purpose; do
        case " $wanted_sets " in *" $set "*) ;; *) continue ;; esac
        is_there "$probe" && continue
        case " ${missing[*]-} " in *" $package "*) continue ;; esac
        missing+=("$package")
        reasons+=("$(printf '%-24s %-9s for %s' "$package" "$need" "$purpose")")
        [ "$need" = required ] && blocked=1
    done < <(items)
    return 0
}

say() {
    printf 'setup: %s\n' "$*"
}

list_missing() {
    printf '    %s\n' "${reasons[@]}"
}

# A required item that is missing ends the call; an optional one is named, and what needs it is skipped.
finish() {
    look
    if [ ${#missing[@]} -eq 0 ]; then
        exit 0
    fi
    say "$1"
    list_missing
    if [ "$blocked" = 1 ]; then
        say "cannot go on without the required ones: apt-get install ${missing[*]}"
        exit 1
    fi
    say "going on; what is only for these is skipped and counted as skipped"
    exit 0
}

root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif [ -t 0 ]; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

has_candidates() {
    local package
    for package in "$@"; do
        [ -n "$(apt-cache show --no-all-versions "$package" 2>/dev/null)" ] || return 1
    done
}

install_packages() {
    root apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" \
        </dev/null
}

# All at once; when that fails (one package is not available, or conflicts), one by one, so that one failure
# costs one feature.
install_missing() {
    local package updated=0
    if ! has_candidates "${missing[@]}"; then
        say "running apt-get update (the package lists are empty or old)"
        root apt-get update -q </dev/null || say "apt-get update failed"
        updated=1
    fi
    install_packages "${missing[@]}" && return 0
    if [ $updated = 0 ]; then
        say "installation failed; running apt-get update and trying again"
        root apt-get update -q </dev/null || say "apt-get update failed"
        install_packages "${missing[@]}" && return 0
    fi
    say "installing one by one"
    for package in "${missing[@]}"; do
        install_packages "$package" || say "could not install $package"
    done
}

check_only=0
if [ "${1-}" = --check ]; then
    check_only=1
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: scripts/setup.sh [--check] build|test|lint|bench..." >&2
    exit 2
fi
wanted_sets="$*"
cd "$(dirname "$0")/.."

look
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ $check_only = 1 ]; then
    finish "these Debian packages are missing (make setup, make demo and make test install what they need):"
fi
if [ "${OPSCOPE_NO_INSTALL:-0}" != 0 ] && [ -n "${OPSCOPE_NO_INSTALL:-}" ]; then
    finish "these Debian packages are missing (nothing is installed: OPSCOPE_NO_INSTALL is set):"
fi
if ! command -v apt-get >/dev/null 2>&1; then
    finish "these are missing (Debian's package names), and there is no apt-get here to install them:"
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
    finish "these Debian packages are missing, and this is neither root nor is there sudo:"
fi

say "these Debian packages are missing and are installed now (OPSCOPE_NO_INSTALL=1 prevents it):"
list_missing
install_missing
rm -f "${BUILD:-build}/CMakeCache.txt"
finish "these packages could not be installed:"
