/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPSCOPE_TRACE_LOCK_NAMES_H
#define OPSCOPE_TRACE_LOCK_NAMES_H

#define TRACE_WAIT_FOR "wait for " /* and the name of a lock: the name of a zone that waits for it */

#endif
