/* What the tools of a program and the calls of them share: tool_list.c knows the tools, tools.c what
 * is called. */
#pragma once

#include "host/tools/tools.h"

#include <uv.h>

struct hocket__tool {
    struct hocket__list link;
    char *name;
    size_t shown; /* where in it the name begins that the program gave */
    hocket_tool_cb on_call;
    hocket_tool_cancel_cb on_cancel;
    void *ud;
};

struct hocket__tools {
    struct hocket__list known;
    struct hocket__list gone; /* taken back from inside of a callback, which may look at its name */
    struct hocket__list due;
    uint64_t last_id;
    size_t n_calls;
    uv_mutex_t lock;
    struct hocket__map calls;
    struct hocket__list answered;
};

struct hocket__tool *hocket__tools_find(struct hocket__tools *tools, const char *name);

/* A new row; NULL: out of memory. */
struct hocket__tool *hocket__tools_row(struct hocket_host *host, const char *name,
    hocket_tool_cb on_call, hocket_tool_cancel_cb on_cancel, void *ud);
/* Its functions are not called any more, and its open calls end. May run inside of a callback of it. */
void hocket__tools_drop(struct hocket_host *host, struct hocket__tool *tool);

/* Ends the open calls of a tool that was taken back (tools.c). */
void hocket__tools_end_calls(struct hocket_host *host, const struct hocket__tool *tool);

/* Frees a list of them. */
void hocket__tools_forget(struct hocket_host *host, struct hocket__list *tools);
