/* SPDX-License-Identifier: Apache-2.0 */
/* The number of elements of an array (not of a pointer: the compiler warns about that). */
#ifndef OPSCOPE_BASE_COUNT_OF_H
#define OPSCOPE_BASE_COUNT_OF_H

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#endif
