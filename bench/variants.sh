#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench/variants.sh [OUT]: which hot path, drain loop and window decode are the fastest on this machine? Builds what it
# needs under OUT (default: a temporary folder), prints figures, needs cc and, for all but the first part, cmake.
# shellcheck disable=SC2034,SC2043,SC2046,SC2086,SC2164,SC2015,SC2006
set -u
cd "$(dirname "$0")/.."
out=${1:-$(mktemp -d)}
mkdir -p "$out"
cpus=$(nproc)
w=$((cpus > 4 ? 2 : 0)) r=$((cpus > 8 ? 6 : 1))
say() { printf '\n== %s\n' "$*"; }

say machine
uname -r; grep -m1 'model name' /proc/cpuinfo; grep -m1 flags /proc/cpuinfo | tr ' ' '\n' | grep -E '^(prefetchw|3dnowprefetch|cldemote|tsc_scale|hypervisor|constant_tsc|nonstop_tsc)$' | tr '\n' ' '
lscpu 2>/dev/null | grep -E 'Socket|Thread|L1d|L2|L3|NUMA|MHz' ; cat /sys/devices/system/clocksource/clocksource0/current_clocksource
cat /sys/kernel/mm/transparent_hugepage/shmem_enabled 2>/dev/null; df -h /dev/shm | tail -1; uptime
cc --version | head -1; cmake --version 2>/dev/null | head -1; which perf gdb addr2line nm ninja

command -v cmake >/dev/null || { echo "no cmake: that is all"; exit 0; }
generator=; command -v ninja >/dev/null && generator="-G Ninja"
build() { # NAME FLAGS
    cmake -S . -B "$out/$1" $generator -DCMAKE_C_FLAGS="$2" >"$out/$1.log" 2>&1 &&
        cmake --build "$out/$1" -j"$cpus" --target opscope bench_record bench_rate bench_collect bench_trace >>"$out/$1.log" 2>&1 ||
        { echo "build $1 failed:"; tail -5 "$out/$1.log"; }
}
build base ""
b=$out/base

say "recorded under opscope run: zone pair and floor, ns"
for round in 1 2 3 4 5 6; do
    "$b/opscope" run -q -o "$out/z.opscope" "$b/bench/bench_record" 1 | awk '{printf "%s %s  ", $1, $2} END {print ""}'
    taskset -c $r "$b/opscope" run -q -o "$out/z.opscope" taskset -c $w "$b/bench/bench_record" 1 | awk '{printf "pinned %s %s  ", $1, $2} END {print ""}'
done
say "the floor alone for a while, and zones with it: M/s"
"$b/bench/bench_record" 1 | awk '{printf "%s %s  ", $1, $2} END {print ""}'
for words in "60" "60 30" "60 20"; do
    echo "drop $words:"
    "$b/opscope" run -q -o "$out/z.opscope" "$b/bench/bench_rate" $words
done
echo "wait 60:"
"$b/opscope" run -q --on-full=wait -o "$out/z.opscope" "$b/bench/bench_rate" 60
say "paced at 30 M/s, program and collector pinned to CPUs $w and $r"
taskset -c $r "$b/opscope" run -q -o "$out/z.opscope" taskset -c $w "$b/bench/bench_rate" 60 30

say "collector, prepared session: three times"
for round in 1 2 3; do
    for kind in base; do
        for set in uniform random; do
            printf '%s %s: ' $kind $set
            taskset -c $w "$out/$kind/bench/bench_collect" "$out/c.opscope" $set $([ $set = uniform ] && echo 30 || echo 3) | awk '{printf "%s %s  ", $1, $2} END {print ""}'
        done
    done
done

say "writing, scanning, the worst window"
for kind in base; do
    echo "-- $kind"
    taskset -c $w "$out/$kind/bench/bench_trace" "$out/t.opscope" 50 -v | awk '!/^  /'
done

say "where the collector and the reader spend their time (samples at 1 kHz)"
cc -O2 -fPIC -shared -D_GNU_SOURCE bench/sampler.c -o "$out/sampler.so"
profile() { # TITLE PROGRAM COMMAND...
    title=$1 program=$2; shift 2
    say "profile: $title"
    SAMPLER_OUT=$out/samples LD_PRELOAD=$out/sampler.so "$@" >/dev/null
    python3 bench/sampled.py "$program" "$out/samples"
}
profile "bench_collect uniform" "$b/bench/bench_collect" "$b/bench/bench_collect" "$out/c.opscope" uniform 30
for set in uniform random nested; do
    export BENCH_TRACE_SET=$set
    profile "bench_trace $set" "$b/bench/bench_trace" "$b/bench/bench_trace" "$out/t.opscope" 20
done
unset BENCH_TRACE_SET
if command -v perf >/dev/null; then
    say perf
    perf stat "$b/bench/bench_collect" "$out/c.opscope" uniform 30 2>&1 | tail -15
fi
[ $# -gt 0 ] || rm -rf "$out"
