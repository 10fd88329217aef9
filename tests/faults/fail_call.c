/* Runs a program in which the n-th system call of one kind fails.
 *
 *   fail_call CALL N HOW ROLE REPORT PROGRAM ARGUMENT...
 *
 * CALL is a name of the table below. N counts from 1; "3+" is the third and every later one, "0" none. HOW is
 * the error number, or 0 for half as many bytes as were asked for. Counted are the calls of all processes
 * whose first argument is ROLE
 * ("tune", "runner"), from their entry point on: what the dynamic loader does is not theirs. REPORT becomes
 * one line: how many calls there were, how many of them failed, and the first argument of the first that did.
 * Ends as the program ended, when every process that it started has; 128 and more is a signal. A program that
 * cannot be traced ends with 125. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#    error "registers are those of x86-64"
#endif

enum { CALLS_MAX = 6, TASKS_MAX = 4096, UNTRACEABLE = 125 };

static const struct kind {
    const char *name;
    int calls[CALLS_MAX]; /* 0 at the end, so read stands first */
} kinds[] = {
    {"read", {SYS_read, SYS_pread64, SYS_readv}},
    {"write", {SYS_write, SYS_pwrite64, SYS_writev}},
    {"sync", {SYS_fsync, SYS_fdatasync}},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2}},
    {"open", {SYS_open, SYS_openat}},
    {"stat", {SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx}},
    {"folder", {SYS_getdents64}},
    {"seek", {SYS_lseek}},
    {"lock", {SYS_fcntl, SYS_flock}},
    {"resize", {SYS_ftruncate, SYS_fallocate}},
    {"mkdir", {SYS_mkdir, SYS_mkdirat}},
    {"unlink", {SYS_unlink, SYS_unlinkat, SYS_rmdir}},
    {"thread", {SYS_clone3}},
    {"fork", {SYS_clone, SYS_fork, SYS_vfork}},
    {"exec", {SYS_execve}},
    {"pipe", {SYS_pipe, SYS_pipe2}},
    {"poll", {SYS_poll, SYS_ppoll}},
    {"map", {SYS_mmap}},
    {"random", {SYS_getrandom}},
};

/* A thread under trace. */
struct task {
    pid_t id;
    bool counted, loading; /* loading: the program has not come to its entry point */
    unsigned long entry;
    long instruction; /* at the entry point, where a breakpoint stands */
};

static struct task tasks[TASKS_MAX];
static size_t task_count;
static const char *role;
static unsigned long first_failing, calls_seen, calls_failed, first_argument;
static bool and_later;
static int how;

static bool has_role(pid_t id)
{
    char path[64], words[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0) close(fd);
    size_t first = strlen(words) + 1;
    return got > (ssize_t)first && strcmp(words + first, role) == 0;
}

static struct task *task_find(pid_t id, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].id == id) return &tasks[i];
    if (task_count == TASKS_MAX) exit(UNTRACEABLE);
    *is_new = true;
    tasks[task_count] = (struct task){.id = id, .counted = has_role(id)};
    return &tasks[task_count++];
}

static unsigned long entry_find(pid_t id)
{
    char path[64];
    Elf64_auxv_t pair = {0};
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)id);
    FILE *file = fopen(path, "re");
    while (file && fread(&pair, sizeof pair, 1, file) == 1 && pair.a_type != AT_ENTRY) continue;
    if (file) fclose(file);
    return pair.a_type == AT_ENTRY ? pair.a_un.a_val : 0;
}

static void program_begins(struct task *task)
{
    task->counted = has_role(task->id);
    task->loading = task->counted && (task->entry = entry_find(task->id));
    if (!task->loading) return;
    task->instruction = ptrace(PTRACE_PEEKTEXT, task->id, task->entry, 0);
    ptrace(PTRACE_POKETEXT, task->id, task->entry, (task->instruction & ~0xffL) | 0xcc);
}

static void entry_reached(struct task *task)
{
    struct user_regs_struct registers;
    task->loading = false;
    ptrace(PTRACE_POKETEXT, task->id, task->entry, task->instruction);
    ptrace(PTRACE_GETREGS, task->id, 0, &registers);
    registers.rip = task->entry;
    ptrace(PTRACE_SETREGS, task->id, 0, &registers);
}

/* Mapping a file is no allocation, and nothing refuses to unlock. */
static bool call_counts(pid_t id, const struct user_regs_struct *registers)
{
    if (registers->orig_rax == SYS_mmap) return registers->r10 & MAP_ANONYMOUS;
    if (registers->orig_rax == SYS_flock) return !(registers->rsi & LOCK_UN);
    if (registers->orig_rax != SYS_fcntl) return true;
    if (registers->rsi != F_SETLK && registers->rsi != F_SETLKW) return false;
    return (short)ptrace(PTRACE_PEEKDATA, id, registers->rdx, 0) != F_UNLCK; /* l_type is the first member */
}

static void call_begins(const struct task *task)
{
    struct user_regs_struct registers;
    if (!task->counted || task->loading) return;
    ptrace(PTRACE_GETREGS, task->id, 0, &registers);
    if (!call_counts(task->id, &registers)) return;
    unsigned long number = ++calls_seen;
    if (!first_failing || number < first_failing || (number > first_failing && !and_later)) return;
    if (!calls_failed++) first_argument = registers.rdi;
    if (how) {
        registers.orig_rax = (unsigned long long)-1;
        registers.rax = (unsigned long long)-how;
    } else if (registers.rdx > 1) {
        registers.rdx /= 2;
    }
    ptrace(PTRACE_SETREGS, task->id, 0, &registers);
}

/* The signal to go on with. */
static int stop_handle(pid_t id, int status)
{
    bool is_new;
    struct task *task = task_find(id, &is_new);
    int number = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_SECCOMP) call_begins(task);
    if (event == PTRACE_EVENT_EXEC) program_begins(task);
    if (event || (is_new && number == SIGSTOP)) return 0;
    if (number != SIGTRAP || !task->loading) return number;
    entry_reached(task);
    return 0;
}

static void run_program(const struct kind *kind, char **words)
{
    struct sock_filter code[2 * CALLS_MAX + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short used = 1;
    for (int i = 0; i < CALLS_MAX && (i == 0 || kind->calls[i]); i++) {
        code[used++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kind->calls[i], 0, 1);
        code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {used, code};
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(UNTRACEABLE);
    raise(SIGSTOP);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(UNTRACEABLE);
    execv(words[0], words);
    _exit(UNTRACEABLE);
}

static int trace(pid_t program)
{
    const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int status, code = UNTRACEABLE;
    pid_t id;
    if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return code;
    if (ptrace(PTRACE_SETOPTIONS, program, 0, options) != 0) return code;
    bool is_new;
    task_find(program, &is_new);
    ptrace(PTRACE_CONT, program, 0, 0);
    while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (id > 0 && WIFSTOPPED(status))
            ptrace(PTRACE_CONT, id, 0, stop_handle(id, status));
        else if (id == program)
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 7) return UNTRACEABLE;
    const struct kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) kind = &kinds[i];
    char *end;
    first_failing = strtoul(argv[2], &end, 10);
    and_later = *end == '+';
    how = atoi(argv[3]);
    role = argv[4];
    if (!kind) return UNTRACEABLE;
    pid_t program = fork();
    if (program == 0) run_program(kind, argv + 6);
    int code = trace(program);
    FILE *report = fopen(argv[5], "we");
    if (!report || fprintf(report, "%lu %lu %lu\n", calls_seen, calls_failed, first_argument) < 0 ||
        fclose(report) != 0)
        return UNTRACEABLE;
    return code;
}
