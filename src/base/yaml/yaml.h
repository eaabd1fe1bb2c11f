/* YAML, for the head of agent files, turned into JSON and a table of places. The .c is the
 * only file that knows libyaml.
 *
 * The part of YAML 1.2 that configuration needs: mappings, sequences, scalars of the core
 * schema (so that a plain `no` is a string; numbers decimal only), block and flow style.
 * Refused, each with line and column: aliases, anchors, tags, duplicate and non-scalar keys, a
 * second document, more than 64 KB, more than 32 levels (libyaml is quadratic on deep flow
 * nesting). */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__YAML_MAX   65536
#define HOCKET__YAML_DEPTH 32

/* Appends the document as JSON to `json`, and to `places` a JSON object from JSON pointer
 * to [line, column] for every key's and every element's value, and (with "#" in front of the
 * pointer) for every key itself. `first_line` is the number of the text's first line. An empty
 * text gives {}. Fails with EPARSE, ELIMIT or ENOMEM; the message begins with "line:column: ". */
int hocket__yaml_to_json(struct hocket__str text, int first_line, struct hocket__buf *json,
    struct hocket__buf *places, struct hocket_error *err);
