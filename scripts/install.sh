#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/install.sh [--remove] BUILD PREFIX installs the build below $DESTDIR$PREFIX, or removes it from
# there. What to remove is found by installing into a scratch folder with the same prefix, so that it needs
# no manifest from the time of the installation and never touches a file that is not ours.
set -eu

remove=0
if [ "${1-}" = --remove ]; then
    remove=1
    shift
fi
if [ $# -ne 2 ]; then
    echo "usage: scripts/install.sh [--remove] BUILD PREFIX" >&2
    exit 2
fi
build=$1
prefix=$2
destdir=${DESTDIR-}
case $prefix in
/*) ;;
*)
    echo "install: PREFIX must be an absolute path: $prefix" >&2
    exit 2
    ;;
esac

# A library in a folder of the system's is found by programs only once the loader's cache knows it.
refresh_loader_cache() {
    case $prefix in
    /usr | /usr/local)
        if [ -z "$destdir" ] && [ "$(id -u)" = 0 ]; then
            PATH=$PATH:/sbin:/usr/sbin ldconfig
        fi
        ;;
    esac
}

if [ $remove = 0 ]; then
    DESTDIR=$destdir cmake --install "$build" --prefix "$prefix"
    refresh_loader_cache
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
COMPAT=1 DESTDIR=$scratch cmake --install "$build" --prefix "$prefix" >/dev/null
(cd "$scratch" && find . ! -type d | sed 's/^\.//') | while IFS= read -r file; do
    # A link of ours under another tool's name may be that tool itself here.
    if [ "$(readlink "$scratch$file")" = opscope ] && [ "$(readlink "$destdir$file")" != opscope ]; then
        continue
    fi
    if [ -e "$destdir$file" ] || [ -L "$destdir$file" ]; then
        rm -f "$destdir$file"
        echo "-- Removed: $destdir$file"
    fi
done
# Folders that only we fill go when they are empty; shared ones (bin, lib, man1) are left alone.
(cd "$scratch$prefix" && find . -depth -type d \( -path '*/opscope' -o -path '*/opscope/*' \)) |
    while IFS= read -r folder; do
        rmdir "$destdir$prefix/$folder" 2>/dev/null || true
    done
refresh_loader_cache
