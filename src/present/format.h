/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. The table keeps the exact value; these round it. Each fills `out` and returns it. */
#ifndef OPSCOPE_PRESENT_FORMAT_H
#define OPSCOPE_PRESENT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct number_text {
    char text[48];
};

const char *format_count(struct number_text *out, uint64_t value);                   /* 1,234,567 */
const char *format_things(struct number_text *out, uint64_t value, const char *one); /* 1 zone, 2,345 zones */
const char *format_time(struct number_text *out, uint64_t ns);    /* 17 ns, 1.234 us, 5.000 s, 2.750 h */
const char *format_time_real(struct number_text *out, double ns); /* the same; 17.3 ns */
/* In sentences, three significant digits: 812 ns, 4.22 ms, 12.4 s, 3 min 12 s, 2 h 05 min, 2 d 3 h. */
const char *format_duration(struct number_text *out, uint64_t ns);
const char *format_instant(struct number_text *out, uint64_t ns);                       /* 12.345678 s */
const char *format_bytes(struct number_text *out, uint64_t bytes);                      /* 512 B, 1.5 MiB */
const char *format_percent(struct number_text *out, double percent, unsigned decimals); /* 12.3%, <0.1% */
const char *format_share(struct number_text *out,
                         double share); /* in sentences: 81%, 9.4%, 98.8%, <0.1%; of 1 */

#endif
