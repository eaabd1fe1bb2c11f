/* The files of the machine's policy (docs/guides/guardrails.md): the one place that reads them.
 *
 *   /etc/hocket/policy.yaml                of the machine's owner: root's, and writable by nobody else
 *   ~/.config/hocket/policy.yaml           of the user, who can only narrow it */
#pragma once

#include <hocket/hocket.h>

#include "cli/buf.h"

#define CLI_POLICY_FILES 2

struct cli_policy_file {
    struct cli_buf path, text;
    struct cli_buf problem; /* why it cannot be used: stops everything */
    bool there;
};

struct cli_policy {
    struct cli_policy_file files[CLI_POLICY_FILES];
    struct hocket_policy list[CLI_POLICY_FILES]; /* the policies that exist */
    size_t n;
    const char *problem; /* of the first that cannot be used, or NULL */
    bool
        is_short; /* this process has no descriptor left to read it: that is no fault of the policy's */
};

/* Reads the files as they are now. */
void cli_policy_read(struct cli_policy *p);
void cli_policy_free(struct cli_policy *p);

/* For the commands that say what is wrong with a policy (policy, doctor): a broken one allows nothing there, and does not stop them. */
void cli_policy_tolerate(void);
bool cli_policy_is_tolerated(void);
/* What holds in such a command then. */
const struct hocket_policy *cli_policy_closed(void);
