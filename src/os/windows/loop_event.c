/* A loop's packets come over a completion port, which no program can wait for together with its own handles. So a thread
 * takes the first packet, puts it back for the loop, and sets an event. Then it rests until the loop has turned: it never
 * competes with a program that pumps all the time. libuv ignores packets without an OVERLAPPED, by which the thread is stopped. */
#include "os/loop_event.h"

#include <stdbool.h>
#include <stdlib.h>

struct hocket__loop_event {
    HANDLE port, event, armed, thread;
    volatile LONG stopped;
};

static bool is_stopped(struct hocket__loop_event *e)
{
    return InterlockedCompareExchange(&e->stopped, 0, 0) != 0;
}

/* Waits for a packet, and gives it back. A failed operation is a packet as well. False: the port is closed. */
static bool wait_for_packet(struct hocket__loop_event *e)
{
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED *overlapped = NULL;
    BOOL ok = GetQueuedCompletionStatus(e->port, &bytes, &key, &overlapped, INFINITE);
    if (overlapped)
        PostQueuedCompletionStatus(e->port, bytes, key, overlapped);
    return ok || overlapped;
}

static DWORD WINAPI watch(void *ud)
{
    struct hocket__loop_event *e = ud;
    while (WaitForSingleObject(e->armed, INFINITE) == WAIT_OBJECT_0 && !is_stopped(e)
           && wait_for_packet(e) && !is_stopped(e))
        SetEvent(e->event);
    return 0;
}

static void drop(struct hocket__loop_event *e)
{
    if (e->event)
        CloseHandle(e->event);
    if (e->armed)
        CloseHandle(e->armed);
    free(e);
}

struct hocket__loop_event *hocket__loop_event_new(uv_loop_t *loop)
{
    struct hocket__loop_event *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->port = loop->iocp;
    e->event = CreateEventW(NULL, FALSE, FALSE, NULL);
    e->armed = CreateEventW(NULL, FALSE, TRUE, NULL);
    e->thread = e->event && e->armed ? CreateThread(NULL, 64 * 1024, watch, e, 0, NULL) : NULL;
    if (e->thread)
        return e;
    drop(e);
    return NULL;
}

void hocket__loop_event_free(struct hocket__loop_event *e)
{
    if (!e)
        return;
    InterlockedExchange(&e->stopped, 1);
    PostQueuedCompletionStatus(e->port, 0, 0, NULL);
    SetEvent(e->armed);
    WaitForSingleObject(e->thread, INFINITE);
    CloseHandle(e->thread);
    drop(e);
}

void *hocket__loop_event_handle(const struct hocket__loop_event *e)
{
    return e ? e->event : NULL;
}

void hocket__loop_event_arm(struct hocket__loop_event *e)
{
    if (e)
        SetEvent(e->armed);
}
