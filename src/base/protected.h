/* Names of files and folders that programs of a person's obey without being asked: a repository's
 * configuration and hooks, what shells, editors, debuggers and other agents read when they start.
 * Whoever writes there runs programs later, outside of the sandbox. So neither a model's tool nor its
 * command may. One list for both (core/permission, os/protect). */
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

/* ---- Credentials, and what others obey ----------------------------------------------------- */

/* Names of files that are more than text: files with keys, and files that other programs run or obey.
 * A model's tool never shows a file with keys, and a search skips it. Once the conversation contains a
 * stranger's words, a tool changes the other kind only after a question (core/permission). */

/* What is in a folder of this name, or a file of this name, is a credential: .env, .ssh, *.pem, id_rsa …
 * ASCII case is ignored. */
bool hocket__credential_name(struct hocket__str parent, struct hocket__str name);
/* Whether one of a path's parts is. */
bool hocket__credential_path(struct hocket__str path);

/* Whether one of a path's parts is of what builds, tests, editors and agents run or obey: Makefile,
 * package.json, conftest.py, workflows, AGENTS.md … */
bool hocket__obeyed_path(struct hocket__str path);

/* Whether one of a path's parts is run by others with keys of theirs (workflows of a CI service), or by a program on any
 * command, or is a credential that others use: what is written there asks also where no stranger has said anything. */
bool hocket__run_unasked_path(struct hocket__str path);
