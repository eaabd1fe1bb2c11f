/* Names of files that are more than text: those that hold keys, and those that other programs run or
 * obey. A tool of a model's neither shows the one nor, once the conversation has a stranger's words in
 * it, changes the other without a question (core/permission); a search passes the first by. What
 * nobody writes to at all stands in protected.h. */
#pragma once

#include "base/str.h"

/* What is in a folder of this name, or a file of this name, is a credential: .env, .ssh, *.pem, id_rsa …
 * ASCII case is ignored. */
bool hocket__credential_name(struct hocket__str parent, struct hocket__str name);
/* Whether one of a path's parts is. */
bool hocket__credential_path(struct hocket__str path);

/* Whether one of a path's parts is of what builds, tests, editors and agents run or obey: Makefile,
 * package.json, conftest.py, workflows, AGENTS.md … */
bool hocket__obeyed_path(struct hocket__str path);
