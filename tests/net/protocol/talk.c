#include "net/protocol/talk.h"

#include "base/json/json.h"

#include <math.h>
#include <string.h>

void talk_open(struct talk *k, const struct hocket__proto *proto)
{
    static const struct hocket__proto_traits none;
    memset(k, 0, sizeof(*k));
    test_alloc_init(&k->t);
    k->proto = proto;
    hocket__history_init(&k->history, &k->t.a, 0);
    hocket__buf_init(&k->out, &k->t.a, 0);
    hocket__buf_init(&k->deltas, &k->t.a, 0);
    hocket__reply_init(&k->reply, &k->t.a, 1 << 20);
    k->q = (struct hocket__llm_request){ .model = "m",
        .history = &k->history,
        .traits = &none,
        .temperature = NAN,
        .top_p = NAN,
        .top_k = -1,
        .max_tokens = -1,
        .seed = -1 };
}

void talk_close(struct talk *k)
{
    hocket__history_deinit(&k->history);
    hocket__buf_deinit(&k->out);
    hocket__buf_deinit(&k->deltas);
    hocket__reply_deinit(&k->reply);
    test_alloc_check(&k->t);
}

void talk_add(struct talk *k, const char *message)
{
    if (hocket__history_add(&k->history, hocket__cstr(message), &k->err) < 0)
        fail_msg("%s: %s", message, k->err.message);
}

const char *talk_body(struct talk *k)
{
    hocket__buf_reset(&k->out);
    if (k->proto->write(&k->q, &k->out, &k->err) < 0)
        fail_msg("%s", k->err.message);
    if (hocket__json_check(hocket__buf_str(&k->out), &k->err) < 0)
        fail_msg("%s: %s", k->err.message, k->out.data);
    return k->out.data;
}

const char *talk_url(struct talk *k, const char *base)
{
    hocket__buf_reset(&k->out);
    assert_int_equal(k->proto->url(&k->q, base, &k->out), 0);
    return k->out.data;
}

const char *talk_wire(struct talk *k)
{
    if (hocket__history_render(&k->history, k->proto, k->q.traits, &k->err) < 0)
        fail_msg("%s", k->err.message);
    return k->history.wire.data ? k->history.wire.data : "";
}

static void on_delta(void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text)
{
    if (kind == HOCKET__DELTA_CALL)
        hocket__buf_addstr(ud, text);
}

static int read_pieces(struct talk *k, const char *answer, bool stream, size_t step)
{
    struct hocket__decoder *d;
    size_t n = strlen(answer);
    int status = 0;
    hocket__reply_deinit(&k->reply);
    hocket__buf_reset(&k->deltas);
    assert_int_equal(
        hocket__decoder_new(&k->t.a, k->proto, 1 << 20, &k->reply, on_delta, &k->deltas, &d), 0);
    hocket__decoder_head(d, 200, stream);
    for (size_t i = 0; i < n && status == 0; i += step)
        status = hocket__decoder_feed(d, answer + i, i + step > n ? n - i : step, &k->err);
    if (status == 0)
        status = hocket__decoder_end(d, &k->err);
    hocket__decoder_free(d);
    return status;
}

int talk_read(struct talk *k, const char *answer, bool stream)
{
    struct hocket__buf whole;
    hocket__buf_init(&whole, &k->t.a, 0);
    int status = read_pieces(k, answer, stream, SIZE_MAX / 2);
    hocket__reply_print(&k->reply, &whole);
    hocket__buf_addstr(&whole, hocket__buf_str(&k->reply.replay));
    assert_int_equal(read_pieces(k, answer, stream, 1), status);
    hocket__buf_reset(&k->out);
    hocket__reply_print(&k->reply, &k->out);
    hocket__buf_addstr(&k->out, hocket__buf_str(&k->reply.replay));
    assert_string_equal(k->out.data, whole.data);
    hocket__buf_deinit(&whole);
    return status;
}

int talk_stream(struct talk *k, const char *const *events)
{
    struct hocket__buf b;
    bool sse = k->proto->framing == HOCKET__FRAMING_SSE;
    hocket__buf_init(&b, &k->t.a, 0);
    for (; *events; events++) {
        hocket__buf_adds(&b, sse ? "data: " : "");
        hocket__buf_adds(&b, *events);
        hocket__buf_adds(&b, sse ? "\r\n\r\n" : "\n");
    }
    int status = talk_read(k, b.data, true);
    hocket__buf_deinit(&b);
    return status;
}

void talk_keep(struct talk *k)
{
    hocket__buf_reset(&k->out);
    assert_int_equal(hocket__reply_place(&k->reply, k->proto->name, &k->history.next_call, &k->out,
                         &(struct hocket__reply_places){ 0 }),
        0);
    talk_add(k, k->out.data);
}
