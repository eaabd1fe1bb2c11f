/* The metaschemas of drafts 2020-12 and 7, for schemas that refer to them. This
 * is specification data, from https://json-schema.org/draft/2020-12/schema, the
 * meta/ documents next to it, and http://json-schema.org/draft-07/schema, without
 * white space. */
#include "core/schema/build_impl.h"

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

struct hocket__str hocket__schema_meta(struct hocket__str uri)
{
    for (size_t i = 0; i < sizeof(metaschemas) / sizeof(metaschemas[0]); i++)
        if (hocket__str_is(uri, metaschemas[i].uri))
            return hocket__cstr(metaschemas[i].text);
    return HOCKET__STR("");
}
