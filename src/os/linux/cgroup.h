/* A control group of its own for the programs of one launcher: where the kernel lets us make one
 * (mostly: for root), it limits how many processes there are. Without it the launcher counts them,
 * which something that forks without end may outrun. Source: cgroups(7), Linux
 * Documentation/admin-guide/cgroup-v2.rst. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hocket__cgroup {
    char path[256]; /* "": there is none */
};

/* Makes it, for at most `processes`. Where that does not work *g is empty. */
void hocket__cgroup_make(struct hocket__cgroup *g, int64_t processes);
/* Moves a process into it; what it starts from then on is in it as well. Takes the kernel some
 * milliseconds at first. */
bool hocket__cgroup_add(const struct hocket__cgroup *g, pid_t pid);
/* Whether a process could not be started because of the limit. */
bool hocket__cgroup_is_full(const struct hocket__cgroup *g);
/* Removes it; all of its processes have to be gone. */
void hocket__cgroup_remove(struct hocket__cgroup *g);
