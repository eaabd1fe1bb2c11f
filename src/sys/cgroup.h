/* A control group of its own for the programs of one launcher: where the kernel lets us make one
 * (mostly: for root), it limits how many processes there are. Without it the launcher counts them,
 * which something that forks without end may outrun. Source: cgroups(7), Linux
 * Documentation/admin-guide/cgroup-v2.rst. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hocket__cgroup {
    char path[256]; /* "": there is none */
};

/* Makes it, for at most `processes`. Where that does not work *g is empty. */
void hocket__cgroup_make(struct hocket__cgroup *g, int64_t processes);
/* Moves the calling process into it. */
bool hocket__cgroup_enter(const struct hocket__cgroup *g);
/* Whether a process could not be started because of the limit. */
bool hocket__cgroup_is_full(const struct hocket__cgroup *g);
/* Removes it; all of its processes have to be gone. */
void hocket__cgroup_remove(struct hocket__cgroup *g);
