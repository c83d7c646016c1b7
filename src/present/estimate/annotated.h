/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run joined to the compiler's IR, as the CSV that people's scripts know and as tables. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_ANNOTATED_H
#define OPSCOPE_PRESENT_ESTIMATE_ANNOTATED_H

#include "ops/measured.h"
#include "present/table.h"

/* With semicolons: `action_id;job_id;operation;...`, or, of the older form, `nss_program_index;operation;...`. */
void measured_append_csv(const struct measured *measured, struct bytes *out);
/* Programs and other actions that take time, most expensive first in the order of the table's own sort. */
void measured_make_rows(const struct measured *measured, struct table *table);
/* Where the time went; the keys are those of dashboards. */
int measured_make_metrics(const struct measured *measured, struct table *table, struct error *err);

#endif
