/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an ops CSV for the report's benchmark to stdout: bench_ops_csv ROWS [own]. 98 columns, about 1,500 bytes a
 * row, ops of a transformer block in turn, as a long run of one model leaves them; with "own" every op has an attribute
 * that no other has. Made from arithmetic alone: the same number gives the same file. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 98

struct op {
    const char *name, *fidelity, *attributes;
    unsigned m, k, n, cores, duration_ns;
};

static const struct op ops[] = {
    {"LayerNormDeviceOperation", "HiFi4", "{'eps': '1e-05'; 'norm_type': 'LayerNormType::RMSNORM'}", 32, 4096,
     0, 32, 21000},
    {"MatmulDeviceOperation", "HiFi2",
     "{'bcast_batch': '1'; 'program_config': 'MatmulMultiCoreReuseMultiCast1DProgramConfig("
     "compute_with_storage_grid_size=(x=8;y=8);in0_block_w=4;out_subblock_h=1;out_subblock_w=4;"
     "per_core_M=1;per_core_N=6;fuse_batch=1;mcast_in0=1)'}",
     32, 4096, 12288, 64, 190000},
    {"NlpCreateHeadsDeviceOperation", "", "{'num_q_heads': '32'; 'num_kv_heads': '8'}", 32, 6144, 0, 32,
     4000},
    {"RotaryEmbeddingLlamaDeviceOperation", "HiFi4", "{'is_decode_mode': 'true'}", 32, 4096, 0, 32, 5000},
    {"ScaledDotProductAttentionDecode", "HiFi2", "{'is_causal': 'true'; 'scale': '0.08'}", 32, 4096, 1024, 64,
     48000},
    {"MatmulDeviceOperation", "HiFi2", "{'program_config': 'std::nullopt'}", 32, 4096, 4096, 64, 90000},
    {"BinaryNgDeviceOperation", "", "{'binary_op_type': 'BinaryOpType::ADD'}", 32, 4096, 0, 64, 2500},
    {"MatmulDeviceOperation", "LoFi", "{'program_config': 'std::nullopt'}", 32, 4096, 14336, 64, 210000},
    {"UnaryDeviceOperation", "", "{'op_chain': '{UnaryWithParam(op_type=UnaryOpType::SILU)}'}", 32, 14336, 0,
     64, 6000},
    {"AllGatherAsyncDeviceOperation", "", "{'num_links': '1'; 'topology': 'Topology::Ring'}", 32, 4096, 0, 8,
     25000},
};
#define OPS (sizeof ops / sizeof ops[0])

static const char *const head[] = {
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE ID",
    "DEVICE ARCH",
    "ATTRIBUTES",
    "MATH FIDELITY",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
    "PARALLELIZATION STRATEGY",
    "HOST START TS",
    "HOST END TS",
    "HOST DURATION [ns]",
    "DEVICE FW START CYCLE",
    "DEVICE FW END CYCLE",
    "OP TO OP LATENCY [ns]",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
    "DEVICE KERNEL DURATION PER CORE MIN [ns]",
    "DEVICE KERNEL DURATION PER CORE MAX [ns]",
    "DEVICE KERNEL DURATION PER CORE AVG [ns]",
    "DEVICE BRISC KERNEL DURATION [ns]",
    "DEVICE NCRISC KERNEL DURATION [ns]",
    "DEVICE TRISC0 KERNEL DURATION [ns]",
    "DEVICE TRISC1 KERNEL DURATION [ns]",
    "DEVICE TRISC2 KERNEL DURATION [ns]",
};
#define HEAD (sizeof head / sizeof head[0])

static void write_header(void)
{
    size_t written = 0;
    for (size_t i = 0; i < HEAD; i++)
        printf("%s%s", written++ ? "," : "", head[i]);
    for (unsigned tensor = 0; tensor < 4; tensor++) {
        char name[16];
        if (tensor < 3)
            snprintf(name, sizeof name, "INPUT_%u", tensor);
        else
            snprintf(name, sizeof name, "OUTPUT_0");
        printf(
            ",%s_W_PAD[LOGICAL],%s_Z_PAD[LOGICAL],%s_Y_PAD[LOGICAL],%s_X_PAD[LOGICAL],%s_LAYOUT,%s_DATATYPE,%s_MEMORY",
            name, name, name, name, name, name, name);
        written += 7;
    }
    printf(
        ",COMPUTE KERNEL SOURCE,COMPUTE KERNEL HASH,DATA MOVEMENT KERNEL SOURCE,DATA MOVEMENT KERNEL HASH");
    written += 4;
    for (unsigned i = 0; written < COLUMNS; i++, written++)
        printf(",EXTRA METRIC %u", i);
    printf("\n");
}

static void write_tensor(unsigned y, unsigned x, const char *type)
{
    if (x)
        printf(",1[1],1[1],%u[%u],%u[%u],TILE,%s,DEV_0_DRAM_INTERLEAVED", y, y, x, x, type);
    else
        printf(",,,,,,,");
}

static void write_row(uint64_t i, bool is_own)
{
    static const char sources[] = "ttnn/cpp/ttnn/operations/kernels/compute/block_large_fused.cpp; "
                                  "ttnn/cpp/ttnn/operations/kernels/compute/transpose_tiles.cpp";
    static const char movers[] =
        "ttnn/cpp/ttnn/operations/kernels/dataflow/reader_in0_sender_padding.cpp; "
        "ttnn/cpp/ttnn/operations/kernels/dataflow/reader_in1_sender_writer_padding.cpp; "
        "ttnn/cpp/ttnn/operations/kernels/dataflow/reader_in1_receiver_writer_padding.cpp";
    static const char config[] =
        " | {'compute_kernel_config': 'WormholeComputeKernelConfig(math_fidelity=HiFi2;math_approx_"
        "mode=0;fp32_dest_acc_en=1;packer_l1_acc=1;dst_full_sync_en=0)'; 'output_mem_config': "
        "'MemoryConfig(memory_layout=INTERLEAVED;buffer_type=DRAM)'}";
    const struct op *op = &ops[i % OPS];
    uint64_t duration = op->duration_ns + i * 2654435761u % (op->duration_ns / 8);
    uint64_t start = UINT64_C(100000000000) + i * 260000, gap = 600 + i * 40503u % 900;
    char own[64] = "";
    if (is_own)
        snprintf(own, sizeof own, " | {'position': '%" PRIu64 "'}", i);
    printf("%s,tt_dnn_device,%" PRIu64 ",0,wormhole_b0,%s%s%s,%s,%u,64,MULTI_CORE,%" PRIu64 ",%" PRIu64 ",%u",
           op->name, (i + 1) * 1024, op->attributes, config, own, op->fidelity, op->cores, start,
           start + 31000, 31000u);
    printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, start, start + duration + 400, gap,
           duration + 400, duration);
    for (unsigned k = 18; k < HEAD; k++)
        printf(",%" PRIu64, duration - k * 13);
    write_tensor(op->m, op->k, "BFLOAT16");
    write_tensor(op->k, op->n, "BFLOAT8_B");
    write_tensor(0, 0, "");
    write_tensor(op->m, op->n ? op->n : op->k, "BFLOAT16");
    printf(",%s,block_large/%" PRIu64 "; transpose/12345678901234567890,%s,reader/%" PRIu64
           "; writer/98765432109876543210",
           sources, i % OPS * 1000003, movers, i % OPS * 7919);
    for (size_t k = HEAD + 4 * 7 + 4; k < COLUMNS; k++)
        printf(",%" PRIu64 ".%03u", duration * k % 100000, (unsigned)(i % 997));
    printf("\n");
}

int main(int argc, char **argv)
{
    bool is_own = argc > 2 && strcmp(argv[2], "own") == 0;
    uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    static char buffer[1 << 20];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    write_header();
    for (uint64_t i = 0; i < rows; i++)
        write_row(i, is_own);
    return fflush(stdout) != 0;
}
