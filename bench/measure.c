/* Runs one program against a fresh mock server and measures both from outside.
 *
 *   bench_measure [--cpu N] [--mock PATH] [--mock-cpu N] [--record FILE] [--out FILE] [--seconds N]
 *                 -- PROGRAM …
 *
 * The program finds the server in OPENAI_BASE_URL; after N seconds (60) it is killed. One JSON line
 * comes out: exit status, wall time, CPU time and peak memory of the program (as wait4 tells them),
 * the time from the start to the first complete request at the server, and what the server itself
 * saw. The program's stdout goes to FILE, or nowhere. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct plan {
    const char *mock, *record, *out;
    int cpu, mock_cpu, seconds;
    char **program;
};

struct mock {
    pid_t pid;
    FILE *out;
    int port;
};

struct outcome {
    int status;
    uint64_t started_ns, ended_ns;
    struct rusage usage;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        die("sched_setaffinity");
}

static struct mock mock_start(const struct plan *p)
{
    struct mock m = { 0 };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || (m.pid = fork()) < 0)
        die("mock");
    if (m.pid == 0) {
        pin(p->mock_cpu);
        dup2(ends[1], STDOUT_FILENO);
        if (p->record)
            execl(p->mock, p->mock, "--record", p->record, (char *) NULL);
        else
            execl(p->mock, p->mock, (char *) NULL);
        die(p->mock);
    }
    close(ends[1]);
    m.out = fdopen(ends[0], "r");
    if (!m.out || fscanf(m.out, "%d", &m.port) != 1 || fgetc(m.out) != '\n') {
        fputs("measure: the mock server did not start\n", stderr);
        exit(1);
    }
    return m;
}

/* Ends the server and returns its line, without the braces. */
static void mock_stop(struct mock *m, char *line, size_t size)
{
    kill(m->pid, SIGTERM);
    if (!fgets(line, (int) size, m->out))
        snprintf(line, size, "{}\n");
    fclose(m->out);
    waitpid(m->pid, NULL, 0);
    memmove(line, line + 1, strlen(line));
    line[strcspn(line, "}")] = '\0';
}

static void become(const struct plan *p)
{
    int out = open(p->out ? p->out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out < 0)
        die(p->out ? p->out : "/dev/null");
    pin(p->cpu);
    dup2(out, STDOUT_FILENO);
    execvp(p->program[0], p->program);
    die(p->program[0]);
}

static struct outcome run(const struct plan *p)
{
    struct timespec limit = { .tv_sec = p->seconds };
    struct outcome o = { .started_ns = now_ns() };
    sigset_t ended, before;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        become(p);
    }
    if (sigtimedwait(&ended, NULL, &limit) < 0)
        kill(pid, SIGKILL);
    if (wait4(pid, &o.status, 0, &o.usage) < 0)
        die("wait4");
    o.ended_ns = now_ns();
    return o;
}

static uint64_t first_request(const struct outcome *o, const char *mock_line)
{
    const char *at = strstr(mock_line, "\"first_request_ns\":");
    uint64_t ns = at ? strtoull(at + 19, NULL, 10) : 0;
    return ns > o->started_ns ? (ns - o->started_ns) / 1000 : 0;
}

static uint64_t micros(struct timeval t)
{
    return (uint64_t) t.tv_sec * 1000000u + (uint64_t) t.tv_usec;
}

static void report(const struct outcome *o, const char *mock_line)
{
    printf("{\"exit\":%d,\"wall_us\":%llu,\"cpu\":%llu,\"rss_kb\":%ld,\"first_us\":%llu%s%s}\n",
        WIFEXITED(o->status) ? WEXITSTATUS(o->status) : 128 + WTERMSIG(o->status),
        (unsigned long long) (o->ended_ns - o->started_ns) / 1000,
        (unsigned long long) (micros(o->usage.ru_utime) + micros(o->usage.ru_stime)),
        o->usage.ru_maxrss, (unsigned long long) first_request(o, mock_line), *mock_line ? "," : "",
        mock_line);
}

static bool read_options(int argc, char **argv, struct plan *p)
{
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--cpu") == 0)
            p->cpu = atoi(value);
        else if (strcmp(name, "--mock-cpu") == 0)
            p->mock_cpu = atoi(value);
        else if (strcmp(name, "--mock") == 0)
            p->mock = value;
        else if (strcmp(name, "--record") == 0)
            p->record = value;
        else if (strcmp(name, "--out") == 0)
            p->out = value;
        else if (strcmp(name, "--seconds") == 0)
            p->seconds = atoi(value);
        else
            return false;
    }
    p->program = argv + i + 1;
    return i + 1 < argc;
}

/* Nothing of the caller's decides where the program goes. */
static void clean_environment(const char *url)
{
    unsetenv("OPENAI_API_KEY");
    unsetenv("HOCKET_MODEL");
    unsetenv("HOCKET_OFFLINE");
    setenv("NO_PROXY", "127.0.0.1", 1);
    setenv("OPENAI_BASE_URL", url, 1);
}

int main(int argc, char **argv)
{
    struct plan p = { .cpu = -1, .mock_cpu = -1, .seconds = 60 };
    struct mock m = { 0 };
    char url[64], line[1024] = "";
    if (!read_options(argc, argv, &p)) {
        fputs("usage: bench_measure [--cpu N] [--mock PATH] [--mock-cpu N] [--record FILE] "
              "[--out FILE] [--seconds N] -- PROGRAM [ARGUMENT…]\n",
            stderr);
        return 2;
    }
    if (p.mock) {
        m = mock_start(&p);
        snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", m.port);
        clean_environment(url);
    }
    struct outcome o = run(&p);
    if (p.mock)
        mock_stop(&m, line, sizeof(line));
    report(&o, line);
    return 0;
}
