/* Packs that a library has not, empty: for linkers that cannot look whether there is one (Apple's asks for each name). */
#include "bind/assets.h"

static const struct hocket__asset none[1];

const struct hocket__pack hocket__pack_bytecode = { .files = none, .lua = "" };
const struct hocket__pack hocket__pack_topics = { .files = none, .lua = "" };
