/* Names of files and folders that programs of a person's obey without being asked: a repository's
 * configuration and hooks, what shells, editors, debuggers and other agents read when they start. Who
 * may write there runs programs outside of every wall, later, so neither a tool nor a command of a
 * model's may. One list for both (core/permission, os/protect). */
#pragma once

#include "base/str.h"

enum hocket__protected {
    HOCKET__UNPROTECTED,
    HOCKET__PROTECTED,
    HOCKET__REPOSITORY, /* git's, which is obeyed wherever somebody works below it */
};

/* What a name is in a folder of the name `parent`. ASCII case is ignored, as some file systems do. */
enum hocket__protected hocket__protected_name(struct hocket__str parent, struct hocket__str name);

/* Whether one of a path's parts is protected. The file HEAD is as well, as a last part: with other
 * files beside it, none of them of such a name, it makes its folder a repository. */
bool hocket__protected_path(struct hocket__str path);

/* Whether a folder of this name holds what was fetched: packages bring such files of their own, and
 * nobody opens their folders as a project. */
bool hocket__protected_is_fetched(struct hocket__str name);
