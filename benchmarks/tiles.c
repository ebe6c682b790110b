/*
 * Lets bfloat16 run on a virtual machine that hides CPUID leaf 1D.
 *
 * Such a machine announces matrix tiles (AMX), and they work, but without that leaf oneDNN cannot tell how large
 * they are, configures none, and dies at the first instruction. Loaded before a program, this makes the kernel
 * trap the CPUID instruction and answers the leaf as every processor with AMX does; all other answers are the
 * processor's own. Linux on x86-64 only, and only for measuring: see benchmarks/README.md.
 *
 *     gcc -O1 -shared -fPIC -o tiles.so benchmarks/tiles.c
 *     LD_PRELOAD=./tiles.so python -m benchmarks.cpu_throughput
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, TILE_LEAF = 0x1d, PRODUCT_LEAF = 0x1e };

static void allow_cpuid(int allowed) { syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed); }

static void answer(int signal_number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *instruction = (const uint8_t *)registers[REG_RIP];
    if (instruction[0] != 0x0f || instruction[1] != 0xa2) {
        /* Not CPUID: a true fault, which is raised again and ends the program. */
        signal(SIGSEGV, SIG_DFL);
        return;
    }
    uint32_t leaf = registers[REG_RAX], part = registers[REG_RCX];
    uint32_t a = leaf, b = 0, c = part, d = 0;
    allow_cpuid(1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    allow_cpuid(0);
    if (leaf == 0 && a < PRODUCT_LEAF) {
        a = PRODUCT_LEAF;
    } else if (leaf == TILE_LEAF) {
        /* One palette: 8 kB in 8 tiles of 1 kB, each of 16 rows of 64 bytes. */
        a = part == 0 ? 1 : part == 1 ? (1024u << 16 | 8192u) : 0;
        b = part == 1 ? (8u << 16 | 64u) : 0;
        c = part == 1 ? 16 : 0;
        d = 0;
    } else if (leaf == PRODUCT_LEAF) {
        a = c = d = 0;
        b = 64u << 8 | 16u;
    }
    registers[REG_RAX] = a;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    allow_cpuid(0);
}
