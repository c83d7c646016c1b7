#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/aarch64-sysroot.sh FOLDER unpacks Debian's arm64 builds of zstd and cmocka into FOLDER for the cross
# build. The machine itself is left as it is: no foreign architecture is added, nothing is installed and root
# is not needed. apt runs on package lists of its own below FOLDER, with the machine's sources and keys.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: scripts/aarch64-sysroot.sh FOLDER" >&2
    exit 2
fi
mkdir -p "$1"
sysroot=$(cd "$1" && pwd)
if [ -f "$sysroot/usr/include/zstd.h" ] && [ -f "$sysroot/usr/include/cmocka.h" ]; then
    exit 0
fi
if [ "${OPSCOPE_NO_INSTALL:-0}" != 0 ] && [ -n "${OPSCOPE_NO_INSTALL:-}" ]; then
    echo "libzstd-dev and libcmocka-dev for arm64 are not there, and OPSCOPE_NO_INSTALL is set" >&2
    exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/state/lists/partial" "$scratch/cache/archives/partial" "$scratch/packages"
: >"$scratch/state/status"
options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$scratch/state"
    -o Dir::State::status="$scratch/state/status" -o Dir::Cache="$scratch/cache" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Retries=3)
if [ "$(id -u)" = 0 ]; then
    options+=(-o APT::Sandbox::User=root) # the scratch folder is not for apt's own user to read
fi

apt-get "${options[@]}" update
cd "$scratch/packages"
apt-get "${options[@]}" download libzstd-dev libzstd1 libcmocka-dev libcmocka0
for package in *.deb; do
    dpkg-deb -x "$package" "$sysroot"
done
