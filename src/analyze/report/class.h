/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of op a name stands for: the part of the report's classes that others may ask for. */
#ifndef OPSCOPE_ANALYZE_REPORT_CLASS_H
#define OPSCOPE_ANALYZE_REPORT_CLASS_H

#include <stdbool.h>

/* The category of an op of this name, as the report shows it ("Compute", "DM" ...). */
const char *perf_category_by_name(const char *name, bool is_host);

#endif
