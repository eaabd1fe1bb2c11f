/* What the system's error numbers are for callers. */
#pragma once

/* The status of an errno: ENOTFOUND, EDENIED (also of links and paths that lead elsewhere), EEXIST,
 * ENOMEM, ELIMIT (no descriptors), else EIO. */
int hocket__errno_status(int code);
