/* Who has used what, at the end of a run with --verbose:
 *
 *     usage                      calls tools       in     out         USD       time
 *     run                            5     3      930     112    0.001200      1.3 s
 *       main                         5     3      930     112    0.001200      1.3 s
 *         itself                     2     3      410      60    0.000600
 *         food (delegate)            3     0      520      52    0.000600      0.7 s
 *
 * A line counts what is below it as well; what is below adds up to it. */
#pragma once

#include <hocket/hocket.h>

#include "cli/screen.h"

/* `tree` as in the result object; NULL prints nothing. */
void cli_tree_say(struct cli_screen *screen, const hocket_json *tree);
