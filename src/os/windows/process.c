/* A program in a Job object: its limits hold for all processes that it starts, and closing the job ends them all, also when
 * this process is ended. It starts suspended, so that nothing of it runs outside of the job. There is no sandbox.
 *
 * Its input and output are pipes on the loop; a thread of the system waits for its end and wakes the loop. The process frees
 * itself when the loop has let go of the last of its handles. */
#include "os/process.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "os/errors.h"
#include "os/windows/wide.h"

#define PIECE 65536

enum { TO_PROGRAM, FROM_OUTPUT, FROM_ERRORS, N_PIPES };

struct hocket__process {
    const struct hocket_allocator *a;
    uv_loop_t *loop;
    const struct hocket__process_handler *handler;
    void *ud;
    uv_pipe_t pipes[N_PIPES];
    uv_async_t ended;
    int handles; /* that the loop still has */
    HANDLE process, job, waiting;
    size_t queued;   /* bytes that are written and not taken */
    bool last_input; /* and nothing after it */
    bool held, silent, over, stopped;
    struct hocket__launch_result result;
    void (*closed)(void *ud);
    void *closed_ud;
    char piece[PIECE];
};

/* ---- What it is started with ------------------------------------------------------------ */

/* Quoted as the C library of Windows reads a command line. */
static void add_quoted(struct hocket__buf *out, const char *word)
{
    size_t slashes = 0;
    hocket__buf_adds(out, out->len ? " \"" : "\"");
    for (; *word; word++) {
        if (*word == '"')
            for (size_t i = 0; i <= slashes; i++)
                hocket__buf_addc(out, '\\');
        slashes = *word == '\\' ? slashes + 1 : 0;
        hocket__buf_addc(out, *word);
    }
    while (slashes-- > 0)
        hocket__buf_addc(out, '\\');
    hocket__buf_addc(out, '"');
}

/* cmd.exe, whose command line is no list of quoted words: behind /c it reads the rest as it is, without the quotes around it. What it
 * prints itself is UTF-8 then. */
static const char *command_of(const struct hocket__launch *l)
{
    size_t n = strlen(l->argv[0]), i = 1;
    if (n < 7 || _stricmp(l->argv[0] + n - 7, "cmd.exe") != 0)
        return NULL;
    while (l->argv[i] && _stricmp(l->argv[i], "/c") != 0)
        i++;
    return l->argv[i] && l->argv[i + 1] && !l->argv[i + 2] ? l->argv[i + 1] : NULL;
}

static wchar_t *command_line(const struct hocket__launch *l)
{
    struct hocket__buf text;
    const char *command = command_of(l);
    hocket__buf_init(&text, &hocket__malloc, 0);
    for (const char *const *word = l->argv; *word && *word != command; word++)
        if (command && word != l->argv)
            hocket__buf_addf(&text, " %s", *word);
        else
            add_quoted(&text, *word);
    if (command)
        hocket__buf_addf(
            &text, " \"%%SystemRoot%%\\system32\\chcp.com 65001>nul 2>nul&%s\"", command);
    wchar_t *wide = text.status == 0 ? hocket__wide(text.data) : NULL;
    hocket__buf_deinit(&text);
    return wide;
}

static const char *value_of(const struct hocket__launch *l, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = l->env; v && *v; v++)
        if (_strnicmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

static bool add_variable(wchar_t **block, size_t *n, const wchar_t *text)
{
    size_t m = wcslen(text) + 1;
    wchar_t *more = realloc(*block, (*n + m + 1) * sizeof(*more));
    if (!more)
        return false;
    memcpy(more + *n, text, m * sizeof(*more));
    *n += m;
    more[*n] = 0;
    *block = more;
    return true;
}

/* Programs of Windows find its libraries, its shell and a place for files by these: they are no secret, and are passed on. */
static wchar_t *environment(const struct hocket__launch *l)
{
    static const char *const passed[] = { "SystemRoot", "ComSpec", "PATHEXT", "TEMP", "TMP" };
    wchar_t *block = NULL;
    size_t n = 0;
    bool good = true;
    for (size_t i = 0; good && i < sizeof(passed) / sizeof(passed[0]); i++) {
        wchar_t text[400], value[300];
        swprintf(text, 20, L"%hs", passed[i]);
        DWORD m = GetEnvironmentVariableW(text, value, 300);
        if (m == 0 || m >= 300 || value_of(l, passed[i]))
            continue;
        swprintf(text, 400, L"%hs=%ls", passed[i], value);
        good = add_variable(&block, &n, text);
    }
    for (const char *const *v = l->env; good && v && *v; v++) {
        wchar_t *wide = hocket__wide(*v);
        good = wide && add_variable(&block, &n, wide);
        free(wide);
    }
    if (good && n == 0)
        good = (block = calloc(2, sizeof(*block))) != NULL;
    if (!good)
        free(block);
    return good ? block : NULL;
}

/* The file that argv[0] stands for, by the PATH of the program's own environment. */
static wchar_t *find_program(const struct hocket__launch *l)
{
    const char *path = value_of(l, "PATH");
    wchar_t *name = hocket__wide(l->argv[0]), *places = path ? hocket__wide(path) : NULL;
    wchar_t *found = NULL;
    DWORD n = name ? SearchPathW(places ? places : L"", name, L".exe", 0, NULL, NULL) : 0;
    if (n > 0 && (found = malloc(((size_t) n + 1) * sizeof(*found))))
        SearchPathW(places ? places : L"", name, L".exe", n + 1, found, NULL);
    free(name);
    free(places);
    return found;
}

/* cmd.exe reads the arguments of a batch file in its own way, which no quoting holds against. */
static bool is_batch(const wchar_t *program)
{
    size_t n = wcslen(program);
    return n > 4
           && (_wcsicmp(program + n - 4, L".bat") == 0 || _wcsicmp(program + n - 4, L".cmd") == 0);
}

/* ---- Its end ------------------------------------------------------------------------------- */

static void free_process(struct hocket__process *p)
{
    if (p->waiting)
        UnregisterWaitEx(p->waiting, INVALID_HANDLE_VALUE);
    if (p->process)
        CloseHandle(p->process);
    if (p->job)
        CloseHandle(p->job);
    hocket__free(p->a, p, sizeof(*p));
}

static void on_handle_closed(uv_handle_t *h)
{
    struct hocket__process *p = h->data;
    if (--p->handles > 0)
        return;
    if (!p->silent)
        p->handler->on_exit(p->ud, &p->result);
    else if (p->closed)
        p->closed(p->closed_ud);
    free_process(p);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_handle_closed);
}

/* Called by a thread of the system. */
static void CALLBACK on_signalled(void *ud, BOOLEAN timed_out)
{
    struct hocket__process *p = ud;
    (void) timed_out;
    uv_async_send(&p->ended);
}

static void count(struct hocket__process *p)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION used = { 0 };
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION most = { 0 };
    QueryInformationJobObject(
        p->job, JobObjectBasicAccountingInformation, &used, sizeof(used), NULL);
    QueryInformationJobObject(p->job, JobObjectExtendedLimitInformation, &most, sizeof(most), NULL);
    p->result.left_behind = used.ActiveProcesses;
    p->result.cpu_ms = (used.TotalUserTime.QuadPart + used.TotalKernelTime.QuadPart) / 10000;
    p->result.max_rss = (int64_t) most.PeakProcessMemoryUsed;
}

static void on_ended(uv_async_t *async)
{
    struct hocket__process *p = async->data;
    DWORD code = 0;
    if (p->over || WaitForSingleObject(p->process, 0) != WAIT_OBJECT_0)
        return;
    p->over = true;
    GetExitCodeProcess(p->process, &code);
    count(p);
    p->result.started = true;
    p->result.code = p->stopped ? -1 : (int) code;
    p->result.signal = p->stopped ? 15 : 0;
    TerminateJobObject(p->job, 1); /* their ends of the pipes go, and reading comes to its end */
    close_handle(&p->pipes[TO_PROGRAM]);
    close_handle(&p->ended);
    if (p->held)
        hocket__process_hold(p, false);
}

/* ---- Input and output -------------------------------------------------------------------------- */

static void on_room(uv_handle_t *h, size_t wanted, uv_buf_t *buf)
{
    struct hocket__process *p = h->data;
    (void) wanted;
    *buf = uv_buf_init(p->piece, sizeof(p->piece));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct hocket__process *p = s->data;
    if (n < 0)
        close_handle(s);
    else if (n > 0 && !p->silent)
        p->handler->on_output(
            p->ud, s == (uv_stream_t *) &p->pipes[FROM_OUTPUT] ? 1 : 2, buf->base, (size_t) n);
}

struct piece {
    uv_write_t request; /* first */
    struct hocket__process *p;
    size_t n;
    char bytes[];
};

static void on_written(uv_write_t *request, int status)
{
    struct piece *w = (struct piece *) request;
    struct hocket__process *p = w->p;
    p->queued -= w->n;
    hocket__free(p->a, w, sizeof(*w) + w->n);
    if (p->silent)
        return;
    if (p->queued == 0 && p->last_input)
        close_handle(&p->pipes[TO_PROGRAM]);
    if ((p->queued == 0 || status < 0) && p->handler->on_taken)
        p->handler->on_taken(p->ud);
}

int hocket__process_write(struct hocket__process *p, struct hocket__str text)
{
    if (p->last_input || uv_is_closing((uv_handle_t *) &p->pipes[TO_PROGRAM]))
        return HOCKET_ECLOSED;
    if (p->queued + text.n > HOCKET__PROCESS_WAITING)
        return HOCKET_ELIMIT;
    struct piece *w = text.n ? hocket__zero(p->a, sizeof(*w) + text.n) : NULL;
    if (!w)
        return text.n ? HOCKET_ENOMEM : 0;
    w->p = p;
    w->n = text.n;
    memcpy(w->bytes, text.p, text.n);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned) w->n);
    p->queued += w->n;
    if (uv_write(&w->request, (uv_stream_t *) &p->pipes[TO_PROGRAM], &buf, 1, on_written) == 0)
        return 0;
    p->queued -= w->n;
    hocket__free(p->a, w, sizeof(*w) + w->n);
    return HOCKET_ECLOSED;
}

size_t hocket__process_waiting(const struct hocket__process *p)
{
    return p->queued;
}

void hocket__process_end_input(struct hocket__process *p)
{
    p->last_input = true;
    if (p->queued == 0)
        close_handle(&p->pipes[TO_PROGRAM]);
}

void hocket__process_hold(struct hocket__process *p, bool held)
{
    uv_stream_t *out = (uv_stream_t *) &p->pipes[FROM_OUTPUT];
    p->held = held;
    if (uv_is_closing((uv_handle_t *) out))
        return;
    if (held)
        uv_read_stop(out);
    else
        uv_read_start(out, on_room, on_read);
}

/* Windows has no signal that asks a program to end. */
void hocket__process_stop(struct hocket__process *p)
{
    p->stopped = true;
    TerminateJobObject(p->job, 1);
}

void hocket__process_close(struct hocket__process *p, void (*closed)(void *ud), void *ud)
{
    p->silent = true;
    p->closed = closed;
    p->closed_ud = ud;
    TerminateJobObject(p->job, 1);
    for (int i = 0; i < N_PIPES; i++)
        close_handle(&p->pipes[i]);
    close_handle(&p->ended);
}

/* ---- Starting ------------------------------------------------------------------------------ */

static HANDLE make_job(const struct hocket__launch_limits *most)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = { 0 };
    HANDLE job = CreateJobObjectW(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
    if (most->memory > 0) {
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
        limits.JobMemoryLimit = (SIZE_T) most->memory;
    }
    if (most->processes > 0) {
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
        limits.BasicLimitInformation.ActiveProcessLimit = (DWORD) most->processes;
    }
    if (most->cpu_s > 0) {
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
        limits.BasicLimitInformation.PerProcessUserTimeLimit.QuadPart = most->cpu_s * 10000000;
    }
    if (job
        && SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits)))
        return job;
    hocket__win_failed();
    if (job)
        CloseHandle(job);
    return NULL;
}

/* The program gets these three handles and no other one of this process. */
static bool create(struct hocket__process *p, const struct hocket__launch *l, HANDLE *stdio,
    wchar_t *program, wchar_t *line, wchar_t *env, wchar_t *cwd)
{
    STARTUPINFOEXW start = { .StartupInfo = {
                                 .cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES } };
    PROCESS_INFORMATION made;
    SIZE_T size = 0;
    (void) l;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    start.lpAttributeList = malloc(size);
    start.StartupInfo.hStdInput = stdio[TO_PROGRAM];
    start.StartupInfo.hStdOutput = stdio[FROM_OUTPUT];
    start.StartupInfo.hStdError = stdio[FROM_ERRORS];
    bool done = start.lpAttributeList
                && InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size)
                && UpdateProcThreadAttribute(start.lpAttributeList, 0,
                    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, stdio, N_PIPES * sizeof(*stdio), NULL, NULL)
                && CreateProcessW(program, line, NULL, NULL, TRUE,
                    CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | CREATE_NO_WINDOW
                        | EXTENDED_STARTUPINFO_PRESENT,
                    env, cwd, &start.StartupInfo, &made);
    if (!done)
        hocket__win_failed();
    free(start.lpAttributeList);
    if (!done)
        return false;
    p->process = made.hProcess;
    done = AssignProcessToJobObject(p->job, made.hProcess)
           && RegisterWaitForSingleObject(&p->waiting, made.hProcess, on_signalled, p, INFINITE,
               WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD);
    if (done) {
        ResumeThread(made.hThread);
    } else {
        hocket__win_failed();
        TerminateProcess(made.hProcess, 1);
    }
    CloseHandle(made.hThread);
    return done;
}

/* Why it is not started; NULL: it may be. cmd.exe reads no further than a line, and starts in Windows' own folder if it
 * cannot use the one that it was given. */
static const char *refusal(
    const struct hocket__launch *l, const wchar_t *program, const wchar_t *cwd)
{
    const char *command = command_of(l);
    if (!program)
        return "there is no such program";
    if (is_batch(program))
        return "a batch file: name cmd.exe and give it the file";
    if (command && strpbrk(command, "\r\n"))
        return "it takes one line: join commands with &&";
    if (command && cwd && wcsncmp(cwd, L"\\\\", 2) == 0)
        return "it does not start in a folder of a share";
    if (cwd && wcslen(cwd) > MAX_PATH - 3)
        return "the path of its folder is too long";
    return NULL;
}

static bool launch(
    struct hocket__process *p, const struct hocket__launch *l, HANDLE *stdio, const char **refused)
{
    wchar_t *program = find_program(l), *line = command_line(l), *env = environment(l);
    wchar_t *cwd = l->cwd && *l->cwd ? hocket__wide(l->cwd) : NULL;
    for (wchar_t *c = cwd; c && *c; c++)
        if (*c == L'/')
            *c = L'\\';
    bool done = false;
    errno = ENOMEM;
    if ((*refused = refusal(l, program, cwd)))
        errno = program ? EPERM : ENOENT;
    else if (line && env)
        done = create(p, l, stdio, program, line, env, cwd);
    free(program);
    free(line);
    free(env);
    free(cwd);
    return done;
}

/* Both ends of three pipes: the loop's in p->pipes, the program's in `stdio`. */
static bool open_pipes(struct hocket__process *p, HANDLE *stdio)
{
    for (int i = 0; i < N_PIPES; i++) {
        uv_file ends[2];
        int mine = i == TO_PROGRAM ? 1 : 0;
        uv_pipe_init(p->loop, &p->pipes[i], 0);
        p->pipes[i].data = p;
        p->handles++;
        if (uv_pipe(ends, i == TO_PROGRAM ? 0 : UV_NONBLOCK_PIPE,
                i == TO_PROGRAM ? UV_NONBLOCK_PIPE : 0)
            < 0)
            return false;
        HANDLE self = GetCurrentProcess();
        bool good = DuplicateHandle(
            self, hocket__win_handle(ends[!mine]), self, &stdio[i], 0, TRUE, DUPLICATE_SAME_ACCESS);
        _close(ends[!mine]);
        if (uv_pipe_open(&p->pipes[i], ends[mine]) < 0) {
            _close(ends[mine]);
            return false;
        }
        if (!good)
            return false;
    }
    return true;
}

static int begin(
    struct hocket__process *p, const struct hocket__process_spec *spec, struct hocket_error *err)
{
    HANDLE stdio[N_PIPES] = { NULL, NULL, NULL };
    const char *refused = NULL;
    errno = EMFILE;
    bool started = open_pipes(p, stdio) && (p->job = make_job(&spec->launch.limits))
                   && launch(p, &spec->launch, stdio, &refused);
    int code = errno;
    for (int i = 0; i < N_PIPES; i++)
        if (stdio[i])
            CloseHandle(stdio[i]);
    if (started)
        return 0;
    return hocket__error(err, hocket__errno_status(code), "cannot start %s: %s",
        spec->launch.argv[0], refused ? refused : strerror(code));
}

static int check(const struct hocket__launch *l, struct hocket_error *err)
{
    if (l->sandbox != HOCKET__SANDBOX_LIMITS)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "the sandbox level %s: hocket does not have it on Windows, where programs have limits "
            "alone, and each asks",
            hocket__sandbox_name(l->sandbox));
    if (l->proxied)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "a network of named hosts: hocket does not have it on Windows");
    return 0;
}

int hocket__process_start(uv_loop_t *loop, const struct hocket_allocator *a,
    const struct hocket__process_spec *spec, const struct hocket__process_handler *handler,
    void *ud, struct hocket__process **out, struct hocket_error *err)
{
    int rc = check(&spec->launch, err);
    struct hocket__process *p = rc < 0 ? NULL : hocket__zero(a, sizeof(*p));
    if (!p)
        return rc < 0 ? rc : hocket__error_nomem(err);
    p->a = a;
    p->loop = loop;
    p->handler = handler;
    p->ud = ud;
    p->ended.data = p;
    if (uv_async_init(loop, &p->ended, on_ended) < 0) {
        hocket__free(a, p, sizeof(*p));
        return hocket__error_nomem(err);
    }
    p->handles = 1;
    rc = begin(p, spec, err);
    if (rc < 0) {
        p->silent = true;
        for (int i = 0; i < p->handles - 1; i++)
            close_handle(&p->pipes[i]);
        close_handle(&p->ended);
        return rc;
    }
    uv_read_start((uv_stream_t *) &p->pipes[FROM_OUTPUT], on_room, on_read);
    uv_read_start((uv_stream_t *) &p->pipes[FROM_ERRORS], on_room, on_read);
    if (hocket__process_write(p, spec->input) < 0 || !spec->talks)
        hocket__process_end_input(p);
    *out = p;
    return 0;
}
