/* What the wire protocols share: strings that stay undecoded until they are
 * appended where they belong, neutral messages taken apart, the shapes that
 * error bodies come in, and the members of a request that a caller may override.
 *
 * Nothing here allocates except by appending to a buffer that is given. */
#pragma once

#include "base/json/json.h"
#include "net/protocol/protocol.h"

/* ---- Pieces: JSON strings of a text that is still in memory -------------- */

struct hocket__piece {
    struct hocket__str inside; /* between the quotes, escaped as it stood */
    bool escaped;              /* it holds a backslash */
    bool set;                  /* there was a string at all */
};

/* Keeps the string (or key) that was read last. */
struct hocket__piece hocket__piece_of(const struct hocket__json *j);
/* Reads the value behind a key: keeps it when it is a string, else passes over it
 * and leaves *out as it is. */
void hocket__piece_read(struct hocket__json *j, struct hocket__piece *out);
/* Appends the decoded text; hocket__piece_set empties `out` first. Without a string: nothing. */
int hocket__piece_add(const struct hocket__piece *p, struct hocket__buf *out);
int hocket__piece_set(const struct hocket__piece *p, struct hocket__buf *out);
/* Appends the JSON string as it stood (to be called after hocket__jw_key). */
void hocket__piece_write(const struct hocket__piece *p, struct hocket__buf *out);
/* Compares the text with a literal (one without anything to escape). */
bool hocket__piece_is(const struct hocket__piece *p, const char *literal);

/* hocket__json_is for a key and a literal, compared in place. */
static inline bool hocket__key_is(const struct hocket__json *j, const char *literal)
{
    return j->escaped ? hocket__json_is(j, literal) : hocket__str_is(j->text, literal);
}

/* Passes over what is left of the value whose first token was read last. */
void hocket__json_pass(struct hocket__json *j);
/* Reads the value behind a key as a whole number; -1 when it is none. */
int64_t hocket__json_count(struct hocket__json *j);
/* Reads the value behind a key: true only for `true`. */
bool hocket__json_true(struct hocket__json *j);
/* Reads the value behind a key; its text, or an empty one for null. */
struct hocket__str hocket__json_value(struct hocket__json *j);
/* The text is one JSON value that begins with `bracket` (one of { [ "). */
bool hocket__json_begins(struct hocket__str text, char bracket);

/* ---- Reading: into the reply ---------------------------------------------- */

/* Appends to reply->text or reply->reasoning and reports what was added. */
void hocket__reader_text(
    struct hocket__reader *r, enum hocket__delta_kind kind, const struct hocket__piece *p);
/* Appends to the arguments of calls[pos] and reports what was added. */
void hocket__reader_arguments(struct hocket__reader *r, size_t pos, const struct hocket__piece *p);
/* Appends to reply->refusal. */
void hocket__reader_refusal(struct hocket__reader *r, const struct hocket__piece *p);
/* No further pieces come: half a character is none. */
void hocket__reader_flush(struct hocket__reader *r);
/* A new call in *out, 0 or ENOMEM; NULL when there are as many as there may be: reply->surplus says
 * so then, and what belongs to the call is to be passed over. */
int hocket__reader_call(
    struct hocket__reader *r, struct hocket__call **out, struct hocket_error *err);
/* Sets finish_raw when there is a string; one that says less, or of a better end, changes nothing. */
void hocket__reply_finish(struct hocket__reply *reply, const struct hocket__piece *raw);
/* Adds an object to `found`; hocket__reply_found_all those of a list. */
void hocket__reply_found(struct hocket__reply *reply, struct hocket__str object);
void hocket__reply_found_all(struct hocket__reply *reply, struct hocket__str list);
/* Adds a word to server_items. */
void hocket__reply_server_item(struct hocket__reply *reply, const struct hocket__piece *type);
/* Replaces a buffer's content. */
void hocket__reply_set(struct hocket__buf *b, struct hocket__str text);

/* Whether the value of a member "error" is an error: not null, "", {}, [] or false, which servers send on success. */
bool hocket__is_error_value(struct hocket__str value);
/* For an event or a body in which nothing of the protocol's was found: sets reply->error when it is
 * one in a shape of its own, {"object":"error",…}, {"type":"error",…}, {"detail":…} or
 * {"message":"…"}, and returns whether it is. */
bool hocket__reply_foreign_error(
    struct hocket__reply *reply, const char *where, int status, struct hocket__str text);
/* Fills reply->error from any of the shapes that error bodies have (an object, a list of one, a
 * text that is no JSON) and sets finish. `where` is a literal; status 0: not by HTTP. */
void hocket__reply_set_error(
    struct hocket__reply *reply, const char *where, int status, struct hocket__str body);
/* Rules that all protocols share at the end: an error wins; calls turn stop or none into
 * tool_calls, but length and content_filter win over calls. */
void hocket__reply_normalise(struct hocket__reply *reply);
/* Whether a text is a page of HTML; its title, or nothing, in *title. */
bool hocket__html_title(struct hocket__str text, struct hocket__str *title);
/* What to return for a text that the JSON reader refused: ETRUNCATED when it only ended too early,
 * EPROTOCOL otherwise. */
int hocket__proto_broken(struct hocket__json *j, struct hocket_error *err);

/* ---- Writing: neutral messages and requests ---------------------------------- */

enum hocket__role {
    HOCKET__ROLE_NONE,
    HOCKET__ROLE_SYSTEM,
    HOCKET__ROLE_USER,
    HOCKET__ROLE_ASSISTANT,
    HOCKET__ROLE_TOOL,
};

/* A neutral message (see history.h) taken apart; everything points into its text. */
struct hocket__neutral {
    enum hocket__role role;
    struct hocket__piece text, reasoning, id, name;
    bool error;
    unsigned labels;                 /* enum hocket__label */
    struct hocket__str parts, calls; /* JSON arrays, or empty */
    struct hocket__piece replay_protocol;
    struct hocket__str replay; /* a JSON value, or empty */
};
/* 0 or EINVAL (malformed, an unknown role or member, a member of the wrong type). */
int hocket__neutral_read(
    struct hocket__neutral *m, struct hocket__str text, struct hocket_error *err);
/* Whether its parts and calls are what they have to be: 0 or EINVAL. For messages of others; what was
 * written here is. */
int hocket__neutral_check(const struct hocket__neutral *m, struct hocket_error *err);
/* The replay value when it was made by this protocol, else an empty text. */
struct hocket__str hocket__neutral_replay(const struct hocket__neutral *m, const char *protocol);

struct hocket__neutral_call {
    struct hocket__piece id, name, arguments;
};
enum hocket__part_kind {
    HOCKET__PART_TEXT,
    HOCKET__PART_IMAGE,
    HOCKET__PART_AUDIO,
    HOCKET__PART_FILE, /* a document: PDF */
};
struct hocket__neutral_part {
    enum hocket__part_kind kind;
    struct hocket__piece text;       /* a text part, or … */
    struct hocket__piece mime, data; /* one of the others as base64, or … */
    struct hocket__piece url;        /* an image by address */
    struct hocket__piece name;       /* of a file, where it has one */
};
/* Walk over m->calls and m->parts: begin with hocket__neutral_walk; false at the end. */
void hocket__neutral_walk(struct hocket__json *j, struct hocket__str array);
bool hocket__neutral_call(struct hocket__json *j, struct hocket__neutral_call *call);
bool hocket__neutral_part(struct hocket__json *j, struct hocket__neutral_part *part);
/* Writes a part's address as a JSON string (after a key): its url, or a data: one. */
void hocket__neutral_url(const struct hocket__neutral_part *part, struct hocket__buf *b);
/* Says in words (inside of a JSON string) what a protocol has no form for. The callers of models look at that
 * before; it is for conversations that another protocol's model has gone on with. */
void hocket__neutral_describe(const struct hocket__neutral_part *part, struct hocket__buf *b);
/* Whether there is something in it that is no text. */
bool hocket__neutral_has_data(const struct hocket__neutral_part *part);

/* Arguments go back to servers as JSON objects, whatever the model wrote (arguments.c): as it was written where
 * that is one; what was read of it where it only means one; else {"invalid_json":"…"}, so that the model sees
 * what it wrote; {} for blank ones. Appends that object. */
void hocket__object_add(struct hocket__buf *b, struct hocket__str arguments);
/* The same on one line, and as a JSON string. */
void hocket__object_write(struct hocket__buf *b, const struct hocket__piece *arguments);
void hocket__arguments_write(struct hocket__buf *b, const struct hocket__piece *arguments);
/* Whether the piece is such an object as it stands; memory comes from `b`, which says so when there is none. */
bool hocket__arguments_fit(const struct hocket__piece *arguments, struct hocket__buf *b);

/* Whether a further piece of a call's arguments begins a value anew behind one that looks finished: nothing of JSON
 * goes on so. A first look, made for each piece. */
bool hocket__arguments_reopen(const struct hocket__call *call, const struct hocket__piece *more);
/* Whether the piece says once more what the arguments of the call are already, perhaps written in another way, or
 * encoded twice. When memory is out: false. */
bool hocket__arguments_are_repeated(
    const struct hocket__call *call, const struct hocket__piece *more);

/* One tool of q->tools. */
struct hocket__tool_spec {
    struct hocket__piece name, description;
    struct hocket__str parameters; /* JSON Schema, or empty */
    bool strict, has_strict;
};
bool hocket__tool_walk(struct hocket__json *j, struct hocket__tool_spec *tool);
/* Whether q->tools has one. */
bool hocket__tool_any(const struct hocket__llm_request *q);
/* Appends its schema, or that of an object without members. */
void hocket__tool_parameters(struct hocket__buf *b, const struct hocket__tool_spec *tool);

/* Appends the provider's own tools to a list that is open, with commas; whether there are any. */
bool hocket__server_tools_write(const struct hocket__llm_request *q, struct hocket__buf *b);

/* What NULL traits stand for. */
extern const struct hocket__proto_traits hocket__proto_no_traits;
/* The traits, never NULL. */
const struct hocket__proto_traits *hocket__proto_traits_of(const struct hocket__llm_request *q);
/* What is said of a member in q->extra, or else in the provider's body (extra.c). */
bool hocket__proto_says(
    const struct hocket__llm_request *q, const char *name, struct hocket__str *value);
/* Writes the key and returns true, unless one of both has a member of this name that is no object:
 * it stands in the place of ours. */
bool hocket__proto_key(
    const struct hocket__llm_request *q, struct hocket__buf *b, const char *name);
/* Checks the JSON texts of a request (tools, stop, schema, extra), unless its body was prepared of
 * them, and renders the history. */
int hocket__proto_prepare(const struct hocket__llm_request *q, const struct hocket__proto *proto,
    struct hocket_error *err);
/* Merges the provider's body and q->extra into the object that begins at b->data + from and has no
 * end yet; never into a list of messages. */
void hocket__proto_extra(const struct hocket__llm_request *q, struct hocket__buf *b, size_t from);
/* Finite numbers, and integers that are not negative, are "set". */
bool hocket__proto_is_set(double v);
/* q->reasoning as tokens (a number), or -1 when it is a word or NULL. */
int64_t hocket__proto_reasoning_tokens(const struct hocket__llm_request *q);
/* q->reasoning as one of the words none, minimal, low, medium, high; NULL when not set. */
const char *hocket__proto_reasoning_word(const struct hocket__llm_request *q);
/* Writes a call's id as a JSON string (after a key), mapped when the traits ask for a length. */
void hocket__proto_call_id(
    const struct hocket__proto_traits *t, const struct hocket__piece *id, struct hocket__buf *b);
/* Whether q->tool_choice is one of auto, none, required, and no tool's name. */
bool hocket__proto_is_choice_word(const char *choice);
/* The words before a schema, for a server that knows no schemas. */
#define HOCKET__PROTO_SCHEMA_WORDS                                                                 \
    HOCKET__STR("Answer with one JSON object, and nothing else, that is valid against this JSON "  \
                "Schema:\n")
/* Whether Claude's servers take it for the name of a member. */
bool hocket__fit_is_name(struct hocket__str name);
/* The result of a write: the buffer's status as an error. */
int hocket__proto_written(const struct hocket__buf *b, struct hocket_error *err);
