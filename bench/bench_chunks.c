/* What a chunk of a stream costs to read, for each protocol as its provider sends it: from bytes to a reply, without a
 * network. Nanoseconds of CPU for each of 10,000 chunks that come many in a packet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num/num.h"
#include "net/eventstream.h"
#include "net/protocol/protocol.h"

#define CHUNKS 10000
#define PACKET 16384
#define ROUNDS 20

struct kind {
    const char *what;
    const struct hocket__proto *proto;
    const char *chunk; /* #: its number, ~: what hides its length */
    const char *end;
};

#define CHAT(more)                                                                                 \
    "data: {\"id\":\"chatcmpl-BenchBenchBenchBenchBench1\",\"object\":\"chat.completion.chunk\","  \
    "\"created\":1760000000,\"model\":\"gpt-4.1-mini-2025-04-14\",\"service_tier\":\"default\","   \
    "\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" \
    " word#\"},\"logprobs\":null,\"finish_reason\":null}]," more "}\n\n"

static const struct kind kinds[] = {
    { "openai_chat", &hocket__proto_openai_chat, CHAT("\"usage\":null"), "data: [DONE]\n\n" },
    { "openai_chat, obfuscated", &hocket__proto_openai_chat,
        CHAT("\"usage\":null,\"obfuscation\":\"~\""), "data: [DONE]\n\n" },
    { "openai_responses", &hocket__proto_openai_responses,
        "event: response.output_text.delta\n"
        "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":#,"
        "\"item_id\":\"msg_0ca0ba552749d18c0069414e6a4bd08197b70d83e91162dd13\","
        "\"output_index\":0,\"content_index\":0,\"delta\":\" word#\",\"logprobs\":[],"
        "\"obfuscation\":\"~\"}\n\n",
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{"
        "\"status\":\"completed\"}}\n\n" },
    { "anthropic", &hocket__proto_anthropic,
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\" word#\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n" },
    { "gemini", &hocket__proto_gemini,
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" word#\"}],\"role\": "
        "\"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 9,"
        "\"candidatesTokenCount\": #,\"totalTokenCount\": 100},\"modelVersion\": "
        "\"gemini-2.5-flash\",\"responseId\": \"0123456789\"}\r\n\r\n",
        "data: {\"candidates\": [{\"finishReason\": \"STOP\",\"index\": 0}]}\r\n\r\n" },
    { "ollama", &hocket__proto_ollama,
        "{\"model\":\"qwen3:8b\",\"created_at\":\"2025-11-03T10:20:30.0123456#Z\",\"message\":{"
        "\"role\":\"assistant\",\"content\":\" word#\"},\"done\":false}\n",
        "{\"model\":\"qwen3:8b\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":"
        "true,"
        "\"done_reason\":\"stop\"}\n" },
    { "bedrock", &hocket__proto_bedrock,
        "{\"contentBlockIndex\":0,\"delta\":{\"text\":\" word#\"},\"p\":\"~\"}",
        "{\"stopReason\":\"end_turn\"}" },
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_chunks: %s failed\n", what);
    exit(1);
}

/* The n-th chunk. */
static void add_chunk(struct hocket__buf *b, const char *chunk, int n)
{
    static const char hidden[] = "0123456789abcdef";
    char number[HOCKET__NUM_MAX];
    size_t digits = (size_t) (hocket__num_put_int(number, n) - number);
    for (const char *p = chunk; *p; p++)
        if (*p == '#')
            hocket__buf_add(b, number, digits);
        else if (*p == '~')
            hocket__buf_adds(b, hidden + n % 16);
        else
            hocket__buf_addc(b, *p);
}

static void add_u32(struct hocket__buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        hocket__buf_addc(b, (char) (n >> shift));
}

static void add_header(struct hocket__buf *b, const char *name, const char *value)
{
    hocket__buf_addc(b, (char) strlen(name));
    hocket__buf_adds(b, name);
    hocket__buf_add(b, "\7\0", 2); /* a text, and the first byte of its length */
    hocket__buf_addc(b, (char) strlen(value));
    hocket__buf_adds(b, value);
}

/* A message, as net/eventstream.h has it: its frame is written around what was appended since `from`. */
static void frame(struct hocket__buf *b, size_t from, const char *event)
{
    struct hocket__buf headers, payload;
    hocket__buf_init(&headers, &hocket__malloc, 0);
    hocket__buf_init(&payload, &hocket__malloc, 0);
    hocket__buf_add(&payload, b->data + from, b->len - from);
    add_header(&headers, ":event-type", event);
    add_header(&headers, ":content-type", "application/json");
    add_header(&headers, ":message-type", "event");
    hocket__buf_cut(b, from);
    add_u32(b, (uint32_t) (16 + headers.len + payload.len));
    add_u32(b, (uint32_t) headers.len);
    add_u32(b, hocket__crc32(hocket__str(b->data + from, 8)));
    hocket__buf_addstr(b, hocket__buf_str(&headers));
    hocket__buf_addstr(b, hocket__buf_str(&payload));
    add_u32(b, hocket__crc32(hocket__str(b->data + from, b->len - from)));
    hocket__buf_deinit(&headers);
    hocket__buf_deinit(&payload);
}

static struct hocket__buf stream_of(const struct kind *k)
{
    struct hocket__buf b;
    bool framed = k->proto == &hocket__proto_bedrock;
    size_t from;
    hocket__buf_init(&b, &hocket__malloc, 0);
    for (int i = 0; i < CHUNKS; i++) {
        from = b.len;
        add_chunk(&b, k->chunk, i);
        if (framed)
            frame(&b, from, "contentBlockDelta");
    }
    from = b.len;
    hocket__buf_adds(&b, k->end);
    if (framed)
        frame(&b, from, "messageStop");
    must(b.status == 0, "memory");
    return b;
}

static void read_all(const struct kind *k, const struct hocket__buf *bytes)
{
    struct hocket__reply reply;
    struct hocket__decoder *d;
    struct hocket_error err;
    hocket__reply_init(&reply, &hocket__malloc, 0);
    must(hocket__decoder_new(&hocket__malloc, k->proto, 0, &reply, NULL, NULL, &d) == 0, k->what);
    hocket__decoder_head(d, 200, true);
    for (size_t at = 0; at < bytes->len; at += PACKET) {
        size_t n = bytes->len - at < PACKET ? bytes->len - at : PACKET;
        must(hocket__decoder_feed(d, bytes->data + at, n, &err) == 0, k->what);
    }
    must(hocket__decoder_end(d, &err) == 0, k->what);
    must(reply.text.len > (size_t) 8 * CHUNKS, k->what);
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* `only`: one of them, for a profile. */
int main(int argc, char **argv)
{
    const char *only = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (only && strcmp(only, kinds[i].what) != 0)
            continue;
        struct hocket__buf bytes = stream_of(&kinds[i]);
        read_all(&kinds[i], &bytes);
        double begin = cpu_ns();
        for (int n = 0; n < ROUNDS; n++)
            read_all(&kinds[i], &bytes);
        printf("a chunk of %-28s %8.1f ns\n", kinds[i].what, (cpu_ns() - begin) / ROUNDS / CHUNKS);
        hocket__buf_deinit(&bytes);
    }
    return 0;
}
