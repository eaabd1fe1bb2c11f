/* A game without a window: a program of the subsystem "windows", which has no console.
 *   engine FOLDER [MS]
 * Its agent is FOLDER\\smith.md, its store FOLDER\\runs.db, by the name that Windows gives it; on a share it has none. It resumes the run that an earlier
 * one left behind (FOLDER\\name), or starts one. The agent's tool adds a line to FOLDER\\done for each call, and the answer
 * goes to FOLDER\\answer. After MS milliseconds it ends itself by TerminateProcess. */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static char folder[4096], name[4200];

static const char *in_folder(const char *file)
{
    snprintf(name, sizeof(name), "%s\\%s", folder, file);
    return name;
}

static FILE *open_in_folder(const char *file, const wchar_t *mode)
{
    wchar_t wide[4210] = L"\\\\?\\"; /* of any length; a share has its own mark */
    MultiByteToWideChar(CP_UTF8, 0, in_folder(file), -1, wide + 4, 4200);
    return _wfopen(folder[0] == '\\' ? wide + 4 : wide, mode);
}

static void append(const char *file, const char *text)
{
    FILE *f = open_in_folder(file, L"ab");
    if (!f)
        exit(3);
    fprintf(f, "%s\n", text);
    fclose(f);
}

static void on_call(hocket_host *host, const struct hocket_tool_call *call, void *ud)
{
    (void) ud;
    append("done", call->args);
    hocket_tool_answer(host, call->id, 0, "kept", 4);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    if (result->status
        == HOCKET_ENOTFOUND) { /* it was ended before it was stored: it did nothing */
        fclose(open_in_folder("name", L"wb"));
        *(int *) ud = 5;
        return;
    }
    *(int *) ud = result->error ? 1 : 0;
    append("answer", result->error ? result->error->message : result->text);
}

static DWORD WINAPI terminate(void *ms)
{
    Sleep((DWORD) (uintptr_t) ms);
    TerminateProcess(GetCurrentProcess(), 9);
    return 0;
}

/* Of the run that an earlier process has begun; its options come from this one. */
static int resume(hocket_host *host, int *status, struct hocket_error *error)
{
    char run[80] = "";
    FILE *f = open_in_folder("name", L"rb");
    if (f && fgets(run, sizeof(run), f))
        run[strcspn(run, "\n")] = 0;
    if (f)
        fclose(f);
    return run[0] ? hocket_run_resume(
               host, run, "{\"approve\":\"allow\"}", NULL, NULL, on_done, status, error)
                  : HOCKET_ENOTFOUND;
}

static int start(hocket_host *host, int *status, struct hocket_error *error)
{
    uint64_t id;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = in_folder("smith.md"),
        .input = "Count.",
        .options = "{\"simulate\":true,\"approve\":\"allow\"}" };
    int rc = hocket_run_start(host, &spec, &id, NULL, on_done, status, error);
    if (rc == 0)
        append("name", hocket_run_name(host, id));
    return rc;
}

static int play(hocket_host *host)
{
    struct hocket_error error = { 0 };
    int status = -1;
    struct hocket_tool_spec tool = { .size = sizeof(tool),
        .name = "count",
        .description = "Counts.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}" };
    int rc = hocket_tool_add(host, &tool, on_call, NULL, NULL, &error);
    if (rc == 0 && (rc = resume(host, &status, &error)) == HOCKET_ENOTFOUND)
        rc = start(host, &status, &error);
    if (rc < 0) {
        append("answer", error.message);
        return 2;
    }
    while (status < 0) { /* frames */
        hocket_pump(host, 1000);
        Sleep(1);
    }
    return status;
}

int WINAPI WinMain(HINSTANCE instance, HINSTANCE before, LPSTR line, int show)
{
    (void) instance, (void) before, (void) line, (void) show;
    struct hocket_options options;
    struct hocket_error error;
    hocket_host *host;
    int argc, code;
    wchar_t **argv = CommandLineToArgvW(GetCommandLineW(), &argc);
    if (!argv || argc < 2)
        return 2;
    WideCharToMultiByte(CP_UTF8, 0, argv[1], -1, folder, sizeof(folder), NULL, NULL);
    if (argc > 2)
        CreateThread(NULL, 0, terminate, (void *) (uintptr_t) _wtoi(argv[2]), 0, NULL);
    hocket_options_init(&options, sizeof(options));
    if (folder[0] != '\\') /* a share can have none */
        options.store = in_folder("runs.db");
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0) {
        append("answer", error.message);
        return 2;
    }
    code = play(host);
    hocket_close(host, NULL, NULL);
    return code;
}
