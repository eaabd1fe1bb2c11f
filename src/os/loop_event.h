/* An event of the system that is set when a loop has something to do, for programs that wait for such events. Windows has them;
 * elsewhere a loop has a descriptor, and hocket__loop_event_new returns NULL. */
#pragma once

#include <uv.h>

struct hocket__loop_event;

/* Starts a thread that waits for the loop's packets. NULL when the system has no such events, and without memory. */
struct hocket__loop_event *hocket__loop_event_new(uv_loop_t *loop);

/* Stops the thread; the loop has to exist still. NULL is fine. */
void hocket__loop_event_free(struct hocket__loop_event *e);

/* The HANDLE. It resets itself when a wait for it ends. */
void *hocket__loop_event_handle(const struct hocket__loop_event *e);

/* After each turn of the loop: from now on the next packet sets the event. NULL is fine. */
void hocket__loop_event_arm(struct hocket__loop_event *e);
