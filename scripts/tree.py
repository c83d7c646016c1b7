#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of the work tree: tracked ones and new ones that are not ignored; without git, all but what is built or installed.

    tree.py PATTERN...        prints those that match one of the patterns ('*.c'), or whose path is one
"""

import fnmatch
import os
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IGNORED = (".git", "__pycache__", "node_modules")


def names_of_git(root):
    """None without git, or where the tree is not a checkout of its own."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=root, capture_output=True, check=False) if shutil.which("git") else None
    return listing.stdout.decode().split("\0") if listing and listing.returncode == 0 else None


def names_of_folder(root):
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in IGNORED and not (folder == root and name.startswith("build"))]
        names += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return names


def tree_files(*patterns, root=SOURCE):
    names = names_of_git(root)
    if names is None:
        names = names_of_folder(root)
    if patterns:
        names = [n for n in names if any(n == p or fnmatch.fnmatchcase(os.path.basename(n), p) for p in patterns)]
    return sorted(name for name in names if name and os.path.isfile(os.path.join(root, name)))


if __name__ == "__main__":
    print("\n".join(tree_files(*sys.argv[1:])))
