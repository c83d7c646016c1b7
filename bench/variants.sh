#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench/variants.sh [OUT]: which hot path, drain loop and window decode are the fastest on this machine? Builds what it
# needs under OUT (default: a temporary folder), prints figures, needs cc and, for all but the first part, cmake.
# shellcheck disable=SC2034,SC2046,SC2086,SC2164,SC2015,SC2006
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

say "ways to write a zone: NAME MIN MEDIAN ns RATIO (writer on CPU $w, reader on CPU $r)"
cc -O2 -D_GNU_SOURCE -Isrc -Iinclude -pthread bench/bench_record_variants.c -o "$out/variants" && {
    "$out/variants" $w $r
    echo "-- reader on the neighbour $((w + 1))"
    "$out/variants" $w $((w + 1)) | grep -E '^shared'
}

command -v cmake >/dev/null || { echo "no cmake: that is all"; exit 0; }
generator=; command -v ninja >/dev/null && generator="-G Ninja"
build() { # NAME FLAGS
    cmake -S . -B "$out/$1" $generator -DCMAKE_C_FLAGS="$2" >"$out/$1.log" 2>&1 &&
        cmake --build "$out/$1" -j"$cpus" --target opscope bench_record bench_rate bench_collect bench_trace >>"$out/$1.log" 2>&1 ||
        { echo "build $1 failed:"; tail -5 "$out/$1.log"; }
}
build base ""
build o3 "-O3"
build drain "-DDRAIN_PREFETCH_LINES=8"
b=$out/base

for order in 1 0; do
    for lines in 0 2 4 8 16; do
        cc -O2 -g -fPIC -shared -D_GNU_SOURCE -DOPSCOPE_VERSION='"x"' -Isrc -Iinclude -fvisibility=hidden -fno-semantic-interposition \
            -fno-plt -ftls-model=initial-exec -pthread -DFAST_CLOCK_FIRST=$order -DFAST_PREFETCH_LINES=$lines \
            -Wl,--version-script=src/record/opscope.map -Wl,-soname,libopscope.so.0 \
            src/record/*.c src/session/cgroup.c -o "$out/lib_${order}_$lines.so" || exit 1
    done
done

say "recorded under opscope run: zone pair and floor, ns; clock_first prefetch_lines"
for round in 1 2 3; do
    for order in 1 0; do
        for lines in 0 2 4 8 16; do
            printf '%s %s: ' $order $lines
            LD_PRELOAD=$out/lib_${order}_$lines.so "$b/opscope" run -q -o "$out/z.opscope" "$b/bench/bench_record" 1 | awk '{printf "%s %s  ", $1, $2} END {print ""}'
        done
    done
done
say "back to back for a while (drop; 30 M/s wanted; wait): rate, M zones/s"
for order in 1 0; do
    for lines in 0 4 8 16; do
        for words in "60" "60 30"; do
            printf '%s %s drop %s: ' $order $lines "$words"
            LD_PRELOAD=$out/lib_${order}_$lines.so "$b/opscope" run -q -o "$out/z.opscope" "$b/bench/bench_rate" $words | awk '{printf "%s %s  ", $1, $2} END {print ""}'
        done
        printf '%s %s wait 60: ' $order $lines
        LD_PRELOAD=$out/lib_${order}_$lines.so "$b/opscope" run -q --on-full=wait -o "$out/z.opscope" "$b/bench/bench_rate" 60 | awk '{printf "%s %s  ", $1, $2} END {print ""}'
    done
done
say "paced at 30 M/s, program and collector pinned to CPUs $w and $r"
taskset -c $r "$b/opscope" run -q -o "$out/z.opscope" taskset -c $w "$b/bench/bench_rate" 60 30

say "collector, prepared session: base, -O3, prefetching"
for round in 1 2 3; do
    for kind in base o3 drain; do
        for set in uniform random; do
            printf '%s %s: ' $kind $set
            taskset -c $w "$out/$kind/bench/bench_collect" "$out/c.opscope" $set $([ $set = uniform ] && echo 30 || echo 3) | awk '{printf "%s %s  ", $1, $2} END {print ""}'
        done
    done
done

say "writing, scanning, the worst window"
for kind in base o3; do
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
    perf stat "$out/variants" $w $r 2>&1 | tail -15
fi
[ $# -gt 0 ] || rm -rf "$out"
