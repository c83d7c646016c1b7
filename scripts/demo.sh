#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/demo.sh BUILD profiles the matrix multiplication of examples/tiled_matmul (a loader process and
# worker threads) with its live page, prints its zones, says what to do next and names the page. On a terminal the page stays
# until Ctrl+C; elsewhere the demo ends by itself. The trace stays in the build folder.
set -eu

build=${1:-build}
opscope=$build/opscope
trace=$build/demo.opscope
said=$build/demo.log
url=

# What the run says comes from a file, so that this script knows the link and when the program has ended.
record() {
    echo "\$ $opscope run --view -o $trace -- $build/examples/tiled_matmul"
    "$opscope" run --view -o "$trace" -- "$build/examples/tiled_matmul" 2>"$said" &
    run=$!
    trap 'kill -TERM "$run" 2>/dev/null && wait "$run" || :' EXIT
    trap 'exit 130' INT TERM
    while kill -0 "$run" 2>/dev/null && ! grep -qs "until Ctrl+C" "$said"; do
        sleep 0.05
    done
    grep -v "until Ctrl+C" "$said" >&2 || :
    url=$(sed -n 's/^opscope: live page: //p' "$said")
}

has_page() {
    local port=${url##*:} line=
    exec 3<>"/dev/tcp/127.0.0.1/${port%%/*}" || return 1
    printf 'GET /app.js?%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' "${url##*\?}" >&3
    read -r line <&3 || :
    exec 3>&-
    case $line in *" 200 "*) return 0 ;; *) return 1 ;; esac
}

rm -f "$trace" "$said" # what an earlier demo said must not be taken for this one's
record
if ! [ -e "$trace" ]; then # the page cannot be served here: the rest works without it
    url=
    "$opscope" run -o "$trace" -- "$build/examples/tiled_matmul"
fi
echo
echo "\$ $opscope zones --by thread $trace"
"$opscope" zones --by thread "$trace"
cat <<EOT

What next:
  $opscope view $trace                       the page of this trace, in a browser
  $opscope zones $trace                      the same by name alone
  $opscope tree $trace                       the call tree with totals
  $opscope info $trace                       processes, threads, losses, clock
  $opscope export --format perfetto $trace   a file for ui.perfetto.dev
  $opscope run --view -- YOUR PROGRAM                     record a program of yours, with its live page
  $opscope doctor                                         what works on this machine

EOT
if [ -z "$url" ]; then
    echo "There is no live page: no port of this machine can be listened on."
    exit 0
fi
if ! has_page; then
    echo "This build has no page (npm was missing or failed), only its data: install npm, then make clean demo."
fi
if [ -t 0 ] && [ -t 1 ]; then
    echo "The live page: $url (Ctrl+C ends it)"
    trap 'exit 0' INT
    wait "$run" || :
else
    echo "The live page: $url (until this demo ended; on a terminal it stays)"
fi
