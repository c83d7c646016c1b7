/* SPDX-License-Identifier: Apache-2.0 */
/* The versions that `opscope --version` prints: they change apart from each other. */
#ifndef OPSCOPE_CLI_VERSION_H
#define OPSCOPE_CLI_VERSION_H

/* Program: OPSCOPE_VERSION, from the build. */
/* Recorder: OPSCOPE_ABI, from the public header. */
#define VERSION_TRACE_FORMAT 1

#endif
