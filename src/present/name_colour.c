/* SPDX-License-Identifier: Apache-2.0 */
#include "present/name_colour.h"

#include <stdint.h>
#include <string.h>

unsigned name_colour(const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++) {
        size_t digits = strspn(c, "0123456789");
        if (digits && c[digits]) { /* they number what the name is a part of */
            c += digits - 1;
            continue;
        }
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    }
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    hash ^= hash >> 16;
    return hash % NAME_COLOURS;
}
