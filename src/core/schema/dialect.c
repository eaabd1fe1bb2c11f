/* $schema: which draft a resource is written in, and with a metaschema of its
 * own, which vocabularies.
 *
 * Metaschemas of both drafts are known by their URIs and never fetched; one of somebody's own comes
 * from the callback that also gives other documents. */
#include "core/schema/build_impl.h"

/* of one document that the callback brings */
#define TEXT_MAX ((size_t) 16 << 20)

int hocket__schema_parse(const struct hocket_allocator *a, struct hocket__str text,
    hocket_json **out, struct hocket_error *err)
{
    struct hocket_error why = { .status = HOCKET_ENOMEM };
    *out = hocket__tree_new(a, text, 256, &why);
    if (*out)
        return 0;
    if (why.status == HOCKET_ENOMEM)
        return hocket__error_nomem(err);
    return hocket__error_because(err, &why, "the schema is no JSON");
}

/* ---- Documents */

static int parse_document(struct hocket__schema_build *b, struct hocket__str uri,
    struct hocket__str text, const hocket_json **out)
{
    struct hocket_error why;
    struct hocket__schema_doc *doc = hocket__schema_alloc(b, 1, sizeof(*doc));
    if (!doc)
        return HOCKET_ENOMEM;
    int rc = hocket__schema_parse(b->a, text, &doc->tree, &why);
    if (rc == HOCKET_ENOMEM)
        return hocket__error_nomem(b->err);
    if (rc < 0)
        return hocket__schema_fail(b, rc, "%.*s: %s", HOCKET__SCHEMA_SHOW(uri), why.message);
    doc->next = b->schema->docs;
    b->schema->docs = doc;
    *out = doc->tree;
    return 0;
}

static int ask(struct hocket__schema_build *b, struct hocket__str uri, const hocket_json **out)
{
    struct hocket__buf text;
    hocket__buf_init(&text, b->a, TEXT_MAX);
    int rc = b->o.resolve_cb ? b->o.resolve_cb(uri, &text, b->o.resolve_ud) : HOCKET_ENOTFOUND;
    if (text.status == HOCKET_ENOMEM || rc == HOCKET_ENOMEM)
        rc = hocket__error_nomem(b->err);
    else if (rc < 0 || text.status < 0)
        rc = HOCKET_ENOTFOUND;
    else
        rc = parse_document(b, uri, hocket__str(text.data ? text.data : "", text.len), out);
    hocket__buf_deinit(&text);
    return rc;
}

int hocket__schema_load(
    struct hocket__schema_build *b, struct hocket__str uri, const hocket_json **out)
{
    struct hocket__str text = hocket__schema_meta(uri);
    if (text.n > 0)
        return parse_document(b, uri, text, out);
    if (b->document_count++ >= b->o.max_documents)
        return hocket__error(
            b->err, HOCKET_ELIMIT, "more than %zu other documents", b->o.max_documents);
    return ask(b, uri, out);
}

/* ---- Vocabularies */

#define DRAFT_2020_12 "https://json-schema.org/draft/2020-12/"

static const struct {
    const char *uri;
    uint32_t vocab;
} vocabularies[] = {
    { DRAFT_2020_12 "vocab/core", HOCKET__VOCAB_CORE },
    { DRAFT_2020_12 "vocab/applicator", HOCKET__VOCAB_APPLICATOR },
    { DRAFT_2020_12 "vocab/unevaluated", HOCKET__VOCAB_UNEVALUATED },
    { DRAFT_2020_12 "vocab/validation", HOCKET__VOCAB_VALIDATION },
    { DRAFT_2020_12 "vocab/format-assertion", HOCKET__VOCAB_FORMAT },
    { DRAFT_2020_12 "vocab/format-annotation", 0 },
    { DRAFT_2020_12 "vocab/meta-data", 0 },
    { DRAFT_2020_12 "vocab/content", 0 },
};

static int add_vocabulary(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_dialect *d)
{
    struct hocket__str uri = hocket__tree_name(v);
    for (size_t i = 0; i < sizeof(vocabularies) / sizeof(vocabularies[0]); i++)
        if (hocket__str_is(uri, vocabularies[i].uri)) {
            d->vocab |= vocabularies[i].vocab;
            return 0;
        }
    /* "$vocabulary": { uri: false } says that it may be ignored by those who do not know it */
    if (!hocket_json_bool(v, true))
        return 0;
    return hocket__schema_fail(
        b, HOCKET_EUNSUPPORTED, "the vocabulary %.*s is not supported", HOCKET__SCHEMA_SHOW(uri));
}

static int read_metaschema(
    struct hocket__schema_build *b, struct hocket__str uri, struct hocket__schema_dialect *d)
{
    const hocket_json *meta;
    int rc = hocket__schema_load(b, uri, &meta);
    if (rc == HOCKET_ENOTFOUND)
        return hocket__schema_fail(b, HOCKET_EUNSUPPORTED,
            "$schema: %.*s is not supported; drafts 2020-12 and 7 are", HOCKET__SCHEMA_SHOW(uri));
    if (rc < 0)
        return rc;
    const hocket_json *list = hocket__tree_get(meta, HOCKET__STR("$vocabulary"));
    *d = (struct hocket__schema_dialect){ HOCKET__SCHEMA_2020_12,
        list ? HOCKET__VOCAB_CORE : HOCKET__VOCAB_DEFAULT };
    for (const hocket_json *v = hocket__tree_first(list); v && rc == 0; v = hocket__tree_next(v))
        rc = add_vocabulary(b, v, d);
    return rc;
}

static bool is_draft(struct hocket__str uri, const char *name)
{
    if (uri.n > 0 && uri.p[uri.n - 1] == '#')
        uri.n--;
    if (uri.n > 5 && memcmp(uri.p, "https", 5) == 0)
        uri = hocket__str(uri.p + 5, uri.n - 5);
    else if (uri.n > 4 && memcmp(uri.p, "http", 4) == 0)
        uri = hocket__str(uri.p + 4, uri.n - 4);
    return hocket__str_is(uri, name);
}

int hocket__schema_read_dialect(
    struct hocket__schema_build *b, const hocket_json *schema, struct hocket__schema_dialect *d)
{
    const hocket_json *v = hocket__tree_get(schema, HOCKET__STR("$schema"));
    if (!v)
        return 0;
    if (hocket__tree_type(v) != HOCKET__TREE_STRING)
        return hocket__schema_fail(b, HOCKET_EINVAL, "$schema: expected a string");
    struct hocket__str uri = hocket__tree_str(v);
    *d = (struct hocket__schema_dialect){ HOCKET__SCHEMA_2020_12, HOCKET__VOCAB_DEFAULT };
    if (is_draft(uri, "://json-schema.org/draft/2020-12/schema"))
        return 0;
    d->draft = HOCKET__SCHEMA_DRAFT_7;
    if (is_draft(uri, "://json-schema.org/draft-07/schema")
        /* draft 6 is draft 7 without if, then and else */
        || is_draft(uri, "://json-schema.org/draft-06/schema"))
        return 0;
    return read_metaschema(b, uri, d);
}
