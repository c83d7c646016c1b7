/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated chip can do, and how long its commands take. acme_x1.json has the same peaks for the reports. */
#ifndef CHIP_MODEL_H
#define CHIP_MODEL_H

#include <stdint.h>

#define CHIP_CORES 4u
#define CHIP_HZ 1200000000.0 /* what the data sheet says */
#define CHIP_DRIFT 37e-6     /* and how much faster this one's crystal is */
#define CHIP_TICKS_AT_START 5000000u
#define CHIP_FLOPS_PER_TICK 512.0 /* of one core's matrix unit: 614.4 GFLOP/s */
#define CHIP_VECTOR_PER_TICK 32.0 /* of one core's vector unit */
#define CHIP_DRAM_PER_TICK 50.0   /* bytes: 60 GB/s */
#define CHIP_DMA_PER_TICK 10.0    /* bytes over the host's bus: 12 GB/s */
#define CHIP_MATMUL_SHARE 0.5     /* of the peak that the vendor's matmul reaches */
#define CHIP_LAUNCH_TICKS 2400u   /* until the chip has heard of a command: 2 us */

#endif
