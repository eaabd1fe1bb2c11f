/* A reply as JSON for people and tools: what `hocket decode` shows. Members whose
 * value the wire did not have are null, so that every reply has the same ones;
 * only `error` and the odd members of a call are left out. */
#include "net/protocol/reply/reply.h"

#include "base/json/json.h"

static void put_if(
    bool is_there, struct hocket__buf *out, const char *key, const struct hocket__buf *text)
{
    hocket__jw_key(out, key);
    if (is_there)
        hocket__jw_string(out, hocket__buf_str(text));
    else
        hocket__jw_null(out);
}

static void put_or_null(struct hocket__buf *out, const char *key, const struct hocket__buf *text)
{
    put_if(text->len > 0, out, key, text);
}

static void put_raw_or(
    struct hocket__buf *out, const char *key, const struct hocket__buf *json, const char *otherwise)
{
    hocket__jw_key_raw(out, key, json->len > 0 ? hocket__buf_str(json) : hocket__cstr(otherwise));
}

static void put_count(struct hocket__buf *out, const char *key, int64_t v)
{
    hocket__jw_key(out, key);
    if (v >= 0)
        hocket__jw_int(out, v);
    else
        hocket__jw_null(out);
}

static void put_arguments(struct hocket__buf *out, const struct hocket__call *c)
{
    struct hocket__str args = hocket__call_arguments(c);
    bool valid = hocket__json_check(args, NULL) == 0;
    hocket__jw_key_raw(out, "arguments", valid ? args : HOCKET__STR("null"));
    if (c->has_raw)
        hocket__jw_key_string(out, "arguments_raw", hocket__buf_str(&c->arguments));
    if (!valid)
        hocket__jw_key_bool(out, "arguments_valid", false);
}

static void put_call(struct hocket__buf *out, const struct hocket__call *c)
{
    hocket__jw_open(out, '{');
    put_if(c->has_id || c->id.len > 0, out, "id", &c->id);
    hocket__jw_key_string(out, "name", hocket__buf_str(&c->name));
    if (c->free_form) {
        hocket__jw_key(out, "arguments");
        hocket__jw_null(out);
        hocket__jw_key_string(out, "input", hocket__buf_str(&c->arguments));
    } else {
        put_arguments(out, c);
    }
    hocket__jw_close(out, '}');
}

static void put_calls(struct hocket__buf *out, const struct hocket__reply *r)
{
    hocket__jw_key_open(out, "tool_calls", '[');
    for (size_t i = 0; i < r->n_calls; i++)
        put_call(out, &r->calls[i]);
    hocket__jw_close(out, ']');
}

static void put_usage(struct hocket__buf *out, const struct hocket__usage *u)
{
    hocket__jw_key_open(out, "usage", '{');
    put_count(out, "input", u->input);
    put_count(out, "output", u->output);
    put_count(out, "cached", u->cached);
    put_count(out, "reasoning", u->reasoning);
    hocket__jw_close(out, '}');
}

static void put_error(struct hocket__buf *out, const struct hocket__reply_error *e)
{
    hocket__jw_key_open(out, "error", '{');
    hocket__jw_key_cstring(out, "where", e->where);
    put_count(out, "status", e->status > 0 ? e->status : -1);
    put_or_null(out, "type", &e->type);
    if (e->code_is_number)
        put_raw_or(out, "code", &e->code, "null");
    else
        put_or_null(out, "code", &e->code);
    put_or_null(out, "message", &e->message);
    hocket__jw_close(out, '}');
}

static void put_finish(struct hocket__buf *out, const struct hocket__reply *r)
{
    hocket__jw_key(out, "finish_reason");
    if (hocket__finish_word(r->finish))
        hocket__jw_cstring(out, hocket__finish_word(r->finish));
    else
        hocket__jw_null(out);
    put_if(r->has_finish_raw || r->finish_raw.len > 0, out, "finish_reason_raw", &r->finish_raw);
}

int hocket__reply_print(const struct hocket__reply *r, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    hocket__jw_key_string(out, "text", hocket__buf_str(&r->text));
    hocket__jw_key_string(out, "reasoning_text", hocket__buf_str(&r->reasoning));
    put_calls(out, r);
    put_finish(out, r);
    put_usage(out, &r->usage);
    put_raw_or(out, "usage_raw", &r->usage_raw, "null");
    put_if(r->has_refusal, out, "refusal", &r->refusal);
    put_or_null(out, "response_id", &r->id);
    put_or_null(out, "model", &r->model);
    put_raw_or(out, "server_items", &r->server_items, "[]");
    if (r->error.where)
        put_error(out, &r->error);
    hocket__jw_close(out, '}');
    return out->status;
}
