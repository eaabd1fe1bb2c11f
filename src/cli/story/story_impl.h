/* What the files of this concept share. */
#pragma once

#include "cli/story/story.h"

#define INDENT 2

void cli_story_head(struct cli_paper *p, const hocket_json *story);
/* The parts of a line that both the head and the table of agents have. */
void cli_story_add_seconds(struct cli_paper *p, enum cli_tone tone, double seconds);
void cli_story_add_cost(struct cli_paper *p, enum cli_tone tone, const hocket_json *usage);
/* What each agent said and did. */
void cli_story_transcripts(struct cli_paper *p, const hocket_json *story);

/* The text of a member; "" where it has none. */
const char *cli_story_text(const hocket_json *object, const char *name, size_t *n);
/* A heading, with an empty line before it. */
void cli_story_heading(struct cli_paper *p, const char *text);
/* The member as paragraphs. */
void cli_story_paragraphs(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t indent);
/* The member on one line, as much as fits. */
void cli_story_add(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t columns);
/* Numbers and texts of a member; what it is where it has none: 0, `otherwise`, false. */
int64_t cli_story_integer(const hocket_json *object, const char *name);
double cli_story_real(const hocket_json *object, const char *name, double otherwise);
bool cli_story_is_text(const hocket_json *object, const char *name);
