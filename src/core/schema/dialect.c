/* $schema: which draft a resource is written in, and with a metaschema of its
 * own, which vocabularies.
 *
 * Metaschemas of both drafts are known by their URIs and never fetched; one of somebody's own comes
 * from the callback that also gives other documents. */
#include "core/schema/build_impl.h"

/* The metaschemas of drafts 2020-12 and 7, for schemas that refer to them. This
 * is specification data, from https://json-schema.org/draft/2020-12/schema, the
 * meta/ documents next to it, and http://json-schema.org/draft-07/schema, without
 * white space. */

/* clang-format off */
static const struct {
    const char *uri, *text;
} metaschemas[] = {
    { "https://json-schema.org/draft/2020-12/schema",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/schema\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/"
      "vocab/core\":true,\"https://json-schema.org/draft/2020-12/vocab/applicator\":true,\"http"
      "s://json-schema.org/draft/2020-12/vocab/unevaluated\":true,\"https://json-schema.org/dra"
      "ft/2020-12/vocab/validation\":true,\"https://json-schema.org/draft/2020-12/vocab/meta-da"
      "ta\":true,\"https://json-schema.org/draft/2020-12/vocab/format-annotation\":true,\"https"
      "://json-schema.org/draft/2020-12/vocab/content\":true},\"$dynamicAnchor\":\"meta\",\"tit"
      "le\":\"Core and Validation specifications meta-schema\",\"allOf\":[{\"$ref\":\"meta/core"
      "\"},{\"$ref\":\"meta/applicator\"},{\"$ref\":\"meta/unevaluated\"},{\"$ref\":\"meta/vali"
      "dation\"},{\"$ref\":\"meta/meta-data\"},{\"$ref\":\"meta/format-annotation\"},{\"$ref\":"
      "\"meta/content\"}],\"type\":[\"object\",\"boolean\"],\"properties\":{\"definitions\":{\""
      "type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"deprecated\":tr"
      "ue,\"default\":{}},\"dependencies\":{\"type\":\"object\",\"additionalProperties\":{\"any"
      "Of\":[{\"$dynamicRef\":\"#meta\"},{\"$ref\":\"meta/validation#/$defs/stringArray\"}]},\""
      "deprecated\":true,\"default\":{}},\"$recursiveAnchor\":{\"$ref\":\"meta/core#/$defs/anch"
      "orString\",\"deprecated\":true},\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/uriRefere"
      "nceString\",\"deprecated\":true}}}" },
    { "https://json-schema.org/draft/2020-12/meta/core",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/core\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-"
      "12/vocab/core\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Core vocabulary meta-schem"
      "a\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"$id\":{\"$ref\":\"#/$defs/uriRef"
      "erenceString\",\"pattern\":\"^[^#]*#?$\"},\"$schema\":{\"$ref\":\"#/$defs/uriString\"},"
      "\"$ref\":{\"$ref\":\"#/$defs/uriReferenceString\"},\"$anchor\":{\"$ref\":\"#/$defs/ancho"
      "rString\"},\"$dynamicRef\":{\"$ref\":\"#/$defs/uriReferenceString\"},\"$dynamicAnchor\":"
      "{\"$ref\":\"#/$defs/anchorString\"},\"$vocabulary\":{\"type\":\"object\",\"propertyNames"
      "\":{\"$ref\":\"#/$defs/uriString\"},\"additionalProperties\":{\"type\":\"boolean\"}},\"$"
      "comment\":{\"type\":\"string\"},\"$defs\":{\"type\":\"object\",\"additionalProperties\":"
      "{\"$dynamicRef\":\"#meta\"}}},\"$defs\":{\"anchorString\":{\"type\":\"string\",\"pattern"
      "\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},\"uriString\":{\"type\":\"string\",\"format\":\"uri\""
      "},\"uriReferenceString\":{\"type\":\"string\",\"format\":\"uri-reference\"}}}" },
    { "https://json-schema.org/draft/2020-12/meta/applicator",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/applicator\",\"$vocabulary\":{\"https://json-schema.org/draft"
      "/2020-12/vocab/applicator\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Applicator voc"
      "abulary meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"prefixItems\":"
      "{\"$ref\":\"#/$defs/schemaArray\"},\"items\":{\"$dynamicRef\":\"#meta\"},\"contains\":{"
      "\"$dynamicRef\":\"#meta\"},\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"proper"
      "ties\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"defau"
      "lt\":{}},\"patternProperties\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamic"
      "Ref\":\"#meta\"},\"propertyNames\":{\"format\":\"regex\"},\"default\":{}},\"dependentSch"
      "emas\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"defau"
      "lt\":{}},\"propertyNames\":{\"$dynamicRef\":\"#meta\"},\"if\":{\"$dynamicRef\":\"#meta\""
      "},\"then\":{\"$dynamicRef\":\"#meta\"},\"else\":{\"$dynamicRef\":\"#meta\"},\"allOf\":{"
      "\"$ref\":\"#/$defs/schemaArray\"},\"anyOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"oneOf\""
      ":{\"$ref\":\"#/$defs/schemaArray\"},\"not\":{\"$dynamicRef\":\"#meta\"}},\"$defs\":{\"sc"
      "hemaArray\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$dynamicRef\":\"#meta\"}}}}" },
    { "https://json-schema.org/draft/2020-12/meta/unevaluated",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/unevaluated\",\"$vocabulary\":{\"https://json-schema.org/draf"
      "t/2020-12/vocab/unevaluated\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Unevaluated "
      "applicator vocabulary meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\""
      "unevaluatedItems\":{\"$dynamicRef\":\"#meta\"},\"unevaluatedProperties\":{\"$dynamicRef"
      "\":\"#meta\"}}}" },
    { "https://json-schema.org/draft/2020-12/meta/validation",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/validation\",\"$vocabulary\":{\"https://json-schema.org/draft"
      "/2020-12/vocab/validation\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Validation voc"
      "abulary meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"type\":{\"anyO"
      "f\":[{\"$ref\":\"#/$defs/simpleTypes\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$def"
      "s/simpleTypes\"},\"minItems\":1,\"uniqueItems\":true}]},\"const\":true,\"enum\":{\"type"
      "\":\"array\",\"items\":true},\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0}"
      ",\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":\"number\"},\"minimum"
      "\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":\"number\"},\"maxLength\":{\"$re"
      "f\":\"#/$defs/nonNegativeInteger\"},\"minLength\":{\"$ref\":\"#/$defs/nonNegativeInteger"
      "Default0\"},\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"maxItems\":{\"$ref"
      "\":\"#/$defs/nonNegativeInteger\"},\"minItems\":{\"$ref\":\"#/$defs/nonNegativeIntegerDe"
      "fault0\"},\"uniqueItems\":{\"type\":\"boolean\",\"default\":false},\"maxContains\":{\"$r"
      "ef\":\"#/$defs/nonNegativeInteger\"},\"minContains\":{\"$ref\":\"#/$defs/nonNegativeInte"
      "ger\",\"default\":1},\"maxProperties\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minPr"
      "operties\":{\"$ref\":\"#/$defs/nonNegativeIntegerDefault0\"},\"required\":{\"$ref\":\"#/"
      "$defs/stringArray\"},\"dependentRequired\":{\"type\":\"object\",\"additionalProperties\""
      ":{\"$ref\":\"#/$defs/stringArray\"}}},\"$defs\":{\"nonNegativeInteger\":{\"type\":\"inte"
      "ger\",\"minimum\":0},\"nonNegativeIntegerDefault0\":{\"$ref\":\"#/$defs/nonNegativeInteg"
      "er\",\"default\":0},\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\",\"null"
      "\",\"number\",\"object\",\"string\"]},\"stringArray\":{\"type\":\"array\",\"items\":{\"t"
      "ype\":\"string\"},\"uniqueItems\":true,\"default\":[]}}}" },
    { "https://json-schema.org/draft/2020-12/meta/meta-data",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/meta-data\",\"$vocabulary\":{\"https://json-schema.org/draft/"
      "2020-12/vocab/meta-data\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Meta-data vocabu"
      "lary meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"title\":{\"type\""
      ":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true,\"deprecated\":{\"ty"
      "pe\":\"boolean\",\"default\":false},\"readOnly\":{\"type\":\"boolean\",\"default\":false"
      "},\"writeOnly\":{\"type\":\"boolean\",\"default\":false},\"examples\":{\"type\":\"array"
      "\",\"items\":true}}}" },
    { "https://json-schema.org/draft/2020-12/meta/format-annotation",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/format-annotation\",\"$vocabulary\":{\"https://json-schema.or"
      "g/draft/2020-12/vocab/format-annotation\":true},\"$dynamicAnchor\":\"meta\",\"title\":\""
      "Format vocabulary meta-schema for annotation results\",\"type\":[\"object\",\"boolean\"]"
      ",\"properties\":{\"format\":{\"type\":\"string\"}}}" },
    { "https://json-schema.org/draft/2020-12/meta/format-assertion",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/format-assertion\",\"$vocabulary\":{\"https://json-schema.org"
      "/draft/2020-12/vocab/format-assertion\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Fo"
      "rmat vocabulary meta-schema for assertion results\",\"type\":[\"object\",\"boolean\"],\""
      "properties\":{\"format\":{\"type\":\"string\"}}}" },
    { "https://json-schema.org/draft/2020-12/meta/content",
      "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
      "ema.org/draft/2020-12/meta/content\",\"$vocabulary\":{\"https://json-schema.org/draft/20"
      "20-12/vocab/content\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Content vocabulary m"
      "eta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"contentEncoding\":{\"ty"
      "pe\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},\"contentSchema\":{\"$dynami"
      "cRef\":\"#meta\"}}}" },
    { "http://json-schema.org/draft-07/schema",
      "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$id\":\"http://json-schema.or"
      "g/draft-07/schema#\",\"title\":\"Core schema meta-schema\",\"definitions\":{\"schemaArra"
      "y\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}},\"nonNegativeInteger"
      "\":{\"type\":\"integer\",\"minimum\":0},\"nonNegativeIntegerDefault0\":{\"allOf\":[{\"$r"
      "ef\":\"#/definitions/nonNegativeInteger\"},{\"default\":0}]},\"simpleTypes\":{\"enum\":["
      "\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"string\"]},\"stringAr"
      "ray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,\"default"
      "\":[]}},\"type\":[\"object\",\"boolean\"],\"properties\":{\"$id\":{\"type\":\"string\","
      "\"format\":\"uri-reference\"},\"$schema\":{\"type\":\"string\",\"format\":\"uri\"},\"$re"
      "f\":{\"type\":\"string\",\"format\":\"uri-reference\"},\"$comment\":{\"type\":\"string\""
      "},\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true"
      ",\"readOnly\":{\"type\":\"boolean\",\"default\":false},\"writeOnly\":{\"type\":\"boolean"
      "\",\"default\":false},\"examples\":{\"type\":\"array\",\"items\":true},\"multipleOf\":{"
      "\"type\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"number\"},\"exclusiv"
      "eMaximum\":{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":"
      "{\"type\":\"number\"},\"maxLength\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},\"mi"
      "nLength\":{\"$ref\":\"#/definitions/nonNegativeIntegerDefault0\"},\"pattern\":{\"type\":"
      "\"string\",\"format\":\"regex\"},\"additionalItems\":{\"$ref\":\"#\"},\"items\":{\"anyOf"
      "\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definitions/schemaArray\"}],\"default\":true},\"maxIt"
      "ems\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},\"minItems\":{\"$ref\":\"#/definit"
      "ions/nonNegativeIntegerDefault0\"},\"uniqueItems\":{\"type\":\"boolean\",\"default\":fal"
      "se},\"contains\":{\"$ref\":\"#\"},\"maxProperties\":{\"$ref\":\"#/definitions/nonNegativ"
      "eInteger\"},\"minProperties\":{\"$ref\":\"#/definitions/nonNegativeIntegerDefault0\"},\""
      "required\":{\"$ref\":\"#/definitions/stringArray\"},\"additionalProperties\":{\"$ref\":"
      "\"#\"},\"definitions\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\""
      "default\":{}},\"properties\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#"
      "\"},\"default\":{}},\"patternProperties\":{\"type\":\"object\",\"additionalProperties\":"
      "{\"$ref\":\"#\"},\"default\":{},\"propertyNames\":{\"format\":\"regex\"}},\"dependencies"
      "\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":"
      "\"#/definitions/stringArray\"}]}},\"propertyNames\":{\"$ref\":\"#\"},\"const\":true,\"en"
      "um\":{\"type\":\"array\",\"items\":true},\"type\":{\"anyOf\":[{\"$ref\":\"#/definitions/"
      "simpleTypes\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/simpleTypes\"},\""
      "minItems\":1,\"uniqueItems\":true}]},\"format\":{\"type\":\"string\"},\"contentMediaType"
      "\":{\"type\":\"string\"},\"contentEncoding\":{\"type\":\"string\"},\"if\":{\"$ref\":\"#"
      "\"},\"then\":{\"$ref\":\"#\"},\"else\":{\"$ref\":\"#\"},\"allOf\":{\"$ref\":\"#/definiti"
      "ons/schemaArray\"},\"anyOf\":{\"$ref\":\"#/definitions/schemaArray\"},\"oneOf\":{\"$ref"
      "\":\"#/definitions/schemaArray\"},\"not\":{\"$ref\":\"#\"}},\"default\":true}" },
};
/* clang-format on */

static struct hocket__str schema_meta(struct hocket__str uri)
{
    for (size_t i = 0; i < sizeof(metaschemas) / sizeof(metaschemas[0]); i++)
        if (hocket__str_is(uri, metaschemas[i].uri))
            return hocket__cstr(metaschemas[i].text);
    return HOCKET__STR("");
}

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
    struct hocket__buf text = hocket__buf(b->a, TEXT_MAX);
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
    struct hocket__str text = schema_meta(uri);
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
    /* "$vocabulary": { uri: false } says that a reader may ignore an unknown one */
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
