/* What one run, or one call of the host, reports. */
#pragma once

#include "host/stored/host.h"

/* Each test counts the events that it looks at. */
struct life {
    uint64_t run;
    char name[32], child[32], code[32], error[512], text[512];
    int done, status, asked, answered, allowed, asleep, working, ended;
};

static inline void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->done++;
    l->status = r->status;
    snprintf(l->text, sizeof(l->text), "%s", r->text ? r->text : "");
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static inline void copy_member(const struct hocket_event *e, const char *name, char *to, size_t n)
{
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    snprintf(to, n, "%s", hocket_json_text(hocket_json_get(json, name), "", NULL));
    hocket_json_free(json);
}

static inline void until(hocket_host *h, const struct life *l, const int *what, int count)
{
    for (int i = 0; i < 1000 && *what < count; i++)
        hocket_wait(h, 10);
    if (*what < count)
        fail_msg("%d and not %d: %s %s", *what, count, l->code, l->error);
}
