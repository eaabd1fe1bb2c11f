/* Any bytes to what reads the wishes of a proxy's clients. What must hold:
 * - the same bytes at once and in small pieces are the same wish;
 * - a host that is known reads back as itself, and is named by a rule of its own text;
 * - what a plain request sends on is one request of that host: one head, one field Host. */
#include "serve/proxy/wish.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

struct outcome {
    struct hocket__wish wish;
    struct hocket__buf in, out;
    int rc;
};

static void play(struct outcome *o, const uint8_t *data, size_t size, size_t piece)
{
    *o = (struct outcome){ 0 };
    hocket__buf_init(&o->in, &hocket__malloc, 0);
    hocket__buf_init(&o->out, &hocket__malloc, 0);
    for (size_t at = 0; at < size && o->rc == 0; at += piece) {
        hocket__buf_add(&o->in, (const char *) data + at, size - at < piece ? size - at : piece);
        o->rc = hocket__wish_read(&o->wish, &hocket__malloc, &o->in, &o->out);
    }
    if (o->rc > 1)
        hocket__wish_refuse(&o->wish, o->rc, "no", &o->out);
}

static void end(struct outcome *o)
{
    hocket__buf_deinit(&o->in);
    hocket__buf_deinit(&o->out);
    hocket__wish_deinit(&o->wish, &hocket__malloc);
}

static void check_place(const struct hocket__authority *to)
{
    char text[HOCKET__HOST_MAX + 16];
    struct hocket__authority again;
    struct hocket__host_rule rule;
    struct hocket_error err;
    bool v6 = strchr(to->host, ':') != NULL;
    snprintf(text, sizeof(text), "%s%s%s:%d", v6 ? "[" : "", to->host, v6 ? "]" : "", to->port);
    expect(hocket__authority_read(hocket__cstr(text), 0, &again) == 0);
    expect(strcmp(again.host, to->host) == 0 && again.port == to->port
           && again.address == to->address);
    expect(hocket__host_rule_read(hocket__cstr(text), &rule, &err) == 0);
    expect(hocket__host_rule_fits(&rule, to));
}

static void check_plain(const struct outcome *o)
{
    struct hocket__head_scan scan = { 0 };
    struct hocket__head head = { 0 };
    struct hocket__authority host;
    struct hocket__str sent = hocket__buf_str(&o->in);
    expect(hocket__head_find(&scan, sent, 1 << 20) == 1 && scan.start == 0);
    expect(hocket__head_parse(&head, &hocket__malloc, hocket__str(sent.p, scan.at)) == 0);
    expect(!head.authority.p && !head.chunked && !head.keep_alive);
    expect(head.length == o->wish.body + (sent.n - scan.at));
    expect(hocket__head_same(head.headers[0].name, "host"));
    expect(hocket__authority_read(head.headers[0].value, 80, &host) == 0);
    expect(strcmp(host.host, o->wish.to.host) == 0 && host.port == o->wish.to.port);
    hocket__head_deinit(&head, &hocket__malloc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces;
    play(&whole, data, size, size ? size : 1);
    play(&pieces, data, size, 1);
    expect(whole.rc == pieces.rc && whole.wish.kind == pieces.wish.kind);
    if (whole.rc == 1) {
        expect(strcmp(whole.wish.to.host, pieces.wish.to.host) == 0);
        expect(whole.wish.to.port == pieces.wish.to.port);
        check_place(&whole.wish.to);
        if (whole.wish.kind == HOCKET__WISH_PLAIN)
            check_plain(&whole);
    }
    end(&whole);
    end(&pieces);
    return 0;
}
